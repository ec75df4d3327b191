import { describe, expect, it } from 'vitest';
import type { JobId } from './ids.ts';
import { askedFor, hooksBefore, type RotationHooks } from './rotation-hook.ts';

const run = (id: string) => ({ job: 'db', jobId: 'job_1' as JobId, run: id });
const both = { apply: 'db', revoke: 'db' };

describe('what a phase waits for', () => {
  it.each([
    ['stage', both, {}, []],
    ['promote', both, {}, ['applied']],
    ['promote', { revoke: 'db' }, {}, []],
    ['retire', both, { applied: run('1') }, ['applied', 'revoked']],
    ['retire', both, {}, ['revoked']],
    ['retire', { apply: 'db' }, { applied: run('1') }, ['applied']],
    ['retire', { revoke: 'db' }, { applied: run('1') }, ['revoked']],
    // The way back was begun: what it undid is done again first.
    ['retire', both, { undone: run('2') }, ['applied', 'revoked']],
    ['abort', both, {}, []],
    ['abort', both, { applied: run('1') }, ['undone']],
    ['abort', both, { revoked: run('1') }, ['undone']],
    ['abort', { revoke: 'db' }, { revoked: run('1') }, []],
  ] as const)('%s with %j after %j: %j', (phase, hooks, asked, expected) => {
    expect(hooksBefore(phase, hooks, asked)).toEqual(expected);
  });
});

describe('what is remembered of the hooks', () => {
  const asked = (...steps: readonly (readonly [keyof RotationHooks, string])[]): RotationHooks =>
    steps.reduce<RotationHooks>((all, [slot, id]) => askedFor(all, slot, run(id)), {});

  it('is both on the way forth, and the last alone at every turn', () => {
    expect(asked(['applied', '1'], ['revoked', '2'])).toEqual({ applied: run('1'), revoked: run('2') });
    expect(asked(['applied', '1'], ['revoked', '2'], ['undone', '3'])).toEqual({ undone: run('3') });
    expect(asked(['applied', '1'], ['undone', '2'], ['applied', '3'])).toEqual({ applied: run('3') });
  });
});
