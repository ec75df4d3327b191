import type { CredentialRecord, CredentialRotation } from '../model/credential.ts';
import type { RotatedVersions, RotationPhase, RotationState, SecretReference } from '../model/deployment.ts';
import type { ContainerPhase } from '../model/instance.ts';
import { type Behind, overlapOf, type RotationRefusal, stepOf } from '../model/rotation-phase.ts';

/** What is known of an instance's container. */
export interface HoldingInstance {
  readonly id: string;
  readonly phase: ContainerPhase;
  /** It ended, and its agent starts the same container again, with what that was given. */
  readonly startsAgain?: boolean;
  /** The counter its container carries; absent: it was not reported. */
  readonly secretsVersion?: number;
  /** It is of a spec that does not read the credential. */
  readonly isApart?: boolean;
  /** What it was given of the credential; absent: not recorded. */
  readonly versions?: RotatedVersions;
}

/** A deployment or a job that reads the credential. */
export interface RotationConsumer {
  readonly name: string;
  /** A job is never rolled: its next run receives what is in service then. */
  readonly job?: boolean;
  /** It reads the credential no more; containers from before may still hold it. */
  readonly left?: boolean;
  readonly pin?: RotatedVersions;
  /** The stored counter. */
  readonly secretsVersion: number;
  readonly instances: readonly HoldingInstance[];
}

/** A consumer that the phases take along. */
export function isRolled({ job, left }: Pick<RotationConsumer, 'job' | 'left'>): boolean {
  return job !== true && left !== true;
}

/** A container that may be using its credentials. `unknown` counts: a cut-off node may still run it. */
const HOLDING: ReadonlySet<ContainerPhase> = new Set(['creating', 'starting', 'running', 'unknown']);
const NOT_YET: ReadonlySet<ContainerPhase> = new Set(['pending', 'pulling']);

/** What was given material and is not seen yet is about to use it. */
export function isHolding(instance: HoldingInstance): boolean {
  return isInUse(instance) || (instance.versions !== undefined && NOT_YET.has(instance.phase));
}

function isInUse({ phase, startsAgain }: HoldingInstance): boolean {
  return HOLDING.has(phase) || startsAgain === true;
}

export function holds({ versions }: HoldingInstance, version: number): boolean {
  return (
    versions !== undefined &&
    [versions.current, versions.next, versions.previous].some((one) => one === version)
  );
}

function behindOf(
  consumers: readonly RotationConsumer[],
  isBehind: (instance: HoldingInstance, consumer: RotationConsumer) => boolean,
  why: string,
): Behind[] {
  return consumers.flatMap((consumer) => {
    const instances = consumer.instances
      .filter((instance) => isHolding(instance) && isBehind(instance, consumer))
      .map(({ id }) => id);
    return instances.length === 0 ? [] : [{ workload: consumer.name, instances, why }];
  });
}

/** A phase replaces what the one before delivered, so that one must have reached every container. */
function notRolledOut(moving: readonly RotationConsumer[]): Behind[] {
  return moving.flatMap((consumer) =>
    behindOf(
      [consumer],
      (instance) => isInUse(instance) && instance.secretsVersion !== consumer.secretsVersion,
      `not yet carrying secretsVersion ${consumer.secretsVersion}`,
    ),
  );
}

/** Who could still know the old one only. */
function withoutNext(
  consumers: readonly RotationConsumer[],
  { next, previous }: CredentialRotation,
): Behind[] {
  const staged = consumers.filter(({ pin }) => stepOf(pin) === 'staged');
  const apart = next === previous ? [] : consumers.filter(({ pin }) => pin === undefined);
  return [
    ...staged.map(({ name }) => ({ workload: name, instances: [], why: 'has not promoted' })),
    ...behindOf(apart, (instance) => !holds(instance, next), 'may hold the old version only'),
  ];
}

/** Who could know the new one only, and would be left alone with it. */
function withoutPrevious(
  consumers: readonly RotationConsumer[],
  { next, previous, phase }: CredentialRotation,
): Behind[] {
  if (next === previous) return [];
  return behindOf(
    consumers,
    (instance, { pin }) =>
      instance.versions === undefined
        ? phase === 'promoted' && pin === undefined
        : holds(instance, next) && !holds(instance, previous),
    'holds the new version only; let it take part with stage, or stop it',
  );
}

/** How the phases of one credential are refused. `moving` are the deployments that the request takes through the phase. */
export function refuseMove(
  rotation: CredentialRotation | undefined,
  phase: RotationPhase,
  moving: readonly RotationConsumer[],
  all: readonly RotationConsumer[],
): RotationRefusal | undefined {
  if (rotation?.phase === 'retiring' && phase !== 'retire') {
    const why = 'A consumer has given the old version up already, so it may be gone.';
    return { reason: 'transition_invalid', next: 'retire', why };
  }
  const behind = blockers(rotation, phase, moving, all);
  if (behind.length === 0) return undefined;
  const until =
    phase === 'retire' || phase === 'abort'
      ? `${phase}, once no consumer depends on the version that it takes away`
      : `${phase}, once every instance carries the secretsVersion of its deployment`;
  return { reason: 'rollout_incomplete', until, behind };
}

