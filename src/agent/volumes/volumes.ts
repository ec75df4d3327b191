import { messageOf, optional } from '../../core/model/values.ts';
import type {
  AssignedVolume,
  VolumeMeasurement,
  Lease,
  LeaseRepeat,
  VolumeObservation,
} from '../../core/protocol/agent-protocol.ts';
import { AGE_STEP_MS } from './divergence-ages.ts';
import type { DivergenceRow } from './divergence-rows.ts';
import { isShortOfRoom } from './copy-room.ts';
import { VolumeLane } from './lane.ts';
import { LeaseLink } from './lease-link.ts';
import { Leases } from './leases.ts';
import type { MountState } from './mount-state.ts';
import { isLeased } from './plan.ts';
import { Preparations } from './preparations.ts';
import { ReceiveUnsafeError } from './receiving.ts';
import type { VolumeTools } from './steps.ts';
import {
  compareCopies,
  type Copy,
  type CopyName,
  copyText,
  isSameCopy,
  NoMetadataRoomError,
  type OpenVolume,
  ParentMissingError,
  type SnapshotCopies,
} from './volume-engine.ts';
import { VolumeMetadataFiles } from './volume-metadata.ts';
import { ensureWatchdog } from './watchdog-process.ts';

/** On a node that keeps copies: the newest, and the one before it, should the sender not have heard of the newest. */
const KEPT_COPIES = 2;
/** The control plane waits for 10 s until a copy is fetched. */
const ROOM_MS = 7_000;
const MEASURE_MS = 5_000;
/** How often a lease is asked for again while it lasts. */
const ASKED_PER_LEASE = 5;

export interface IncomingCopy {
  readonly volumeId: string;
  readonly volumeEpoch: number;
  readonly relayId: string;
  readonly copy: {
    readonly engine: string;
    readonly sequence: number;
    readonly parent?: number;
    readonly parentEpoch?: number;
    readonly takenAt: string;
  };
}

export class CopyRefusedError extends Error {
  readonly reason: string;
  readonly have: readonly string[] | undefined;
  constructor(reason: string, message: string, have?: readonly string[]) {
    super(message);
    this.reason = reason;
    this.have = have;
  }
}

export interface VolumesOptions extends Omit<VolumeTools, 'records' | 'leases' | 'onGone'> {
  /** Host of the control plane that the session is with; absent: leases are had in the session alone. */
  readonly leaseHost?: () => string;
  /** Fetches an image that what mounts the volume runs from. */
  readonly prepareImage: (volumeId: string, image: string) => Promise<void>;
  /** A report is due. */
  readonly onNews: () => void;
}

/** All volumes of this node. Absence from an assignment removes nothing: only `gone` does. */
export class Volumes {
  readonly leases: Leases;
  readonly #options: VolumesOptions;
  readonly #tools: VolumeTools;
  readonly #kept = new Map<string, VolumeLane>();
  readonly #receiving = new Set<string>();
  readonly #preparations: Preparations;
  readonly #reported = new Map<string, string>();
  /** Replicated ones of the last orders, without a session: another node may have taken over. */
  readonly #leaseless = new Set<string>();
  #measuring: NodeJS.Timeout | undefined;
  #aging: NodeJS.Timeout | undefined;
  #link: LeaseLink | undefined;
  #synced = false;

