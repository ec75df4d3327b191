import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Report, VolumeObservation } from '../../../core/protocol/agent-protocol.ts';
import type { SeenVolume } from '../../../core/contract/volume-seen.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { formatBytes } from '../../../core/model/quantity.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { isRecent } from '../../../core/plan/volumes/volume-copies.ts';
import type { Clock } from '../../clock.ts';
import type { Journal, PublishedEvent } from '../../journal/journal.ts';
import type { Stored } from '../../store/collection.ts';
import { tenantKey } from '../../store/keys.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { PlacedVolumes } from '../assignments/placed-volumes.ts';
import { BatchWriter } from '../reports/batch-writer.ts';
import type { AgentSession, SessionIdentity } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';
import type { VolumeSigns } from '../../runtime/volume-signs.ts';

/** Of one commit: etcd takes 128 operations. */
const MAX_OPERATIONS = 120;
/** Three guards, a put, and that it is nearly full or no longer. */
const OPERATIONS_EACH = 5;
/** A node that reports more at once is broken or hostile; its report still lists all. */
const MAX_DIVERGED_EVENTS = 8;
const CONFLICT_PAUSE_MS = 20;
/** As a share of its size: from there on it is told, and told to be over below the other one, so that what goes to and fro is told once. */
const NEARLY_FULL = 0.9;
const ROOM_AGAIN = 0.85;
/** Used bytes, ages and sequences move all the time: they are stored this often, and known in memory meanwhile. */
const MEASURED_EVERY_MS = 60_000;

interface Pending {
  readonly session: SessionIdentity;
  readonly seen: SeenVolume;
}

export interface VolumeReportsOptions {
  readonly store: Store;
  readonly placed: PlacedVolumes;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly signs: VolumeSigns;
  readonly log: Logger;
  /** Defaults to setTimeout. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** What decisions rest on; the rest are measurements. */
function standing({ measuredAt: _at, usedBytes: _used, copy, copies, ...seen }: SeenVolume): string {
  return canonicalJson({
    ...seen,
    copyEpoch: copy?.epoch,
    copies: copies?.map(({ nodeId, state, problem, ageMs }) => ({
      nodeId,
      state,
      problem,
      // The owner of the shard may be another process, which reads only what is stored.
      isRecent: state !== 'live' || isRecent(ageMs),
    })),
  });
}

/** What is not measured stays as it was. */
function isNearlyFull({ role, sizeBytes = 0, usedBytes }: VolumeObservation, before: boolean): boolean {
  if (role !== 'primary') return false;
  if (usedBytes === undefined || sizeBytes === 0) return before;
  return usedBytes / sizeBytes > (before ? ROOM_AGAIN : NEARLY_FULL);
}

function measures({ measuredAt: _at, ...seen }: SeenVolume): string {
  return canonicalJson(seen);
}

/** The only writer of volume observations; an unchanged one costs no commit, and measurements one a minute. */
export class VolumeReports {
  readonly #options: VolumeReportsOptions;
  readonly #newest = new Map<string, SeenVolume>();
  readonly #pending = new Map<string, Pending>();
  readonly #measuredMs = new Map<string, number>();
  readonly #writer: BatchWriter;

