import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CredentialRecord } from '../model/credential.ts';
import type { RotatedVersions, RotationPhase, RotationState } from '../model/deployment.ts';
import { nextRotationPhase, ROTATION_PHASES } from '../model/rotation-phase.ts';
import { beginRotation, stagedCredential } from './credentials.ts';
import {
  advanceCredential,
  carryRotation,
  type HoldingInstance,
  moveRotation,
  pinAfter,
  refuseMove,
  type RotationConsumer,
} from './rotation.ts';

const STAGED = { phase: 'staged', next: 2, previous: 1 } as const;
const PROMOTED = { ...STAGED, phase: 'promoted' } as const;
const RETIRING = { ...STAGED, phase: 'retiring' } as const;
const staged = { current: 1, next: 2 };
const promoted = { current: 2, previous: 1 };

const consumer = (
  name: string,
  pin: RotatedVersions | undefined,
  ...instances: readonly HoldingInstance[]
): RotationConsumer => ({ name, secretsVersion: 3, instances, ...(pin && { pin }) });
const instance = (
  id: string,
  versions: RotatedVersions | undefined,
  secretsVersion = 3,
): HoldingInstance => ({
  id,
  phase: 'running',
  secretsVersion,
  ...(versions && { versions }),
});

describe('a phase of one consumer', () => {
  const refuse = (phase: RotationPhase, ...instances: readonly HoldingInstance[]) => {
    const one = consumer('web', phase === 'promote' ? staged : promoted, ...instances);
    return refuseMove(phase === 'promote' ? STAGED : PROMOTED, phase, [one], [one]);
  };

  it('waits until no container may hold older material', () => {
    expect(refuse('promote', instance('a', staged))).toBeUndefined();
    expect(refuse('promote', instance('a', staged), instance('b', staged, 2))).toMatchObject({
      reason: 'rollout_incomplete',
      behind: [{ workload: 'web', instances: ['b'] }],
    });
    expect(refuse('promote', { id: 'b', phase: 'unknown', secretsVersion: 2 })).toBeDefined();
    expect(refuse('promote', { id: 'b', phase: 'running' })).toBeDefined();
    const gone = { id: 'b', phase: 'removed', secretsVersion: 2 } as const;
    expect(refuse('promote', gone, { id: 'c', phase: 'pending' })).toBeUndefined();
  });

  it('counts a container that ended and is started again with what it was given', () => {
    const ended = { id: 'a', phase: 'exited', secretsVersion: 2, versions: { current: 1 } } as const;
    expect(refuse('promote', ended)).toBeUndefined();
    expect(refuse('promote', { ...ended, startsAgain: true })).toMatchObject({
      reason: 'rollout_incomplete',
      behind: [{ workload: 'web', instances: ['a'] }],
    });
  });

  it('counts a container that was given material and is not seen yet', () => {
    const unseen = { id: 'a', phase: 'pending', versions: { current: 1 } } as const;
    expect(refuse('retire', unseen)).toMatchObject({ behind: [{ instances: ['a'] }] });
    expect(refuse('retire', { ...unseen, versions: promoted })).toBeUndefined();
  });
});

