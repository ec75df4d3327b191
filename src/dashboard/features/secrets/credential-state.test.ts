import { describe, expect, it } from 'vitest';
import { hookEntries, phaseAccepted, retryPhase, rotationSentence } from './credential-state.ts';
import type { HookRun } from './secret-queries.ts';

const RUN: HookRun = { hook: 'apply', job: 'db-apply', run: 'run_1', state: 'Running', message: '' };
const STAGED = { nextPhase: 'promote', rotation: { phase: 'staged', next: 2 } } as const;

describe('the rotation of a credential', () => {
  it('stands at the phase that was accepted last', () => {
    expect(phaseAccepted({})).toBe(null);
    expect(phaseAccepted(STAGED)).toBe('stage');
    expect(phaseAccepted({ rotation: { phase: 'promoted' } })).toBe('promote');
    expect(phaseAccepted({ rotation: { phase: 'retiring' } })).toBe('promote');
  });

  it('has its hooks in the order in which they run, each with its run', () => {
    const hooks = { revoke: 'db-revoke', apply: 'db-apply' };
    expect(hookEntries({ ...STAGED, hooks, hookRuns: [RUN] })).toEqual([
      { hook: 'apply', job: 'db-apply', run: RUN },
      { hook: 'revoke', job: 'db-revoke' },
    ]);
    expect(hookEntries(STAGED)).toEqual([]);
  });

  it('runs a hook again with the phase that waits for it, and only one that ended without success', () => {
    expect(retryPhase(STAGED, RUN)).toBeUndefined();
    expect(retryPhase(STAGED, { ...RUN, state: 'Succeeded' })).toBeUndefined();
    expect(retryPhase(STAGED, { ...RUN, state: 'Failed' })).toBe('promote');
    expect(retryPhase(STAGED, { ...RUN, state: 'Cancelled', swapped: true })).toBe('abort');
  });

  it('says what it waits for', () => {
    expect(rotationSentence({ nextPhase: 'stage' })).toMatchObject({ isCalm: true });
    expect(rotationSentence(STAGED).text).toBe('A rotation is under way; promote is due.');
    expect(rotationSentence({ ...STAGED, hookRuns: [RUN] }).text).toContain('db-apply is under way');
    const failed = { ...RUN, state: 'Failed', swapped: true } as const;
    expect(rotationSentence({ ...STAGED, hookRuns: [failed] }).text).toMatch(/^abort is held back/);
    expect(rotationSentence({ nextPhase: 'retire', rotation: { phase: 'retiring' } }).text).toContain(
      'no way back',
    );
  });
});