  constructor(options: VolumeReportsOptions) {
    this.#options = options;
    this.#writer = new BatchWriter({
      waiting: () => this.#pending.size > 0,
      commit: () => this.#commitBatch(),
      onFault: (error) =>
        options.log.warn({ err: error }, 'volume reports could not be stored; trying again'),
      ...(options.pause && { pause: options.pause }),
    });
  }

  /** The newest observation of a node, stored or not. */
  seen(tenantId: TenantId, volumeId: string, node: string): SeenVolume | undefined {
    const id = idOf('volume-observations', volumeId, node);
    return (
      this.#newest.get(tenantKey(tenantId, 'volume-observations', id)) ??
      this.#options.store.forTenant(tenantId).get('volume-observations', id)?.record
    );
  }

  take(session: AgentSession, report: Report, heardMs: number): void {
    const { tenantId, node } = session.identity;
    const { placed, clock } = this.#options;
    // An agent that says nothing of volumes keeps none, or is older than they are.
    if (report.volumes === undefined) return;
    const here = placed.on(tenantId, node);
    if (here.length === 0) return;
    const measuredAt = clock.now().toISOString();
    const said = new Map(report.volumes.map((observation) => [observation.volumeId, observation]));
    for (const stored of here) {
      const observation = said.get(stored.record.id);
      const seen = observation
        ? { ...observation, ...this.#fullness(session.identity, observation) }
        : this.#removed(session, report, stored.record);
      if (seen === undefined) continue;
      this.#note(session.identity, { ...seen, measuredAt }, heardMs);
    }
    this.#writer.write();
  }

  /** Its next session may be with another process: from then on what is stored is the newest. */
  forget({ identity: { tenantId, node } }: AgentSession): void {
    for (const { record } of this.#options.placed.on(tenantId, node))
      this.#newest.delete(
        tenantKey(tenantId, 'volume-observations', idOf('volume-observations', record.id, node)),
      );
    this.#options.signs.closed(tenantId, node);
  }

  #fullness({ tenantId, node }: SessionIdentity, said: VolumeObservation): Pick<SeenVolume, 'nearlyFull'> {
    const before = this.seen(tenantId, said.volumeId, node)?.nearlyFull === true;
    return isNearlyFull(said, before) ? { nearlyFull: true } : {};
  }

  /** It took up the order to remove, and what it keeps does not name the volume any more. */
  #removed(
    { identity: { node }, generation }: AgentSession,
    report: Report,
    { id, epoch, leaving, primaryNodeId, replicas }: VolumeRecord,
  ): (Omit<VolumeObservation, 'state'> & { readonly state: 'gone' }) | undefined {
    const ordered = leaving.some((name) => name === node);
    const kept = primaryNodeId === node || replicas.some(({ nodeId }) => nodeId === node);
    if (!ordered || kept || report.generation !== generation) return undefined;
    return { volumeId: id, role: 'replica', epoch, state: 'gone' };
  }

  #note(session: SessionIdentity, seen: SeenVolume, heardMs: number): void {
    const { tenantId, node } = session;
    const id = idOf('volume-observations', seen.volumeId, node);
    const key = tenantKey(tenantId, 'volume-observations', id);
    this.#newest.set(key, seen);
    this.#options.signs.reported(tenantId, node, seen, heardMs);
    const known =
      this.#pending.get(key)?.seen ??
      this.#options.store.forTenant(tenantId).get('volume-observations', id)?.record;
    if (known !== undefined && standing(known) === standing(seen)) {
      const due = heardMs - (this.#measuredMs.get(key) ?? Number.NEGATIVE_INFINITY) >= MEASURED_EVERY_MS;
      if (!due || measures(known) === measures(seen)) return;
    }
    this.#measuredMs.set(key, heardMs);
    this.#pending.set(key, { session, seen });
  }

  /**
   * Guarded by the volume, so that no observation of a deleted one is stored, and by the session, so that none hides a newer one.
   * One tenant's at a time, and what could not be stored goes to the end: what one tenant's nodes say never holds up another's.
   */
  async #commitBatch(): Promise<void> {
    const batch: (readonly [string, Pending])[] = [];
    const [first] = this.#pending.values();
    let whole: Transaction | undefined;
    let operations = 0;
    for (const [key, entry] of this.#pending) {
      const { tenantId, node } = entry.session;
      if (tenantId !== first?.session.tenantId) continue;
      const stored = this.#options.placed.find(tenantId, node, entry.seen.volumeId);
      const tenant = this.#options.store.forTenant(tenantId);
      const part = stored && expectSession(tenant, entry.session, tenant.transaction());
      if (stored === undefined || part === undefined) {
        this.#forget(key);
        continue;
      }
      const diverged = this.#newlyDiverged(entry);
      operations += OPERATIONS_EACH + diverged.length;
      if (operations > MAX_OPERATIONS) break;
      this.#addTo(part, entry, stored, diverged);
      whole = whole === undefined ? part : whole.include(part.toCommit());
      batch.push([key, entry]);
    }
    if (whole === undefined) return;
    for (const [key, entry] of batch) {
      this.#pending.delete(key);
      this.#pending.set(key, entry);
    }
    const result = await this.#options.store.commit(whole);
    if (result.ok) {
      for (const [key, entry] of batch) if (this.#pending.get(key) === entry) this.#pending.delete(key);
      return;
    }
    // The view knows the change that failed the guard before long.
    await (this.#options.pause ?? pause)(CONFLICT_PAUSE_MS);
  }

  #forget(key: string): void {
    this.#pending.delete(key);
    this.#newest.delete(key);
    this.#measuredMs.delete(key);
  }

  #newlyDiverged({ session: { tenantId, node }, seen }: Pending): NonNullable<SeenVolume['diverged']> {
    const id = idOf('volume-observations', seen.volumeId, node);
    const before = this.#options.store.forTenant(tenantId).get('volume-observations', id)?.record;
    const published = new Set(before?.diverged?.map(({ epoch }) => epoch));
    return (seen.diverged ?? []).filter(({ epoch }) => !published.has(epoch)).slice(0, MAX_DIVERGED_EVENTS);
  }

  #addTo(
    transaction: Transaction,
    { session: { tenantId, node }, seen }: Pending,
    stored: Stored<VolumeRecord>,
    diverged: NonNullable<SeenVolume['diverged']>,
  ): void {
    const id = idOf('volume-observations', seen.volumeId, node);
    const before = this.#options.store.forTenant(tenantId).get('volume-observations', id);
    transaction
      .expect('volumes', stored.id, stored)
      .expect('volume-observations', id, before)
      .put('volume-observations', id, seen);
    if (before?.record.nearlyFull !== seen.nearlyFull && seen.role === 'primary')
      this.#options.journal.event(transaction, tenantId, fullnessEvent(stored.record, node, seen));
    for (const { epoch, path } of diverged) {
      this.#options.journal.event(transaction, tenantId, {
        kind: 'volume.diverged',
        subject: { kind: 'Volume', name: seen.volumeId },
        message: `volume ${stored.record.name}: ${node} wrote bytes in epoch ${epoch} that no copy had; they are kept there, read-only, at ${path}`,
        details: { name: stored.record.name, nodeId: node, epoch, path },
      });
    }
  }

  close(): void {
    this.#writer.close();
  }
}

function fullnessEvent(
  { id, name }: VolumeRecord,
  node: string,
  { nearlyFull, usedBytes = 0, sizeBytes = 0 }: SeenVolume,
): PublishedEvent {
  const used = `${formatBytes(usedBytes)} of ${formatBytes(sizeBytes)} are used`;
  const message = nearlyFull
    ? `volume ${name} is nearly full on ${node}: ${used}; writes fail when nothing is left`
    : `volume ${name} has room again on ${node}: ${used}`;
  return {
    kind: nearlyFull ? 'volume.nearly_full' : 'volume.has_room',
    subject: { kind: 'Volume', name: id },
    message,
    details: { name, nodeId: node, usedBytes, sizeBytes },
  };
}