describe('other consumers', () => {
  const web = consumer('web', promoted, instance('w', promoted));

  it('hold retire back while one could know the old version only', () => {
    const refuse = (other: RotationConsumer) => refuseMove(STAGED, 'retire', [web], [web, other]);
    expect(refuse(consumer('api', undefined, instance('a', { current: 1 })))).toMatchObject({
      behind: [{ workload: 'api', instances: ['a'] }],
    });
    expect(refuse(consumer('api', undefined, instance('a', undefined)))).toBeDefined();
    expect(refuse(consumer('api', undefined, instance('a', { current: 2 })))).toBeUndefined();
    expect(refuse(consumer('api', undefined))).toBeUndefined();
    expect(refuse(consumer('api', staged, instance('a', staged)))).toMatchObject({
      behind: [{ workload: 'api', instances: [] }],
    });
    expect(refuse(consumer('api', promoted, instance('a', staged, 2)))).toBeUndefined();
    const job = { ...consumer('migrate', undefined, instance('j', { current: 1 })), job: true };
    expect(refuse(job)).toMatchObject({ behind: [{ workload: 'migrate' }] });
    const left = { ...consumer('former', undefined, instance('f', { current: 1 })), left: true };
    expect(refuse(left)).toMatchObject({ behind: [{ workload: 'former', instances: ['f'] }] });
  });

  it('hold retire back while one has only staged, also when nothing is new', () => {
    const same = { phase: 'staged', next: 1, previous: 1 } as const;
    const one = consumer('web', { current: 1, previous: 1 });
    const other = consumer('api', { current: 1, next: 1 });
    expect(refuseMove(same, 'retire', [one], [one, other])).toMatchObject({
      behind: [{ workload: 'api', why: 'has not promoted' }],
    });
    expect(refuseMove(same, 'retire', [one], [one, consumer('api', undefined)])).toBeUndefined();
  });

  it('hold abort back while one could know the new version only', () => {
    const refuse = (other: RotationConsumer) => refuseMove(PROMOTED, 'abort', [web], [web, other]);
    expect(refuse(consumer('api', undefined, instance('a', { current: 2 })))).toBeDefined();
    expect(refuse(consumer('api', undefined, instance('a', undefined)))).toBeDefined();
    expect(refuse(consumer('api', staged, instance('a', staged)))).toBeUndefined();
    expect(refuse(consumer('api', undefined, instance('a', { current: 1 })))).toBeUndefined();
  });

  it('end the way back once one has retired', () => {
    for (const phase of ['stage', 'promote', 'abort'] as const)
      expect(refuseMove(RETIRING, phase, [web], [web])).toMatchObject({
        reason: 'transition_invalid',
        next: 'retire',
      });
    expect(refuseMove(RETIRING, 'retire', [web], [web])).toBeUndefined();
  });
});

describe('the credential', () => {
  const record: CredentialRecord = { current: 1, known: 2, rotation: { ...STAGED, written: true } };

  it('puts the new version into service with the last one to promote', () => {
    expect(advanceCredential(record, 'promote', [{ pin: promoted }, { pin: staged }], 2)).toEqual(record);
    expect(advanceCredential(record, 'promote', [{ pin: promoted }, {}], 2)).toEqual(record);
    for (const other of [{ job: true }, { left: true }])
      expect(advanceCredential(record, 'promote', [{ pin: promoted }, other], 2)).toMatchObject({
        current: 2,
        rotation: { phase: 'promoted' },
      });
  });

  it('does not go back to promoted when a promote is asked for again after a consumer has retired', () => {
    const before = { ...record, current: 2, rotation: { ...PROMOTED, phase: 'retiring' as const } };
    expect(advanceCredential(before, 'promote', [{ pin: promoted }], 2)).toEqual(before);
  });

  it('ends with the last one to retire, and nothing that was written meanwhile comes after it', () => {
    const before = { ...record, current: 2, rotation: PROMOTED };
    expect(advanceCredential(before, 'retire', [{ pin: promoted }, {}], 5)).toMatchObject({
      current: 2,
      rotation: { phase: 'retiring' },
    });
    expect(advanceCredential(before, 'retire', [{}, {}], 5)).toEqual({ current: 2, known: 5 });
  });

  it('goes back with abort, and forgets what was written for it', () => {
    expect(
      advanceCredential({ ...record, current: 2, rotation: PROMOTED }, 'abort', [{}, { pin: promoted }], 2),
    ).toMatchObject({
      current: 1,
      rotation: { phase: 'staged' },
    });
    expect(advanceCredential(record, 'abort', [{}], 2)).toEqual({ current: 1, known: 2, refused: [2] });
    expect(advanceCredential({ ...record, rotation: STAGED }, 'abort', [{}], 3)).toEqual({
      current: 1,
      known: 3,
    });
  });
});

