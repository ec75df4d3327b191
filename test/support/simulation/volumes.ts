import type { AssignedVolume, VolumeObservation } from '../../../src/core/protocol/agent-protocol.ts';
import type { MountState } from '../../../src/agent/volumes/mount-state.ts';
import type { FakeTime } from './controllers.ts';

interface Kept {
  readonly assigned: AssignedVolume;
  /** Of a replica: the epoch of the newest copy that it took in. */
  readonly copyEpoch?: number;
}

export interface VolumesSurroundings {
  readonly time: FakeTime;
  /** Ends what writes the volume, as the watchdog does when a lease runs out, whether the agent lives or not. */
  readonly fence: (volumeId: string) => void;
  /** What another node keeps, if it can be reached. */
  readonly peer: (node: string) => SimulatedVolumes | undefined;
}

/** What a machine keeps of volumes: no bytes, but roles, epochs, copies and leases. It outlives the agent. */
export class SimulatedVolumes {
  readonly #around: VolumesSurroundings;
  readonly #kept = new Map<string, Kept>();
  #leasedUntilMs = 0;
  #cancelFence: () => void = () => undefined;

  constructor(around: VolumesSurroundings) {
    this.#around = around;
  }

  isDone(assigned: AssignedVolume): boolean {
    const kept = this.#kept.get(assigned.id)?.assigned;
    return assigned.role === 'gone'
      ? kept === undefined
      : JSON.stringify(kept) === JSON.stringify(assigned) || (kept?.epoch ?? 0) > assigned.epoch;
  }

  carryOut(assigned: AssignedVolume): void {
    const { id, role } = assigned;
    const before = this.#kept.get(id);
    if ((before?.assigned.epoch ?? 0) > assigned.epoch) return;
    if (role !== 'primary' || assigned.seal !== undefined) this.#around.fence(id);
    if (role === 'gone') this.#kept.delete(id);
    else this.#kept.set(id, { ...before, assigned });
  }

  /** A report that was sent then was answered by a lease. */
  leased(sentMs: number): void {
    const spans = [...this.#kept.values()].flatMap(({ assigned }) => assigned.leaseMs ?? []);
    if (spans.length === 0) return;
    const { time } = this.#around;
    this.#leasedUntilMs = Math.max(this.#leasedUntilMs, sentMs + Math.min(...spans));
    this.#cancelFence();
    this.#cancelFence = time.after(Math.max(1, this.#leasedUntilMs - time.monotonicMs()), () => {
      for (const { assigned } of this.#kept.values())
        if (!this.#mayWrite(assigned)) this.#around.fence(assigned.id);
    });
  }

  #mayWrite({ role, leaseMs, seal }: AssignedVolume): boolean {
    return (
      role === 'primary' &&
      seal === undefined &&
      (leaseMs === undefined || this.#around.time.monotonicMs() < this.#leasedUntilMs)
    );
  }

  state(id: string): MountState {
    const kept = this.#kept.get(id)?.assigned;
    if (kept !== undefined && this.#mayWrite(kept)) return { kind: 'ready', source: '' };
    const waits = kept === undefined || (kept.role === 'primary' && this.#leasedUntilMs === 0);
    return { kind: waits ? 'waits' : 'lost', reason: 'volume_not_ready', message: 'it may not be written' };
  }

  observations(): readonly VolumeObservation[] {
    return [...this.#kept.values()].map(({ assigned, copyEpoch }) => {
      const { id, role, epoch } = assigned;
      const seen = {
        volumeId: id,
        role: role === 'primary' ? 'primary' : 'replica',
        epoch,
        state: 'ready',
      } as const;
      if (role === 'primary') {
        const copies = this.#copies(assigned);
        const on = copies.flatMap(({ nodeId, state }) => (state === 'live' ? [nodeId] : []));
        const { seal: attempt } = assigned;
        return { ...seen, copies, ...(attempt !== undefined && { sealed: { attempt, sequence: 1, on } }) };
      }
      const { prepare: images } = assigned;
      return {
        ...seen,
        ...(images !== undefined && { prepared: { images } }),
        ...(copyEpoch !== undefined && {
          copy: { epoch: copyEpoch, sequence: 1, takenAt: '2026-01-01T00:00:00.000Z' },
        }),
      };
    });
  }

  /** A copy is made whenever it is told of. */
  #copies({ id, epoch, copiesTo = [] }: AssignedVolume): NonNullable<VolumeObservation['copies']> {
    return copiesTo.map((nodeId) => {
      const taken = this.#around.peer(nodeId)?.take(id, epoch) === true;
      return taken
        ? { nodeId, state: 'live', sequence: 1, ageMs: 500 }
        : { nodeId, state: 'syncing', problem: 'not taken' };
    });
  }

  /** False: of another epoch, or not kept here. */
  take(id: string, epoch: number): boolean {
    const kept = this.#kept.get(id);
    if (kept?.assigned.role !== 'replica' || kept.assigned.epoch !== epoch) return false;
    this.#kept.set(id, { ...kept, copyEpoch: epoch });
    return true;
  }
}
