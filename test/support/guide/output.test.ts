import { describe, expect, it } from 'vitest';
import { mismatch, printable } from './output.ts';

describe('what came out', () => {
  it.each([
    [
      'ids, times, spans and widths',
      ['web  3s  dep_01m7ej5q5n03mbhxk8bqny672a (2.7 s)'],
      ['web   14s   dep_01m7es9d1d87egd03c03fb0b0b (12 s)'],
    ],
    [
      'platforms, architectures and versions',
      ['docker 20.10.24+dfsg1  linux/amd64  0.1.0', '{"version":"0.1.0"} on x86_64'],
      ['docker 27.3.1  linux/arm64  0.2.0', '{"version":"0.3.0-rc.1"} on aarch64'],
    ],
    ['names of instances', ['web-00kkce9p runs'], ['web-02deadbe runs']],
    ['plans', ['--plan 0b6d8f12-5c3e9a77-e1f04d28'], ['--plan f239e967-2529ce18-1b6d1e6a']],
    ['instances meanwhile', ['done'], ['  my-web-00kkce9p on berlin-1: running, unhealthy: x', 'done']],
    ['any text', ['created … in all'], ['created 5 things in all']],
    ['any lines', ['a', '…', 'z'], ['a', 'b', 'c', 'z']],
    ['any lines at the end', ['a', '…'], ['a', 'b']],
    ['a token that is not shown', ['use berth_join_… here'], ['use berth_join_x_y_z here']],
    ['what a wait said meanwhile', ['done'], ['  web: Progressing: 1 of 2', 'done']],
    [
      'what a canary said meanwhile',
      ['done'],
      ['  canary of web: a:1, 0 of 1 healthy; not reconciled yet', 'done'],
    ],
    ['what a hook said meanwhile', ['done'], ['  resources/db: Running: hook apply of job a: b', 'done']],
  ])('fits with other %s', (_what, expected, actual) => {
    expect(mismatch(expected, actual)).toBeUndefined();
  });

  it.each([
    ['another word', ['created'], ['updated'], 'created'],
    ['a line too few', ['a', 'b'], ['a'], 'b'],
    ['a line too many', ['a'], ['a', 'b'], expect.stringContaining('there was: b')],
    ['another count', ['2 of 2 healthy'], ['1 of 2 healthy'], '2 of 2 healthy'],
    ['another tag', ['web:1.4.2 runs'], ['web:1.5.0 runs'], 'web:1.4.2 runs'],
    ['another address', ['at 127.0.0.1:80'], ['at 127.0.0.2:80'], 'at 127.0.0.1:80'],
    ['nothing after any lines', ['…', 'z'], ['a'], 'z'],
  ])('does not fit with %s', (_what, expected, actual, wrong) => {
    expect(mismatch(expected, actual)).toEqual(wrong);
  });

  it('is written without tokens', () => {
    expect(printable(['  web: Waiting: x', 'berth_pat_a_b_c'])).toEqual(['berth_pat_…']);
  });
});
