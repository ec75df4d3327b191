import type { CredentialRecord, CredentialRotation, MintPolicy } from '../model/credential.ts';
import type { RotatedVersions } from '../model/deployment.ts';
import type { CredentialHooks } from '../model/rotation-hook.ts';
import { stepOf } from '../model/rotation-phase.ts';
import { parseAnchor, type SecretAnchor } from '../model/secret-anchor.ts';
import { type HoldingInstance, holds, isHolding, pruned } from './rotation.ts';

/** A document that Berth has no record of yet: whatever the store holds was written by another hand. */
export const UNKNOWN: CredentialRecord = { current: 0, known: 0 };

/**
 * A rotation that began before there were records of credentials is known from those who take part; `pins` are of every
 * deployment that reads the document.
 */
export function withPins(
  record: CredentialRecord,
  pins: readonly (RotatedVersions | undefined)[],
): CredentialRecord {
  const pin = pins.find((one) => one !== undefined);
  if (pin === undefined || record.current > 0 || record.rotation !== undefined) return record;
  const { next = pin.current } = pin;
  const previous = pin.previous ?? pin.current;
  const isPromoted = pins.every((one) => stepOf(one) === 'promoted');
  return {
    ...record,
    current: isPromoted ? next : previous,
    known: Math.max(record.known, next, previous),
    rotation: { phase: isPromoted ? 'promoted' : 'staged', next, previous },
  };
}

function isRefused({ refused, writing }: CredentialRecord, version: number): boolean {
  return refused?.includes(version) === true || version === (writing?.expected ?? Number.NaN) + 1;
}

/**
 * May a container outside a rotation receive this version? What is in service; or what another hand wrote after that was
 * settled, which is how a tool outside changes a credential. During a rotation such a version waits.
 */
export function isDeliverable(record: CredentialRecord, version: number): boolean {
  if (version === record.current) return true;
  return record.rotation === undefined && version > record.known && !isRefused(record, version);
}

/** The version that a container outside a rotation receives; 0: none. */
export function deliverableVersion(record: CredentialRecord, versions: readonly number[]): number {
  const found = versions.filter((version) => isDeliverable(record, version));
  return Math.max(0, ...found);
}

/** The newest version that another hand put into the store and that is not in service; undefined: there is none. */
export function waitingVersion(record: CredentialRecord, versions: readonly number[]): number | undefined {
  const { current, rotation } = record;
  const floor = Math.max(current, rotation?.next ?? 0);
  const found = versions.filter((version) => version > floor && !isRefused(record, version));
  return found.length === 0 ? undefined : Math.max(...found);
}

export interface StageFacts {
  /** Readable versions of the store, before this request wrote anything. */
  readonly versions: readonly number[];
  /** The version that was written for this rotation. */
  readonly written?: number;
}

/**
 * The overlap that a first `stage` begins. What was written becomes `next`, and what containers receive now stays in service.
 * Without it the newest version of another hand is taken; where there is none, the rotation renews nothing.
 */
export function beginRotation(
  record: CredentialRecord,
  { versions, written }: StageFacts,
): CredentialRotation {
  const delivered = deliverableVersion(record, versions);
  if (written !== undefined) {
    return { phase: 'staged', next: written, previous: delivered === 0 ? written : delivered, written: true };
  }
  const next = waitingVersion(record, versions) ?? delivered;
  return { phase: 'staged', next, previous: inService(record, versions, next) };
}

/** Of a document without a record, the version before the newest is taken for the one in service. */
function inService(record: CredentialRecord, versions: readonly number[], next: number): number {
  if (record.current > 0) return record.current;
  const before = versions.filter((version) => version < next);
  return before.length === 0 ? next : Math.max(...before);
}

export function stagedCredential(
  record: CredentialRecord,
  rotation: CredentialRotation,
  newest: number,
): CredentialRecord {
  return {
    ...record,
    current: rotation.previous,
    known: Math.max(record.known, newest, rotation.next),
    rotation,
  };
}

/** After a write that was accepted: what was written is in service. */
export function writtenCredential(
  { writing: _done, ...record }: CredentialRecord,
  version: number,
  minted: Readonly<Record<string, MintPolicy>>,
): CredentialRecord {
  const { minted: _before, ...rest } = record;
  return pruned({
    ...rest,
    current: version,
    known: version,
    ...(Object.keys(minted).length === 0 ? {} : { minted }),
  });
}

/** How the keys of a document are made, after a write that generated some of them and was sent others. */
export function mintedAfter(
  before: CredentialRecord['minted'],
  keys: Iterable<string>,
  generated: ReadonlyMap<string, MintPolicy>,
  sent: ReadonlySet<string>,
): Readonly<Record<string, MintPolicy>> {
  const policies: Record<string, MintPolicy> = {};
  for (const key of keys) {
    const kept =
      before !== undefined && Object.hasOwn(before, key) && !sent.has(key) ? before[key] : undefined;
    const policy = generated.get(key) ?? kept;
    if (policy !== undefined) policies[key] = policy;
  }
  return policies;
}

const STRICTNESS: readonly SecretAnchor['kind'][] = ['process', 'external', 'volume'];

/** How a credential with hooks is held on to: what they made valid outside changes with its rotation only. */
export const HOOKED = 'hooks';

/** What one consumer holds on to is not minted again by another; undefined: nobody says anything. */
export function strictestAnchor(
  anchors: Iterable<string | undefined>,
  hooks?: CredentialHooks,
): string | undefined {
  if (hooks !== undefined) return HOOKED;
  let strictest: string | undefined;
  let rank = -1;
  for (const anchor of anchors) {
    const kind = anchor === undefined ? undefined : parseAnchor(anchor)?.kind;
    const here = kind === undefined ? -1 : STRICTNESS.indexOf(kind);
    if (here > rank) [strictest, rank] = [anchor, here];
  }
  return strictest;
}

/**
 * `process`: what was generated lives as long as the containers that have it. Once it was handed out and nobody holds it any
 * more, the next container gets other material; whatever runs at the same time shares one version.
 */
export function isSpent(
  record: CredentialRecord,
  inService: number,
  anchor: string | undefined,
  others: readonly HoldingInstance[],
): boolean {
  if (anchor !== 'process' || record.rotation !== undefined || record.minted === undefined) return false;
  if (record.handed !== inService || record.current !== inService) return false;
  return !others.some(
    (one) => isHolding(one) && (one.versions === undefined ? one.isApart !== true : holds(one, inService)),
  );
}
