import { describe, expect, it } from 'vitest';
import { AcceptedText } from './accepted-text.ts';

const ALTERED = [{ field: 'a', code: 'x' }];

describe('the text of an accepted write', () => {
  it.each<readonly [Record<string, unknown>, string]>([
    [{}, ''],
    [{ name: 'web' }, ''],
    [{ name: 'web', alterations: [] }, ''],
    [{ alterations: ALTERED }, ',"alterations":[{"field":"a","code":"x"}]'],
    [
      { name: 'w"b', alterations: ALTERED, text: 'ä' },
      ',"name":"w\\"b","alterations":[{"field":"a","code":"x"}]',
    ],
  ])('%j is told whole', (body, line) => {
    const plain = new AcceptedText(body);
    expect(JSON.parse(plain.text())).toEqual(body);
    expect(plain.line).toBe(line);
    const revised = new AcceptedText({ ...body, revision: 0 }, true);
    expect(JSON.parse(revised.text(42))).toEqual({ ...body, revision: 42 });
    expect(revised.text(42).match(/revision/g)).toHaveLength(1);
  });
});