  constructor(options: VolumesOptions) {
    this.#options = options;
    this.leases = new Leases(options.dataDir);
    this.#preparations = new Preparations(options.prepareImage, () => options.onNews());
    this.#tools = {
      ...options,
      records: new VolumeMetadataFiles(options.dataDir),
      leases: this.leases,
      onChange: (id) => this.#tell(id),
      onGone: (id) => {
        this.#kept.delete(id);
        this.#reported.delete(id);
        options.onNews();
      },
    };
  }

  get engineNames(): readonly string[] {
    return this.#options.engines.map(({ name }) => name);
  }

  async load(): Promise<void> {
    await this.leases.load();
    this.#measuring = setInterval(() => {
      for (const kept of this.#kept.values()) void kept.measure();
    }, MEASURE_MS).unref();
    this.#aging = setInterval(() => {
      for (const kept of this.#kept.values()) if (kept.divergences().length > 0) kept.wake();
    }, AGE_STEP_MS).unref();
  }

  begin(): void {
    this.#synced = false;
    this.leases.begin();
  }

  /**
   * By the last orders, without a session: a volume that lives on this node alone is mounted, because no other node can have it. Whether a
   * replicated one was given to another node only the control plane knows.
   */
  recall(orders: readonly AssignedVolume[]): void {
    for (const order of orders) {
      if (order.role !== 'primary' || order.type !== 'volume') continue;
      if (order.class !== 'ephemeral') this.#leaseless.add(order.id);
      else if (!this.#kept.has(order.id)) this.#keep(order);
    }
  }

  assign(orders: readonly AssignedVolume[]): void {
    this.#synced = true;
    this.#leaseless.clear();
    const named = new Set(orders.map(({ id }) => id));
    // What is no longer assigned stays on disk and is no longer reported.
    for (const [id, kept] of this.#kept) {
      if (named.has(id) || kept.order.role === 'gone') continue;
      this.#kept.delete(id);
      void kept.end();
    }
    for (const order of orders) {
      const kept = this.#kept.get(order.id);
      if (kept !== undefined) kept.take(order);
      else this.#keep(order);
    }
    this.#preparations.take(orders);
    if (this.#leased().some(({ id }) => !this.leases.isValid(id))) this.#options.onNews();
  }

  #keep(order: AssignedVolume): void {
    try {
      const kept = new VolumeLane(order, this.#tools);
      this.#kept.set(order.id, kept);
      kept.wake();
    } catch (error) {
      this.#options.log.warn('ignored invalid volume', { problem: messageOf(error) });
    }
  }

  /** Counts only in a session whose assignment has arrived: before that it is not known what is leased. */
  async lease({ beat, repeat }: Lease): Promise<void> {
    if (!this.#synced) return;
    this.#repeatBy(repeat);
    await this.#extend(() => this.leases.extend(beat, this.#leased()));
  }

  /** One link at a time, of the newest session; it outlives the session until the next one has a lease. */
  #repeatBy(repeat: LeaseRepeat | undefined): void {
    if (repeat?.id === this.#link?.id) return;
    this.#link?.end();
    const shortestMs = Math.min(...this.#leased().map(({ leaseMs }) => leaseMs));
    const { leaseHost } = this.#options;
    this.#link =
      repeat === undefined || leaseHost === undefined || !Number.isFinite(shortestMs)
        ? undefined
        : new LeaseLink({
            host: leaseHost(),
            repeat,
            everyMs: Math.max(1, shortestMs / ASKED_PER_LEASE),
            onLease: (sentMs) => this.#repeated(sentMs),
          });
  }

  #repeated(sentMs: number): void {
    if (!this.#synced) return;
    this.#extend(() => this.leases.extendSince(sentMs, this.#leased())).catch((error: unknown) => {
      this.#options.log.error('a lease could not be recorded', { problem: messageOf(error) });
    });
  }

  async #extend(extension: () => Promise<void>): Promise<void> {
    const before = this.#leased().filter(({ id }) => !this.leases.isValid(id));
    await extension();
    for (const { id } of before) this.#kept.get(id)?.wake();
    if (this.leases.holdsAny) await ensureWatchdog(this.#options.dataDir);
  }

  #leased(): readonly { readonly id: string; readonly leaseMs: number }[] {
    return [...this.#kept.values()].flatMap(({ order }) =>
      isLeased(order) && order.leaseMs !== undefined ? [{ id: order.id, leaseMs: order.leaseMs }] : [],
    );
  }

  /** A container has gone: what waited for that may go on. */
  wake(): void {
    for (const kept of this.#kept.values())
      if (kept.order.role === 'gone' || (kept.order.role === 'primary' && kept.order.seal !== undefined))
        kept.wake();
  }

  /** Of volumes that are about to come here. */
  get preparedImages(): readonly string[] {
    return [...this.#kept.values()].flatMap(({ order }) =>
      order.role === 'replica' ? (order.prepare ?? []) : [],
    );
  }

  mountState(volumeId: string): MountState {
    const message = this.#leaseless.has(volumeId)
      ? `volume ${volumeId} is replicated and waits for its lease, which only the control plane gives`
      : `volume ${volumeId} is not assigned to this node`;
    return this.#kept.get(volumeId)?.mountState() ?? { kind: 'waits', reason: 'volume_not_ready', message };
  }

  async measureNow(volumeId: string): Promise<VolumeMeasurement> {
    const kept = this.#kept.get(volumeId);
    if (kept === undefined) throw new Error(`this node does not keep the volume ${volumeId}`);
    return await kept.measureNow();
  }

  /** Removes divergences whose time is over; with `dryRun` says which it would. */
  async discardDue(dryRun: boolean): Promise<readonly DivergenceRow[]> {
    const having = [...this.#kept.values()].filter((kept) => kept.divergences().length > 0);
    const rows = having.flatMap((kept) => kept.divergences());
    if (dryRun) return rows;
    const due = having.filter((kept) => kept.divergences().some(({ removed }) => removed));
    await Promise.all(due.map((kept) => kept.passed()));
    const left = new Set(having.flatMap((kept) => kept.divergences().map(({ path }) => path)));
    return rows.map((row) => {
      if (!left.has(row.path)) return { ...row, removed: true };
      const failed = row.removed ? ", and it could not be removed: see the agent's log" : '';
      return { ...row, removed: false, message: `${row.message}${failed}` };
    });
  }

  observations(): readonly VolumeObservation[] {
    return [...this.#kept.values()].map((kept) => ({
      ...kept.observation(),
      ...optional('prepared', this.#preparations.of(kept.order.id)),
    }));
  }

  /** What is reported at once; ages, sequences and sizes go with the next report. */
  #tell(volumeId: string): void {
    this.#options.onChange(volumeId);
    const seen = this.#kept.get(volumeId)?.observation();
    const { usedBytes: _used, copy, copies, ...rest } = seen ?? {};
    const states = copies?.map(({ nodeId, state, problem }) => [nodeId, state, problem]);
    const digest = JSON.stringify([rest, copy?.epoch, states]);
    if (this.#reported.get(volumeId) === digest) return;
    this.#reported.set(volumeId, digest);
    this.#options.onNews();
  }

  /** A copy from the primary of record, as the control plane relays it. */
  async receive(incoming: IncomingCopy, signal: AbortSignal): Promise<void> {
    const { volumeId, volumeEpoch, relayId, copy: header } = incoming;
    const kept = this.#kept.get(volumeId);
    if (kept === undefined) throw new CopyRefusedError('not_a_replica', 'this node does not keep the volume');
    const mayReceive = (): OpenVolume => {
      const volume = kept.receiving(header.engine, volumeEpoch);
      if ('reason' in volume) throw new CopyRefusedError(volume.reason, volume.message);
      return volume;
    };
    const { copies } = mayReceive();
    if (copies === undefined) throw new CopyRefusedError('engine_differs', 'this engine takes no copies');
    const copy: Copy = { epoch: volumeEpoch, sequence: header.sequence, takenAt: header.takenAt };
    const parent =
      header.parent === undefined ? undefined : { epoch: header.parentEpoch ?? 0, sequence: header.parent };
    const have = async (): Promise<readonly string[]> => (await copies.list()).map(copyText);
    if (this.#receiving.has(volumeId))
      throw new CopyRefusedError('receiving', 'another copy of the volume is being received', await have());
    this.#receiving.add(volumeId);
    const arriving = new Arriving();
    try {
      if (!(await kept.room.settled(ROOM_MS)) || signal.aborted)
        throw new CopyRefusedError('receiving', 'the room of dropped copies is not back yet', await have());
      if (!(await isHere(copies, copy, parent))) {
        // It may have become the primary meanwhile.
        mayReceive();
        const source = arriving.follow(this.#options.link.fetch(relayId, signal));
        await copies.receive(copy, parent, source);
      }
    } catch (error) {
      if (error instanceof CopyRefusedError) throw error;
      if (error instanceof ParentMissingError)
        throw new CopyRefusedError('parent_missing', error.message, await have());
      if (error instanceof ReceiveUnsafeError) throw new CopyRefusedError('receive_unsafe', error.message);
      const message = messageOf(error);
      // The same comes again, and no copy goes for it.
      if (error instanceof NoMetadataRoomError) {
        this.#reclaim(kept, copies);
        throw new CopyRefusedError('receive_failed', message, await have());
      }
      if (!arriving.isCut && isShortOfRoom(message)) {
        const isLast = parent === undefined && !('reason' in kept.receiving(header.engine, volumeEpoch));
        throw await this.#tooLarge(kept, copies, { epoch: volumeEpoch, isLast, message });
      }
      if (arriving.hasBegun) kept.room.reset();
      // Where the way was cut nothing is wrong with what is here.
      throw new CopyRefusedError('receive_failed', message, arriving.isCut ? await have() : undefined);
    } finally {
      this.#receiving.delete(volumeId);
    }
    kept.room.reset();
    // What came last is the newest, whatever it is called: a primary that lost its own copies may have begun to count anew.
    const listed = await copies.list();
    for (const beyond of listed.filter((one) => compareCopies(one, copy) > 0)) await copies.drop(beyond);
    const upTo = listed.filter((one) => compareCopies(one, copy) <= 0).toSorted(compareCopies);
    for (const old of upTo.slice(0, -KEPT_COPIES))
      await copies.drop(old).catch((error: unknown) =>
        // It goes with the next one: this one is here.
        this.#options.log.warn('an old copy of a volume could not be dropped', {
          volume: volumeId,
          problem: messageOf(error),
        }),
      );
    await kept.received();
  }

  /** `isLast`: it is whole, and this node still keeps a copy: what is here may go for it, where nothing else makes room. */
  async #tooLarge(
    kept: VolumeLane,
    copies: SnapshotCopies,
    {
      epoch,
      isLast,
      message,
    }: { readonly epoch: number; readonly isLast: boolean; readonly message: string },
  ): Promise<CopyRefusedError> {
    const isExhausted = copies.reclaim === undefined || kept.room.isExhausted(epoch);
    try {
      // What comes next builds on what is here again, unless that does not fit.
      if (!isExhausted)
        return new CopyRefusedError('receive_failed', message, (await copies.list()).map(copyText));
      if (isLast) {
        for (const old of await copies.list()) await copies.drop(old);
        await kept.received();
      }
      return new CopyRefusedError('receive_failed', message);
    } finally {
      this.#reclaim(kept, copies);
    }
  }

  #reclaim(kept: VolumeLane, copies: SnapshotCopies): void {
    if (copies.reclaim === undefined) return;
    kept.room.reclaim(copies.reclaim(), (error) =>
      this.#options.log.warn('the room of dropped copies is not back yet', {
        volume: kept.order.id,
        problem: messageOf(error),
      }),
    );
  }

  async end(): Promise<void> {
    clearInterval(this.#measuring);
    clearInterval(this.#aging);
    this.#preparations.end();
    this.#link?.end();
    await Promise.allSettled([...this.#kept.values()].map((kept) => kept.end()));
    for (const engine of this.#options.engines) engine.end?.();
  }
}

/** One of its name is the same one, or of a primary that counts anew: that one goes, and nothing that is built on names of before is taken. */
async function isHere(copies: SnapshotCopies, copy: Copy, parent: CopyName | undefined): Promise<boolean> {
  const same = (await copies.list()).find((one) => isSameCopy(one, copy));
  if (same === undefined) return false;
  if (same.takenAt === copy.takenAt) return true;
  if (parent !== undefined)
    throw new CopyRefusedError('parent_missing', `copy ${copyText(copy)} is here, of another moment`, []);
  await copies.drop(same);
  return false;
}

/** A copy on its way in. */
class Arriving {
  hasBegun = false;
  /** The way ended before the copy did. */
  isCut = false;

  async *follow(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of source) {
        this.hasBegun = true;
        yield chunk;
      }
    } catch (error) {
      this.isCut = true;
      throw error;
    }
  }
}
