import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { ArchiveRecord, VersionOrigin } from '../../core/model/event.ts';
import { pinOf, snapshotOf, type SpecSnapshot } from '../../core/model/spec-snapshot.ts';
import { isRecord } from '../../core/model/values.ts';
import type { Stored } from './collection.ts';
import { joinId } from './keys.ts';
import { idOf } from './record-ids.ts';
import type { Transaction } from './transaction.ts';
import { UnreadDeployment } from './unread-deployment.ts';

/**
 * The record of a deployment says all that its newest archive version and the snapshot of its spec say. So neither is stored with it
 * (`newest` is there then): the view makes the snapshot, and who reads the archive the version. A write that replaces or removes such a record stores both of
 * the record that goes, in the same commit. A record without `newest` has both beside it, as records of format 1 have.
 */

/** The format of the store from which a record may stand for both. */
export const DERIVED_ROWS_FORMAT = 2;

const VERSION_DIGITS = 9;

export function archiveId(deployment: string, version: number): string {
  return idOf('archives', deployment, String(version).padStart(VERSION_DIGITS, '0'));
}

export function archiveRecord(
  { version, spec, specHash, imageDigest }: DeploymentRecord,
  { change, at, by }: VersionOrigin,
): ArchiveRecord<DeploymentSpec> {
  return { version, change, at, by, spec, specHash, ...pinOf(imageDigest) };
}

export function standsForRows(record: unknown): boolean {
  return isRecord(record) && record['newest'] !== undefined;
}

/** The id of the snapshot that a record stands for; undefined: that is stored. */
export function derivedSnapshotId(stored: Stored<DeploymentRecord>): string | undefined {
  const { id } = stored;
  if (stored instanceof UnreadDeployment) return `${id}/${stored.specHash}`;
  const { newest, specHash } = stored.record;
  return newest === undefined ? undefined : `${id}/${joinId(specHash)}`;
}

/** Made when it is first read; of many nobody ever does. Its bytes are those of the record. */
class UnreadSnapshot implements Stored<SpecSnapshot> {
  readonly id: string;
  readonly modRevision: number;
  readonly createRevision: number;
  readonly bytes = 0;
  readonly #of: Stored<DeploymentRecord>;
  #record: SpecSnapshot | undefined;

  constructor(id: string, of: Stored<DeploymentRecord>) {
    this.id = id;
    this.modRevision = of.modRevision;
    this.createRevision = of.createRevision;
    this.#of = of;
    this.#record = undefined;
  }

  get record(): SpecSnapshot {
    return (this.#record ??= snapshotOf(this.#of.record));
  }
}

/** `isLarge`: made each time that it is read, as the record is. */
export function derivedSnapshot(
  stored: Stored<DeploymentRecord>,
  isLarge: boolean,
): Stored<SpecSnapshot> | undefined {
  const id = derivedSnapshotId(stored);
  if (id === undefined) return undefined;
  if (!isLarge || stored instanceof UnreadDeployment) return new UnreadSnapshot(id, stored);
  const { modRevision, createRevision } = stored;
  return {
    id,
    modRevision,
    createRevision,
    bytes: 0,
    get record() {
      return snapshotOf(stored.record);
    },
  };
}

/** Whether a snapshot of the view is the current spec of its deployment, and not a row of its own. */
export function isDerivedSnapshot({ bytes }: Stored<SpecSnapshot>): boolean {
  return bytes === 0;
}

interface Replaced {
  readonly previous: DeploymentRecord | undefined;
  /** Without its `newest`, or with that of the record that it replaces. */
  readonly record: DeploymentRecord;
}

/** The only way to store a deployment with a new version. The caller guards the record. */
export function putVersion(
  transaction: Transaction,
  { previous, record }: Replaced,
  origin: VersionOrigin,
): void {
  const { name } = record.spec;
  const id = idOf('deployments', name);
  if (transaction.derivesRows) {
    transaction.put('deployments', id, { ...record, newest: origin });
    if (previous !== undefined) keepRows(transaction, previous, record.specHash);
    return;
  }
  transaction.put('deployments', id, withoutNewest(record));
  putSnapshot(transaction, record);
  transaction.putCold('archives', archiveId(name, record.version), archiveRecord(record, origin));
  if (previous !== undefined) keepRows(transaction, previous, record.specHash);
}

/** A change of a record that is no version of its own, e.g. the number of replicas that the autoscaler chose. */
export function putUnversioned(
  transaction: Transaction,
  { previous, record }: Replaced & { readonly previous: DeploymentRecord },
): void {
  const id = idOf('deployments', record.spec.name);
  // The version is what the record says as long as its spec is the same.
  if (record.spec === previous.spec || previous.newest === undefined) {
    transaction.put('deployments', id, record);
    return;
  }
  transaction.put('deployments', id, withoutNewest(record));
  putSnapshot(transaction, record);
  keepRows(transaction, previous, record.specHash);
}

/** With what only it has. Instances run the spec until they are stopped, and its history stays. */
export function removeDeployment(transaction: Transaction, previous: DeploymentRecord): void {
  const { name } = previous.spec;
  for (const kind of ['deployments', 'deployment-status', 'canaries'] as const)
    transaction.delete(kind, idOf(kind, name));
  keepRows(transaction, previous, undefined);
}

/** What a record stood for, stored now that it goes. `specHash`: of the record that takes its place, which sees to that snapshot. */
function keepRows(transaction: Transaction, previous: DeploymentRecord, specHash: string | undefined): void {
  const { newest, version, spec } = previous;
  if (newest === undefined) return;
  transaction.putCold('archives', archiveId(spec.name, version), archiveRecord(previous, newest));
  if (previous.specHash !== specHash) putSnapshot(transaction, previous);
}

function putSnapshot(transaction: Transaction, record: DeploymentRecord): void {
  transaction.put('specs', idOf('specs', record.spec.name, record.specHash), snapshotOf(record));
}

function withoutNewest({ newest: _newest, ...record }: DeploymentRecord): DeploymentRecord {
  return record;
}
