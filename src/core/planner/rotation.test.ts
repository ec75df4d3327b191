import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RotatedVersions, RotationPhase, RotationState } from '../model/deployment.ts';
import { deliveredVersions, nextRotationPhase, ROTATION_ORDER } from '../model/rotation-phase.ts';
import { advanceRotation, carryRotation, refuseRotation, stageRotation, stageVersions } from './rotation.ts';

const REST = { secretsVersion: 3, instances: [] };

describe('phases', () => {
  const states: readonly (RotationState | undefined)[] = [
    undefined,
    {},
    ...ROTATION_ORDER.map((phase) => ({ phase })),
  ];

  it('accept exactly the next one', () => {
    const accepted = states.map((state) =>
      [...ROTATION_ORDER, '', 'Stage', 'rollback'].filter(
        (phase) => refuseRotation(state, phase, REST) === undefined,
      ),
    );
    expect(accepted).toEqual([['stage'], ['stage'], ['promote'], ['retire'], ['stage']]);
  });

  it('name the next one in a refusal', () => {
    expect(refuseRotation({ phase: 'stage' }, 'retire', REST)).toEqual({
      reason: 'transition_invalid',
      next: 'promote',
    });
    expect(refuseRotation(undefined, 'promote', REST)).toEqual({
      reason: 'transition_invalid',
      next: 'stage',
    });
  });

  it('wait until no container may hold older material', () => {
    const refuse = (...instances: Parameters<typeof refuseRotation>[2]['instances']) =>
      refuseRotation({ phase: 'stage' }, 'promote', { secretsVersion: 3, instances });
    expect(refuse({ id: 'a', phase: 'running', secretsVersion: 3 })).toBeUndefined();
    expect(
      refuse(
        { id: 'a', phase: 'running', secretsVersion: 3 },
        { id: 'b', phase: 'running', secretsVersion: 2 },
      ),
    ).toEqual({
      reason: 'rollout_incomplete',
      secretsVersion: 3,
      behind: ['b'],
    });
    expect(refuse({ id: 'b', phase: 'unknown', secretsVersion: 2 })).toMatchObject({ behind: ['b'] });
    expect(refuse({ id: 'b', phase: 'running' })).toMatchObject({ behind: ['b'] });
    expect(
      refuse({ id: 'b', phase: 'removed', secretsVersion: 2 }, { id: 'c', phase: 'pending' }),
    ).toBeUndefined();
  });

  it('are refused for their order before their rollout', () => {
    const behind = [{ id: 'a', phase: 'running', secretsVersion: 1 }] as const;
    expect(
      refuseRotation({ phase: 'stage' }, 'stage', { secretsVersion: 3, instances: behind }),
    ).toMatchObject({ reason: 'transition_invalid' });
  });
});

describe('versions', () => {
  it('of written material: what was newest stays current', () => {
    expect(stageVersions({ versions: [1, 2], written: 3 }, undefined)).toEqual({ current: 2, next: 3 });
    expect(stageVersions({ versions: [2, 1], written: 3 }, { current: 1 })).toEqual({ current: 2, next: 3 });
    expect(stageVersions({ versions: [], written: 1 }, undefined)).toEqual({ current: 1, next: 1 });
  });

  it('without written material: the newest is taken', () => {
    expect(stageVersions({ versions: [1, 2] }, undefined)).toEqual({ current: 1, next: 2 });
    expect(stageVersions({ versions: [1] }, undefined)).toEqual({ current: 1, next: 1 });
    expect(stageVersions({ versions: [] }, undefined)).toBeUndefined();
  });

  it('never go back behind what the last rotation put into service', () => {
    expect(stageVersions({ versions: [1, 2] }, { current: 2 })).toEqual({ current: 2, next: 2 });
    expect(stageVersions({ versions: [1, 2, 3] }, { current: 2 })).toEqual({ current: 2, next: 3 });
    expect(stageVersions({ versions: [1, 2, 3, 4] }, { current: 2 })).toEqual({ current: 3, next: 4 });
  });

  it('move through the phases together, and leave the rest alone', () => {
    const staged = stageRotation(
      { phase: 'retire', secrets: { X: { current: 7 } } },
      { DB: { current: 1, next: 2 } },
    );
    expect(staged).toEqual({ phase: 'stage', secrets: { X: { current: 7 }, DB: { current: 1, next: 2 } } });
    const promoted = advanceRotation(staged, 'promote');
    expect(promoted).toEqual({
      phase: 'promote',
      secrets: { X: { current: 7 }, DB: { current: 2, previous: 1 } },
    });
    const retired = advanceRotation(promoted, 'retire');
    expect(retired).toEqual({ phase: 'retire', secrets: { X: { current: 7 }, DB: { current: 2 } } });
    expect(deliveredVersions(staged.secrets?.['X'])).toEqual({ current: 'newest' });
    expect(deliveredVersions(retired.secrets?.['DB'])).toEqual({ current: 'newest' });
    expect(deliveredVersions(undefined)).toEqual({ current: 'newest' });
  });

  it('leave with an entry that is gone or points elsewhere', () => {
    const reference = (name: string, vault_path: string) =>
      ({ name, vault_path, anchor: 'external', rotation: 'restart' }) as const;
    const state: RotationState = {
      phase: 'stage',
      secrets: { A: { current: 1, next: 2 }, B: { current: 1, next: 2 }, C: { current: 1 } },
    };
    const previous = [
      reference('A', 'resources/a'),
      reference('B', 'resources/b'),
      reference('C', 'resources/c'),
    ];
    const next = [reference('A', 'resources/a'), reference('B', 'resources/other')];
    expect(carryRotation(state, previous, next)).toEqual({
      phase: 'stage',
      secrets: { A: { current: 1, next: 2 } },
    });
    expect(carryRotation(undefined, previous, next)).toBeUndefined();
  });
});

