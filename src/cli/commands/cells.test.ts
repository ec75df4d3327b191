import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { typeCommand } from '../../../test/support/harness/typed-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-cells-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function haproxy(cells: string) {
  const path = join(folder, 'cells.yaml');
  writeFileSync(path, `listen: :443\nbaseUrl: https://berth.example.com\ncells: ${cells}\n`);
  return typeCommand(['cells', 'haproxy', '-f', path], { HOME: folder });
}

describe('berth cells haproxy', () => {
  it('takes aliases', async () => {
    const { status, out } = await haproxy(
      '[{ name: &eu1 eu1, servers: [http://10.0.0.1:7600] }]\ndefault: *eu1',
    );
    expect([status, out]).toEqual([0, expect.stringContaining('10.0.0.1:7600')]);
  });

  it('refuses one within what it stands for', async () => {
    const { status, err } = await haproxy('&a [*a]');
    expect([status, err]).toEqual([2, expect.stringContaining('an alias stands for something')]);
  });
});