function blockers(
  rotation: CredentialRotation | undefined,
  phase: RotationPhase,
  moving: readonly RotationConsumer[],
  all: readonly RotationConsumer[],
): readonly Behind[] {
  if (phase === 'abort') return rotation === undefined ? [] : withoutPrevious(all, rotation);
  const late = notRolledOut(moving);
  if (phase === 'stage' || rotation === undefined) return late;
  const { next } = rotation;
  const partial = behindOf(
    moving.filter(({ name }) => !late.some(({ workload }) => workload === name)),
    (instance) => instance.versions !== undefined && !holds(instance, next),
    'may hold the old version only',
  );
  const others = all.filter(({ name }) => !moving.some((one) => one.name === name));
  return [...late, ...partial, ...(phase === 'retire' ? withoutNext(others, rotation) : [])];
}

/** What a deployment that takes part is delivered after the phase; nothing: it takes no part any more. */
export function pinAfter(
  { next, previous }: Pick<CredentialRotation, 'next' | 'previous'>,
  phase: RotationPhase,
): RotatedVersions | undefined {
  if (phase === 'stage') return { current: previous, next };
  return phase === 'promote' ? { current: next, previous } : undefined;
}

/** The state of a deployment after a phase of some of its credentials. */
export function moveRotation(
  state: RotationState | undefined,
  secrets: readonly SecretReference[],
  phase: RotationPhase,
  moved: ReadonlyMap<string, Pick<CredentialRotation, 'next' | 'previous'>>,
): RotationState {
  const pins = pinsByPath(state, secrets);
  for (const [path, rotation] of moved) {
    const pin = pinAfter(rotation, phase);
    if (pin === undefined) pins.delete(path);
    else pins.set(path, pin);
  }
  return { phase, secrets: Object.fromEntries(pins) };
}

export function pinsByPath(
  state: RotationState | undefined,
  secrets: readonly SecretReference[],
): Map<string, RotatedVersions> {
  return new Map(
    secrets.flatMap((entry) => {
      const pin = overlapOf(state, entry);
      return pin === undefined ? [] : [[entry.vault_path, pin] as const];
    }),
  );
}

/**
 * The state after an update of the spec: a deployment that reads a credential no more takes no part in its rotation, and
 * reading it again later does not bring that back.
 */
export function carryRotation(
  state: RotationState | undefined,
  previous: readonly SecretReference[],
  next: readonly SecretReference[],
): RotationState | undefined {
  if (state?.secrets === undefined) return state;
  const paths = new Set(next.map(({ vault_path }) => vault_path));
  const kept = [...pinsByPath(state, previous)].filter(([path]) => paths.has(path));
  return { ...state, secrets: Object.fromEntries(kept) };
}

/**
 * The credential after a phase of some of its consumers; `after` are all of them as they are then. Only the last one to
 * promote puts the new version into service for those who take no part, and only the last one to leave ends the rotation.
 */
export function advanceCredential(
  record: CredentialRecord,
  phase: Exclude<RotationPhase, 'stage'>,
  after: readonly Pick<RotationConsumer, 'pin' | 'job' | 'left'>[],
  newest: number,
): CredentialRecord {
  const { rotation, ...rest } = record;
  if (rotation === undefined) return record;
  const { next, previous } = rotation;
  const deployments = after.filter(isRolled);
  const left = deployments.every(({ pin }) => pin === undefined);
  const known = Math.max(record.known, newest, next);
  switch (phase) {
    case 'promote': {
      const all = deployments.every(({ pin }) => stepOf(pin) === 'promoted');
      // A rollout that is asked for again does not bring back what a consumer has given up.
      const reached = rotation.phase === 'retiring' ? 'retiring' : 'promoted';
      return all ? { ...record, current: next, rotation: { ...rotation, phase: reached } } : record;
    }
    case 'retire':
      // Containers have had it since it was staged.
      if (left) return pruned({ ...rest, current: next, known, ...(rest.minted && { handed: next }) });
      return { ...record, current: next, rotation: { ...rotation, phase: 'retiring' } };
    case 'abort': {
      if (!left) return { ...record, current: previous, rotation: { ...rotation, phase: 'staged' } };
      const refused =
        rotation.written === true && next !== previous ? [...(record.refused ?? []), next] : record.refused;
      return pruned({ ...rest, current: previous, known, ...(refused && { refused }) });
    }
  }
}

/** What is not newer than `current` is never chosen again, so nothing has to be remembered of it. */
export function pruned({ refused = [], ...record }: CredentialRecord): CredentialRecord {
  const kept = refused.filter((version) => version > record.current);
  return kept.length === 0 ? record : { ...record, refused: kept };
}
