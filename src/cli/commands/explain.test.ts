import { describe, expect, it } from 'vitest';
import { typeCommand } from '../../../test/support/harness/typed-command.ts';
import { CATALOGUE } from '../../core/rejections/catalogue.ts';

const explain = (...words: readonly string[]) => typeCommand(['explain', 'image_not_found', ...words], {});

describe('berth explain of a code', () => {
  it('is its entry of the catalogue, for programs', async () => {
    const entry = { code: 'image_not_found', ...CATALOGUE.image_not_found };
    const { status, out } = await explain('-o', 'json');
    expect([status, JSON.parse(out)]).toEqual([0, entry]);
    expect((await explain('-o', 'jsonpath=.title')).out).toBe(`${entry.title}\n`);
    expect((await explain('-o', 'yaml')).out).toContain('code: image_not_found\n');
  });

  it('is a page for people', async () => {
    expect((await explain()).out).toMatch(/^image_not_found {2}status 404, field image\n/);
  });

  it('knows the forms of output', async () => {
    expect(await explain('-o', 'xml')).toMatchObject({
      status: 2,
      err: expect.stringContaining('unknown output format xml'),
    });
  });
});