describe('the state of a deployment', () => {
  const reference = (name: string, vault_path: string) =>
    ({ name, vault_path, anchor: 'external', rotation: 'restart' }) as const;
  const secrets = [reference('A', 'resources/a'), reference('B', 'resources/b')];

  it('moves by credential, and reads records that name entries', () => {
    const moved = moveRotation(
      { phase: 'stage', secrets: { A: { current: 4, next: 5 } } },
      secrets,
      'stage',
      new Map([['resources/b', STAGED]]),
    );
    expect(moved).toEqual({
      phase: 'stage',
      secrets: { 'resources/a': { current: 4, next: 5 }, 'resources/b': staged },
    });
    expect(nextRotationPhase(moved)).toBe('promote');
    const next = moveRotation(
      moved,
      secrets,
      'promote',
      new Map([['resources/a', { next: 5, previous: 4 }]]),
    );
    expect(next.secrets?.['resources/a']).toEqual({ current: 5, previous: 4 });
    expect(nextRotationPhase(moveRotation(next, secrets, 'abort', new Map([['resources/b', STAGED]])))).toBe(
      'retire',
    );
    expect(nextRotationPhase(undefined)).toBe('stage');
  });

  it('leaves with an entry that is gone or points elsewhere', () => {
    const state: RotationState = { phase: 'stage', secrets: { 'resources/a': staged, B: staged } };
    const next = [reference('A', 'resources/a'), reference('B', 'resources/other')];
    expect(carryRotation(state, secrets, next)).toEqual({
      phase: 'stage',
      secrets: { 'resources/a': staged },
    });
    expect(carryRotation(undefined, secrets, next)).toBeUndefined();
  });
});

type Step = { readonly who: number; readonly what: RotationPhase | 'start' | 'roll' };

interface World {
  record: CredentialRecord;
  newest: number;
  readonly consumers: {
    pin?: RotatedVersions;
    secretsVersion: number;
    held: { versions: RotatedVersions; secretsVersion: number }[];
  }[];
}

/** Valid are both versions of a rotation until the first retire; then the new one alone. Outside one, what is in service. */
function valid({ record: { rotation, current } }: World): ReadonlySet<number> {
  if (rotation === undefined || rotation.phase === 'retiring') return new Set([current]);
  return new Set([rotation.next, rotation.previous]);
}

function facts({ consumers }: World): RotationConsumer[] {
  return consumers.map(({ pin, secretsVersion, held }, who) => ({
    name: `c${who}`,
    secretsVersion,
    ...(pin && { pin }),
    instances: held.map((one, id) => ({ id: `${who}-${id}`, phase: 'running' as const, ...one })),
  }));
}

function act(world: World, { who, what }: Step): void {
  const mine = world.consumers[who];
  if (mine === undefined) return;
  const given = () => ({
    versions: mine.pin ?? { current: world.record.current },
    secretsVersion: mine.secretsVersion,
  });
  if (what === 'start') mine.held.push(given());
  else if (what === 'roll') mine.held.splice(0, mine.held.length, ...mine.held.map(given));
  else phase(world, who, what);
}

function phase(world: World, who: number, what: RotationPhase): void {
  const mine = world.consumers[who];
  const { rotation } = world.record;
  if (mine === undefined) return;
  const due = {
    stage: mine.pin === undefined,
    promote: mine.pin?.next !== undefined,
    retire: mine.pin?.previous !== undefined,
    abort: mine.pin !== undefined,
  };
  const all = facts(world);
  if (
    !due[what] ||
    refuseMove(
      rotation,
      what,
      all.filter((_, at) => at === who),
      all,
    ) !== undefined
  )
    return;
  if (what === 'stage' && rotation === undefined) {
    world.newest += 1;
    const versions = Array.from({ length: world.newest - 1 }, (_, at) => at + 1);
    world.record = stagedCredential(
      world.record,
      beginRotation(world.record, { versions, written: world.newest }),
      world.newest,
    );
  }
  const moved = world.record.rotation;
  if (moved === undefined) return;
  const pin = pinAfter(moved, what);
  if (pin === undefined) delete mine.pin;
  else mine.pin = pin;
  mine.secretsVersion += 1;
  if (what !== 'stage') world.record = advanceCredential(world.record, what, facts(world), world.newest);
}

describe('never zero valid credentials', () => {
  it('whatever several consumers do in whatever order', () => {
    const step = fc.record({
      who: fc.nat({ max: 2 }),
      what: fc.constantFrom<Step['what']>(...ROTATION_PHASES, 'start', 'roll', 'roll'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const consumers = [0, 1, 2].map(() => ({ secretsVersion: 0, held: [] }));
        const world: World = { record: { current: 1, known: 1 }, newest: 1, consumers };
        for (const one of steps) {
          act(world, one);
          const accepted = valid(world);
          for (const { held } of world.consumers)
            for (const { versions } of held) {
              const known = [versions.current, versions.next, versions.previous];
              expect(known.some((version) => version !== undefined && accepted.has(version))).toBe(true);
            }
        }
      }),
      { numRuns: 3_000, seed: 20_261_115 },
    );
  });
});
