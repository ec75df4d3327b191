import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILING, INERT } from '../support/samples/shell-lines.ts';
import { cannotFail } from '../../src/core/rules/shell/status.ts';

describe('what is told to be inert is so in a real shell', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-shell-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function status(line: string, shell = '/bin/sh'): number {
    try {
      // `x` and `y` are not programs of this machine: they fail with 127.
      execFileSync(shell, ['-c', line], { cwd: folder, stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } });
      return 0;
    } catch (error) {
      return (error as { status: number }).status;
    }
  }

  it.each(['/bin/sh', '/bin/bash'])('for the examples, in %s', (shell) => {
    for (const line of INERT) expect([line, status(line, shell)]).toEqual([line, 0]);
  });

  it('and what fails there is told to be able to', { timeout: 60_000 }, () => {
    for (const line of FAILING) {
      expect([line, status(line) > 0]).toEqual([line, true]);
      expect([line, cannotFail([line])]).toEqual([line, false]);
    }
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
      'set +e;',
      'eval',
      'env',
      'nice',
      'timeout 5',
      'nohup',
      'exit $((2-2))',
      'exit 256',
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
