import type { RotatedVersions } from './deployment.ts';
import type { CredentialHooks, RotationHooks } from './rotation-hook.ts';

/** How a key is made: random text, or one of several values in turn. Kept in Berth's own record of the credential alone. */
export interface MintPolicy {
  readonly bytes?: number;
  readonly encoding?: string;
  readonly length?: number;
  readonly charset?: string;
  readonly alternate?: readonly string[];
}

/**
 * `staged`: `previous` is in service and `next` delivered beside it to every participant. `promoted`: every consumer has
 * both, `next` is in service. `retiring`: a consumer gave the old one up, so it may be gone and there is no way back.
 */
export interface CredentialRotation {
  readonly phase: 'staged' | 'promoted' | 'retiring';
  readonly next: number;
  readonly previous: number;
  /** `next` was written for this rotation, and not found in the store. */
  readonly written?: boolean;
  readonly hooks?: RotationHooks;
}

export function nextOfCredential(rotation: CredentialRotation | undefined): 'stage' | 'promote' | 'retire' {
  if (rotation === undefined) return 'stage';
  return rotation.phase === 'staged' ? 'promote' : 'retire';
}

/**
 * A version is about to be written to a store that does not share our commits. Until the request is accepted, the version
 * after `expected` may be its, and is delivered to nobody.
 */
export interface WritingMark {
  readonly expected: number;
  readonly by: string;
  /** An earlier write with the same `expected` was left without an answer: what is found there is not trusted. */
  readonly doubtful?: boolean;
}

/** What Berth knows of one document of the secrets store: numbers and policies, never material. */
export interface CredentialRecord {
  /** What containers receive outside a rotation. */
  readonly current: number;
  /** The newest version known when `current` was settled; a newer one was written by another hand. */
  readonly known: number;
  /** Versions above `current` that were written for requests that were not accepted. */
  readonly refused?: readonly number[];
  readonly writing?: WritingMark;
  readonly rotation?: CredentialRotation;
  readonly minted?: Readonly<Record<string, MintPolicy>>;
  readonly hooks?: CredentialHooks;
  /** A request about secrets put it there, for others to read; absent: a workload brought it along, or another hand wrote it. */
  readonly shared?: boolean;
  /** The version that a container of a `process` credential has had last. */
  readonly handed?: number;
}

/** Which versions an instance's container was given, by `<namespace>/<label>`. */
export interface SecretDeliveries {
  readonly versions: Readonly<Record<string, RotatedVersions>>;
}