/** What an instance created now is given, as version numbers. */
function delivered(versions: RotatedVersions | undefined, newest: number): ReadonlySet<number> {
  const { current, next, previous } = deliveredVersions(versions);
  return new Set([
    current === 'newest' ? newest : current,
    ...[next, previous].filter((version) => version !== undefined),
  ]);
}

function currentOf(versions: RotatedVersions | undefined, newest: number): number {
  const { current } = deliveredVersions(versions);
  return current === 'newest' ? newest : current;
}

type Action = RotationPhase | 'external-write';

describe('never zero valid credentials', () => {
  it('old and new instances share a credential across every accepted phase', () => {
    const actions = fc.array(fc.constantFrom<Action>('stage', 'promote', 'retire', 'external-write'), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(actions, fc.boolean(), (run, mints) => {
        let state: RotationState | undefined;
        let newest = 1;
        for (const action of run) {
          const before = state?.secrets?.['DB'];
          if (action === 'external-write') {
            // Outside an overlap the owner of an external credential writes the next version before staging it.
            if (nextRotationPhase(state) === 'stage' && !mints && newest === (before?.current ?? 1))
              newest += 1;
            continue;
          }
          if (refuseRotation(state, action, REST) !== undefined) continue;
          const held = new Set([...delivered(before, newest), before?.current ?? newest]);
          const versions = Array.from({ length: newest }, (_, n) => n + 1);
          if (action === 'stage') {
            if (mints) newest += 1;
            const staged = stageVersions({ versions, ...(mints ? { written: newest } : {}) }, before);
            state = stageRotation(state, staged === undefined ? {} : { DB: staged });
          } else {
            state = advanceRotation(state ?? {}, action);
          }
          const after = state.secrets?.['DB'];
          const now = delivered(after, newest);
          // While the rollout runs, instances of both sides are alive. Valid is what the new side still knows …
          const shared = [...held].filter((version) => now.has(version));
          expect(shared.length).toBeGreaterThan(0);
          // … and the credential in use after the phase was known to every instance before it, except a first stage of
          // material written before, whose predecessor stays current.
          if (action !== 'stage') expect(held.has(currentOf(after, newest))).toBe(true);
          expect(now.size).toBeLessThanOrEqual(2);
        }
      }),
      { numRuns: 2_000, seed: 20_261_115 },
    );
  });

  it('swaps nothing in one step: the old one is current in stage, kept in promote, gone after retire', () => {
    const staged = stageRotation(undefined, { DB: { current: 4, next: 5 } });
    const promoted = advanceRotation(staged, 'promote');
    const retired = advanceRotation(promoted, 'retire');
    const sets = [staged, promoted, retired].map((state) => [...delivered(state.secrets?.['DB'], 5)]);
    expect(sets).toEqual([[4, 5], [5, 4], [5]]);
  });
});
