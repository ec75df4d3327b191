import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rootKeyReader } from './root-key-sources.ts';
import { rootKeyFrom, type RootKeys } from './root-keys.ts';

const KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv');
const { id } = rootKeyFrom(Buffer.from(KEY));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'root-key-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function idOf(keys: RootKeys): string {
  return keys.sealed ? keys.problem : keys.active.id;
}

describe('a command that prints the root key', () => {
  const ask = (script: string, limitMs?: number): Promise<RootKeys> =>
    rootKeyReader({ kind: 'command', command: ['sh', '-c', script] }, limitMs)();

  it.each([
    ['bytes', `printf ${KEY.toString()}`],
    ['base64', `echo ${KEY.toString('base64')}`],
    ['hex', `echo ${KEY.toString('hex').toUpperCase()}`],
  ])('may print it as %s', async (_form, script) => {
    expect(idOf(await ask(script))).toBe(id);
  });

  it.each([
    ['another length', 'printf short', /what sh printed has 5 bytes instead of 32/],
    ['nothing', 'true', /has 0 bytes/],
    ['too much', 'yes', /printed more than 4096 bytes/],
    ['a failure', 'echo "no such key" >&2; exit 3', /failed \(exit code 3\): no such key/],
  ])('is told: %s', async (_what, script, problem) => {
    expect(idOf(await ask(script))).toMatch(problem);
  });

  it('has a limit of time, and may be missing', async () => {
    expect(idOf(await ask('exec sleep 60', 100))).toMatch(/printed nothing within 100 ms/);
    const none = rootKeyReader({ kind: 'command', command: [join(folder, 'none')] });
    expect(idOf(await none())).toMatch(/cannot be started \(ENOENT\)/);
  });

  it('is asked once, and after a failure not at once again', async () => {
    for (const script of [`printf ${KEY.toString()}`, 'exit 1']) {
      const count = join(folder, 'count');
      writeFileSync(count, '');
      const command = ['sh', '-c', `echo x >> ${count}; ${script}`];
      const read = rootKeyReader({ kind: 'command', command });
      const [first, second] = [await read(), await read()];
      expect(second).toBe(first);
    }
  });

  it('gets nothing of the environment that is not its own', async () => {
    process.env['BERTH_BOOTSTRAP_TOKEN'] = KEY.toString();
    try {
      expect(idOf(await ask('printf "%s" "$BERTH_BOOTSTRAP_TOKEN"'))).toMatch(/has 0 bytes/);
    } finally {
      delete process.env['BERTH_BOOTSTRAP_TOKEN'];
    }
  });
});

describe('a credential of systemd', () => {
  it('is the root key, with the one before it during a change', async () => {
    const file = join(folder, 'root.key');
    const read = rootKeyReader({ kind: 'credential', file });
    expect(idOf(await read())).toMatch(/cannot be read \(ENOENT\)/);
    // With an access list the mode shows a group.
    writeFileSync(file, `${KEY.toString('base64')}\n`, { mode: 0o440 });
    expect(await read()).toMatchObject({ sealed: false, active: { id }, retired: [] });
    writeFileSync(`${file}.retired`, Buffer.alloc(32, 7));
    expect(await read()).toMatchObject({ retired: [rootKeyFrom(Buffer.alloc(32, 7))] });
    writeFileSync(join(folder, 'short.key'), 'short');
    const short = rootKeyReader({ kind: 'credential', file: join(folder, 'short.key') });
    expect(idOf(await short())).toMatch(/the systemd credential root\.key has 5 bytes/);
  });
});
