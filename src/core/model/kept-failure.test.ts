import { describe, expect, it } from 'vitest';
import { instanceId, nodeName } from './ids.ts';
import {
  boundedLines,
  FAILURE_BYTES,
  FAILURE_LINES,
  type KeptFailure,
  tellingLine,
  withFailure,
} from './kept-failure.ts';

const failure = (instance: string, key: string): KeptFailure => ({
  key,
  instance: instanceId(instance),
  nodeId: nodeName('n1'),
  specHash: 'h',
  at: '2026-01-01T00:00:00.000Z',
  reason: 'container_exited',
  message: 'the container ended with exit code 1',
  lines: 1,
});
const printed = (...texts: readonly string[]) => texts.map((text) => ({ text }));

describe('failures that are kept', () => {
  it('are the newest two of an instance', () => {
    const before = [failure('a', '1'), failure('b', '1'), failure('a', '2')];
    const { kept, gone } = withFailure(before, failure('a', '3'));
    expect(kept.map(({ instance, key }) => instance + key)).toEqual(['b1', 'a2', 'a3']);
    expect(gone.map(({ instance, key }) => instance + key)).toEqual(['a1']);
  });

  it('are the newest ten of a deployment', () => {
    const before = Array.from({ length: 10 }, (_, at) => failure(`i${at}`, '1'));
    const { kept, gone } = withFailure(before, failure('new', '1'));
    expect(kept).toHaveLength(10);
    expect(gone).toEqual([before[0]]);
  });
});

describe('the line that says why', () => {
  it.each([
    [
      ['starting', 'Error: connect ECONNREFUSED', '    at connect (net.js:1)', 'Node.js v24'],
      'Error: connect ECONNREFUSED',
    ],
    [
      ['psql: FATAL:  password authentication failed', '', 'bye'],
      'psql: FATAL:  password authentication failed',
    ],
    [['one', 'two', '  '], 'two'],
  ])('of %j is %s', (lines, cause) => {
    expect(tellingLine(printed(...lines))).toBe(cause);
  });

  it('is none where nothing was printed', () => expect(tellingLine([])).toBeUndefined());
});

describe('lines within their bounds', () => {
  it('are the last ones, with the number of those before', () => {
    const { lines, dropped } = boundedLines(printed(...Array.from({ length: 250 }, (_, at) => `line ${at}`)));
    expect([lines.length, lines.at(-1)?.text, dropped]).toEqual([FAILURE_LINES, 'line 249', 50]);
  });

  it.each(['x', '漢'])('are no more than so many bytes, whatever they are made of (%s)', (letter) => {
    const { lines } = boundedLines(printed(letter.repeat(60_000), letter.repeat(60_000), letter));
    const bytes = new TextEncoder().encode(JSON.stringify(lines)).length;
    expect(bytes).toBeLessThan(FAILURE_BYTES + 1024);
    expect(lines.at(-1)?.text).toBe(letter);
  });
});
