import type { RotatedVersions, RotationPhase, RotationState, SecretReference } from '../model/deployment.ts';
import type { ContainerPhase } from '../model/instance.ts';
import { isOverlapping, nextRotationPhase, type RotationRefusal } from '../model/rotation-phase.ts';

/** What is known of an instance's container: an unreported version counts as one that is behind. */
export interface RolloutInstance {
  readonly id: string;
  readonly phase: ContainerPhase;
  readonly secretsVersion?: number;
}

export interface RotationFacts {
  /** The stored counter of the deployment. */
  readonly secretsVersion: number;
  readonly instances: readonly RolloutInstance[];
}

/** A container that may be using its credentials. `unknown` counts: a cut-off node may still run it. */
const HOLDING: ReadonlySet<ContainerPhase> = new Set(['creating', 'starting', 'running', 'unknown']);

/** Refuses a phase out of order, and a next phase while an instance still carries what the last one replaced. */
export function refuseRotation(
  state: RotationState | undefined,
  phase: string,
  facts: RotationFacts,
): RotationRefusal | undefined {
  const next = nextRotationPhase(state);
  if (phase !== next) return { reason: 'transition_invalid', next };
  const behind = facts.instances
    .filter((instance) => HOLDING.has(instance.phase) && instance.secretsVersion !== facts.secretsVersion)
    .map((instance) => instance.id);
  if (behind.length === 0) return undefined;
  return { reason: 'rollout_incomplete', secretsVersion: facts.secretsVersion, behind };
}

/** Versions of one entry's document around a `stage`. */
export interface StagedDocument {
  /** Every version the store holds, before this operation wrote anything. */
  readonly versions: readonly number[];
  /** The version this operation wrote; absent when nothing was minted or sent (`external`). */
  readonly written?: number;
}

/**
 * The overlap of one entry. Written material becomes `next`, and what was newest before stays `current`. Without written
 * material the newest becomes `next`, and `current` is the version before it, unless the last rotation already put the
 * newest into service: going back behind that would deliver a retired credential.
 */
export function stageVersions(
  document: StagedDocument,
  last: RotatedVersions | undefined,
): RotatedVersions | undefined {
  const known = document.versions.toSorted((a, b) => a - b);
  const newest = known.at(-1);
  if (document.written !== undefined) {
    return { current: newest ?? document.written, next: document.written };
  }
  if (newest === undefined) return undefined;
  const inService = last === undefined ? 0 : last.current;
  const before = known.at(-2);
  const current = newest > inService && before !== undefined ? before : newest;
  return { current, next: newest };
}

/** The state after `stage` of the given entries; entries outside the rotation keep their mark. */
export function stageRotation(
  state: RotationState | undefined,
  staged: Readonly<Record<string, RotatedVersions>>,
): RotationState {
  return { phase: 'stage', secrets: { ...state?.secrets, ...staged } };
}

/** The state after `promote` or `retire`, which move every entry of the overlap at once. */
export function advanceRotation(state: RotationState, phase: Exclude<RotationPhase, 'stage'>): RotationState {
  const secrets = Object.entries(state.secrets ?? {}).map(
    ([name, versions]) => [name, advanceVersions(versions, phase)] as const,
  );
  return { phase, secrets: Object.fromEntries(secrets) };
}

function advanceVersions(versions: RotatedVersions, phase: Exclude<RotationPhase, 'stage'>): RotatedVersions {
  if (!isOverlapping(versions)) return versions;
  if (phase === 'retire') return { current: versions.current };
  return versions.next === undefined ? versions : { current: versions.next, previous: versions.current };
}

/**
 * The state after an update of the spec: version numbers belong to a document, so an entry that is gone or points to
 * another document leaves the rotation.
 */
export function carryRotation(
  state: RotationState | undefined,
  previous: readonly SecretReference[],
  next: readonly SecretReference[],
): RotationState | undefined {
  if (state?.secrets === undefined) return state;
  const pathOf = new Map(previous.map((entry) => [entry.name, entry.vault_path]));
  const kept = next.flatMap(({ name, vault_path }) => {
    const versions =
      state.secrets !== undefined && Object.hasOwn(state.secrets, name) ? state.secrets[name] : undefined;
    return versions !== undefined && pathOf.get(name) === vault_path ? [[name, versions] as const] : [];
  });
  return { ...state, secrets: Object.fromEntries(kept) };
}
