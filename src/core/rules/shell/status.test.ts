import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ABLE_TO_FAIL,
  FAILING,
  INERT,
  INERT_ELSEWHERE,
} from '../../../../test/support/samples/shell-lines.ts';
import { cannotFail } from './status.ts';

describe('the last status of a command line', () => {
  it.each([...INERT, ...INERT_ELSEWHERE])('%j cannot be other than zero', (line) => {
    expect(cannotFail([line])).toBe(true);
    expect(cannotFail(['sh', '-c', line])).toBe(true);
  });

  it.each([...ABLE_TO_FAIL, ...FAILING])('%j may be', (line) => {
    expect(cannotFail([line])).toBe(false);
    expect(cannotFail(['sh', '-c', line])).toBe(false);
  });

  it.each([
    [['true', 'x'], true],
    [['echo', 'a; exit 1'], true],
    [['exit', '0'], true],
    [['/bin/bash', '-lc', 'exit 0'], true],
    [['sh', '-ec', 'true'], true],
    [['sh', '-ec', 'x; true'], false],
    [['sh', '/check.sh'], false],
    [['sh', '-c'], false],
    [['test', '-f', '/ready'], false],
    [['sleep', '1'], false],
    [['cat'], false],
    [['eval', 'true'], true],
    [['eval', 'x'], false],
    [['exit', '256'], true],
    [['exit', '$((0))'], false],
    [['env', 'A=b', 'true'], true],
    [['env', 'A=b', 'pg_isready'], false],
    [['timeout', '5', 'true'], true],
    [['timeout', '5', 'curl', '-f', 'localhost'], false],
    [['timeout', '5', 'sh', '-c', 'x || true'], false],
    [['nice', '-n', '5', 'true'], true],
    [['nice', '-n', '5', 'x'], false],
    [['setsid', 'true'], true],
    [['stdbuf', '-o0', 'true'], true],
    [['ionice', '-c3', 'true'], true],
    [['sudo', 'true'], true],
    [['sudo', 'test', '-f', '/ready'], false],
    [['time', 'true'], true],
    [['nohup', '/bin/true'], true],
    [['nohup', '/check.sh'], false],
    [['/usr/bin/env', 'bash', '-c', 'x; exit 0'], true],
    [['x', '||', 'true'], false],
    [[], false],
  ] as const)('%j in argv form: %s', (command, expected) => {
    expect(cannotFail(command)).toBe(expected);
  });

  it('is decided in little time on any text, and never throws', () => {
    for (const unit of [
      ';',
      ' ',
      '|',
      '; ',
      '||',
      ';true',
      'exit ',
      '(',
      '$(',
      '"',
      '{ ',
      'if ',
      'x|',
      '`',
      '!',
      'eval ',
      'env ',
      'nice -5 ',
      'set +e;',
      'if x;then ',
      'exit $((1+',
      '$((1-(',
    ]) {
      const line = unit.repeat(4000 / unit.length);
      const started = performance.now();
      cannotFail([`${line}x`]);
      cannotFail(['sh', '-c', `x${line}`]);
      expect(performance.now() - started, JSON.stringify(unit)).toBeLessThan(500);
    }
    fc.assert(fc.property(fc.array(fc.string()), (command) => typeof cannotFail(command) === 'boolean'));
  });
});
