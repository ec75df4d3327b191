import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { typeCommand } from '../../../test/support/harness/typed-command.ts';
import { EXIT } from '../exit-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-secret-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const latin = join(folder, 'latin.bin');
writeFileSync(latin, Buffer.from('p\xe4ss', 'latin1'));
const plain = join(folder, 'plain.txt');
writeFileSync(plain, 'hunter2\n');

/** To a port where nothing listens: what is refused was not sent. */
const write = (words: readonly string[], input = '') =>
  typeCommand(
    ['secret', 'write', 'resources/db', ...words],
    { HOME: folder, BERTH_CLI_SERVER: 'http://127.0.0.1:1', BERTH_CLI_TOKEN: 'x' },
    input,
  );

describe('values of a secret', () => {
  it.each([
    ['a file that is not UTF-8', ['--from-file', `P=${latin}`], '', 'latin.bin: line 1 is not UTF-8 text'],
    ['a key of JSON twice', ['--from-json'], '{"A":"hunter2","\\u0041":"y"}', 'the same key twice'],
    ['the key __proto__', ['--from-json'], '{"__proto__":"hunter2"}', 'the key __proto__'],
    ['broken JSON', ['--from-json'], 'hunter2', 'standard input is not valid JSON'],
    ['broken JSON, with its place', ['--from-json'], '{\n"A": "hunter2" "B"}', 'not valid JSON, at 2:'],
    ['a number', ['--from-json'], '{"A": 1e400}', 'a number that is too large'],
    [
      'a key by two flags',
      ['--from-file', `P=${plain}`, '--key', 'P'],
      'hunter2',
      'the key P is given twice',
    ],
    ['a key by two files', ['--from-file', `P=${plain}`, '--from-file', `P=${plain}`], '', 'given twice'],
    ['a key that takes turns twice', ['--alternate', 'u=a,b', '--alternate', 'u=c,d'], '', 'given twice'],
  ])('are refused rather than altered, and never repeated: %s', async (_what, words, input, message) => {
    const { status, out, err } = await write(words, input);
    expect(err).toContain(message);
    expect(`${out}${err}`).not.toContain('hunter2');
    expect(status).toBe(EXIT.usage);
  });

  it('are sent when nothing is wrong with them', async () => {
    const { status } = await write(['--from-file', `P=${plain}`, '--from-json'], '{"A":"x","B":"x"}');
    expect(status).toBe(EXIT.unreachable);
  });
});
