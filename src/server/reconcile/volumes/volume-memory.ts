import type { CopyAges } from '../../../core/protocol/peer-messages.ts';
import type { SeenVolume } from '../../../core/contract/volume-seen.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { fencedAfterMs, type VolumeRecord } from '../../../core/model/volume.ts';
import { isRecent } from '../../../core/plan/volumes/volume-copies.ts';
import type { CopyAge } from '../../../core/plan/volumes/volume-facts.ts';
import type { RepeatedLeases } from '../../runtime/volume-signs.ts';

interface Heard {
  readonly seen: SeenVolume;
  readonly heardMs: number;
}

interface PastAges extends CopyAges {
  readonly heardMs: number;
}

/** Which copies are within the limit of live; a change of it triggers a reconcile. */
function withinLimit({ copies = [] }: SeenVolume): string {
  return copies.map(({ nodeId, state, ageMs }) => `${nodeId}:${state !== 'live' || isRecent(ageMs)}`).join();
}

/**
 * Leases and measurements on this process's monotonic clock. A process that has just started, or that has just begun to decide for a
 * tenant, does not know which leases others gave: every node may have got one at that very moment.
 */
export class VolumeMemory {
  readonly #repeated: RepeatedLeases | undefined;
  readonly #startedMs: number;
  readonly #adoptedMs = new Map<TenantId, number>();
  readonly #leasedMs = new Map<string, number>();
  readonly #withheld = new Map<string, Set<string>>();
  /** By node, then by volume: of its live session with this process; and of its last one, here or elsewhere. */
  readonly #heard = new Map<string, Map<string, Heard>>();
  /** By volume: the step of its planned move and when this process first saw it. */
  readonly #steps = new Map<string, { readonly step: string; readonly sinceMs: number }>();
  readonly #past = new Map<string, ReadonlyMap<string, PastAges>>();

  constructor(startedMs: number, repeated?: RepeatedLeases) {
    this.#startedMs = startedMs;
    this.#repeated = repeated;
  }

  adopted(tenantId: TenantId, nowMs: number): void {
    this.#adoptedMs.set(tenantId, nowMs);
  }

  mayLease(tenantId: TenantId, node: NodeName): boolean {
    return !this.#withheld.has(`${tenantId}/${node}`);
  }

  leased(tenantId: TenantId, node: NodeName, heardMs: number): void {
    const key = `${tenantId}/${node}`;
    this.#leasedMs.set(key, Math.max(heardMs, this.#leasedMs.get(key) ?? heardMs));
  }

  /** No lease to the node until the promotion of the volume is stored or given up. */
  withhold(tenantId: TenantId, node: NodeName, volumeId: string): void {
    const key = `${tenantId}/${node}`;
    this.#withheld.set(key, (this.#withheld.get(key) ?? new Set()).add(volumeId));
    const lastMs = this.#repeated?.stop(tenantId, node);
    if (lastMs !== undefined) this.leased(tenantId, node, lastMs);
  }

  release(tenantId: TenantId, node: NodeName, volumeId: string): void {
    const key = `${tenantId}/${node}`;
    const volumes = this.#withheld.get(key);
    volumes?.delete(volumeId);
    if (volumes?.size === 0) this.#withheld.delete(key);
  }

  fencedAtMs(tenantId: TenantId, record: VolumeRecord): number {
    const node = record.primaryNodeId;
    const leased = this.#leasedMs.get(`${tenantId}/${node ?? ''}`) ?? this.#startedMs;
    const repeated = (node === undefined ? undefined : this.#repeated?.lastMs(tenantId, node)) ?? leased;
    return (
      Math.max(leased, repeated, this.#adoptedMs.get(tenantId) ?? this.#startedMs) + fencedAfterMs(record)
    );
  }

  /** True: needs a reconcile that no stored change would trigger. */
  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): boolean {
    const key = `${tenantId}/${node}`;
    const volumes = this.#heard.get(key) ?? new Map<string, Heard>();
    const before = volumes.get(seen.volumeId);
    this.#heard.set(key, volumes.set(seen.volumeId, { seen, heardMs }));
    return before !== undefined && withinLimit(before.seen) !== withinLimit(seen);
  }

  /** From then on what is stored is the newest: its next session may be with another process. */
  closed(tenantId: TenantId, node: NodeName): void {
    const key = `${tenantId}/${node}`;
    const volumes = this.#heard.get(key);
    if (volumes === undefined) return;
    this.#heard.delete(key);
    this.#past.set(key, agesOf(volumes));
  }

  /** Of a session with another process, which says how old they are at some moment after `askedMs`. */
  learned(tenantId: TenantId, node: NodeName, ages: readonly CopyAges[], askedMs: number): void {
    this.#past.set(
      `${tenantId}/${node}`,
      new Map(ages.map((one) => [one.volumeId, { ...one, heardMs: askedMs }])),
    );
  }

  /** As old as they are now. */
  ages(tenantId: TenantId, node: NodeName, nowMs: number): readonly CopyAges[] {
    return [...this.#agesOn(`${tenantId}/${node}`).values()].map(({ volumeId, epoch, copies, heardMs }) => ({
      volumeId,
      epoch,
      copies: copies.map(({ nodeId, ageMs }) => ({ nodeId, ageMs: ageMs + nowMs - heardMs })),
    }));
  }

  #agesOn(key: string): ReadonlyMap<string, PastAges> {
    const live = this.#heard.get(key);
    return live === undefined ? (this.#past.get(key) ?? new Map<string, PastAges>()) : agesOf(live);
  }

  seen(tenantId: TenantId, volumeId: string, node: NodeName): SeenVolume | undefined {
    return this.#heard.get(`${tenantId}/${node}`)?.get(volumeId)?.seen;
  }

  copyAge(tenantId: TenantId, record: VolumeRecord, node: NodeName): CopyAge | undefined {
    const key = `${tenantId}/${record.primaryNodeId ?? ''}`;
    const known = this.#agesOn(key).get(record.id);
    if (known?.epoch !== record.epoch) return undefined;
    const ageMs = known.copies.find(({ nodeId }) => nodeId === node)?.ageMs;
    return ageMs === undefined ? undefined : { ageMs, heardMs: known.heardMs };
  }

  stepSinceMs(tenantId: TenantId, { id, switchover }: VolumeRecord, nowMs: number): number {
    const key = `${tenantId}/${id}`;
    if (switchover === undefined) {
      this.#steps.delete(key);
      return nowMs;
    }
    const step = `${switchover.attempt} ${switchover.step}`;
    const known = this.#steps.get(key);
    if (known?.step === step) return known.sinceMs;
    this.#steps.set(key, { step, sinceMs: nowMs });
    return nowMs;
  }

  forget(tenantId: TenantId, volumeId: string, node: NodeName): void {
    this.#heard.get(`${tenantId}/${node}`)?.delete(volumeId);
  }
}

function agesOf(volumes: ReadonlyMap<string, Heard>): ReadonlyMap<string, PastAges> {
  return new Map(
    [...volumes].map(([volumeId, { seen, heardMs }]) => {
      const copies = (seen.copies ?? []).flatMap(({ nodeId, ageMs }) =>
        ageMs === undefined ? [] : [{ nodeId, ageMs }],
      );
      return [volumeId, { volumeId, epoch: seen.epoch, copies, heardMs }] as const;
    }),
  );
}
