import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INERT } from '../support/samples/shell-lines.ts';
import { cannotFail } from '../../src/core/rules/shell/status.ts';

describe('what is told to be inert is so in a real shell', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-shell-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function status(line: string): number {
    try {
      // `x` and `y` are not programs of this machine: they fail with 127.
      execFileSync('/bin/sh', ['-c', line], { cwd: folder, stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } });
      return 0;
    } catch (error) {
      return (error as { status: number }).status;
    }
  }

  it('for the examples', () => {
    for (const line of INERT) expect([line, status(line)]).toEqual([line, 0]);
  });

  it('for lines put together at random', () => {
    const words = [
      'true',
      'false',
      'x',
      'echo a',
      'exit 0',
      'exit 1',
      '(',
      ')',
      '{',
      '}',
      ';',
      '&&',
      '||',
      '|',
      '!',
      'cat',
    ];
    const pieces = [
      ...words,
      'if',
      'then',
      'else',
      'fi',
      '#',
      '\n',
      'A=$(false)',
      '[ 1 ]',
      '>/dev/null',
      'exit',
      'set -e;',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 9 }), (line) => {
        const text = line.join(' ');
        if (cannotFail([text])) expect([text, status(text)]).toEqual([text, 0]);
      }),
      { numRuns: 2_000, seed: 16 },
    );
  });
});
