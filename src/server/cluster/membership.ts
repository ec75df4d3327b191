import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { globalKey } from '../store/keys.ts';
import type { StoreFormat } from '../store/format.ts';
import type { Kv, LeaseId, Put } from '../store/kv.ts';
import { type ControlPlaneRecord, encodeRecord } from '../store/records.ts';
import { StoreFormatError } from '../store/record-codec.ts';
import { requireNeighbours, runningControlPlanes } from './running.ts';

export interface MembershipOptions {
  readonly kv: Kv;
  readonly id: string;
  readonly record: ControlPlaneRecord;
  readonly format: StoreFormat;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Resolves when the process sees everything that was stored up to the revision; false: it does not follow. */
  readonly sees: (revision: number) => Promise<boolean>;
  /** The lease was lost although the process lives. It joins again when this has resolved, or took too long. */
  readonly onLost: () => Promise<void>;
  /** What is too long for that; 5 s unless told. */
  readonly lostMs?: number;
  /** The store does not take this release any more, which no waiting changes. */
  readonly onRefused: (error: StoreFormatError) => void;
  readonly log: (problem: string, details: Readonly<Record<string, unknown>>) => void;
}

/** Renewed often enough that two lost answers in a row do not end it. */
const RENEWALS = 4;
const RETRY_MS = 250;
/** Agents of a process that joins no more seem silent to the others: longer than this nothing keeps it away. */
const LOST_MS = 5_000;

/**
 * This process among the control planes of one store: a record held by a lease. A process that sees the record gone knows that the
 * holder has stopped acting: by its own monotonic clock it knows no later than the store does that the lease may have ended.
 */
export class Membership {
  readonly id: string;
  readonly #options: MembershipOptions;
  readonly #stopping = new AbortController();
  readonly #stopped = once(this.#stopping.signal, 'abort');
  #record: ControlPlaneRecord;
  #lease: LeaseId | undefined;
  #certainUntilMs = 0;
  /** Who relied on the process being gone did so before this revision, and it has seen what came of that. */
  #isSeen = false;
  #loop: Promise<void> | undefined;
  #lost = 0;
  #rejoining = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.id = options.id;
    this.#record = options.record;
  }

  /** The lease that everything this process holds hangs on. */
  get lease(): LeaseId | undefined {
    return this.#lease;
  }

  /** How often the lease ended although the process lived. */
  get lost(): number {
    return this.#lost;
  }

  /** The store has said that the lease is over, and it has not been asked for another one yet. */
  get isRejoining(): boolean {
    return this.#rejoining;
  }

  /** Whether the lease surely has not ended: counted from when the last renewal was sent, not from when it was answered. */
  get certain(): boolean {
    return this.#isSeen && this.#options.clock.monotonicMs() < this.#certainUntilMs;
  }

  async join(): Promise<void> {
    await this.#register();
    this.#loop ??= this.#renew();
  }

  /** Takes everything along that hangs on the lease. */
  async leave(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    this.#certainUntilMs = 0;
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease !== undefined) await this.#options.kv.revokeLease(lease).catch(() => undefined);
  }

  /** What the others read of this process, e.g. the digest of a renewed certificate. */
  async describe(change: Partial<ControlPlaneRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    const lease = this.#lease;
    if (lease !== undefined) await this.#options.kv.commit({ puts: [this.#written(lease)] });
  }

  async #register(): Promise<void> {
    const { kv, leaseMs, clock, sees } = this.#options;
    const sentMs = clock.monotonicMs();
    const lease = await kv.grantLease(leaseMs);
    const revision = await this.#enter(lease).catch(async (error: unknown) => {
      await kv.revokeLease(lease).catch(() => undefined);
      throw error;
    });
    this.#lease = lease;
    this.#certainUntilMs = sentMs + leaseMs;
    this.#isSeen = await sees(revision);
  }

  /** Refused where the store's format is too new for this release, or one of the others is more than one release away. */
  async #enter(lease: LeaseId): Promise<number> {
    const { kv, format } = this.#options;
    return await format.join(kv, this.#written(lease), async () => {
      const others = (await runningControlPlanes(kv)).filter(({ id }) => id !== this.id);
      requireNeighbours(this.#record, others);
    });
  }

  #written(lease: LeaseId): Put {
    return { key: globalKey('control-planes', this.id), value: encodeRecord(this.#record), lease };
  }

  async #renew(): Promise<void> {
    const { leaseMs, clock, log, onRefused } = this.#options;
    const { signal } = this.#stopping;
    const everyMs = leaseMs / RENEWALS;
    let waitMs = everyMs;
    while (!signal.aborted) {
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // An answer that came late, after a pause of this process, says little about now.
      const dueMs = clock.monotonicMs() + everyMs;
      try {
        waitMs = (await this.#renewed()) ? Math.max(0, dueMs - clock.monotonicMs()) : 0;
      } catch (error) {
        if (error instanceof StoreFormatError) return onRefused(error);
        log('the lease of this control plane could not be renewed', { problem: String(error) });
        waitMs = RETRY_MS;
      }
    }
  }

  async #renewed(): Promise<boolean> {
    const { kv, clock, leaseMs, log, sees, onLost, lostMs = LOST_MS } = this.#options;
    if (this.#lease === undefined) {
      await this.#register().finally(() => {
        this.#rejoining = false;
      });
      return true;
    }
    const sentMs = clock.monotonicMs();
    if (await kv.keepAlive(this.#lease)) {
      this.#certainUntilMs = sentMs + leaseMs;
      this.#isSeen ||= await sees(await kv.head());
      return true;
    }
    this.#lost += 1;
    this.#lease = undefined;
    this.#certainUntilMs = 0;
    this.#isSeen = false;
    this.#rejoining = true;
    log('the lease of this control plane expired; its shards were reassigned', {});
    const bounded = new AbortController();
    const tooLong = pause(lostMs, undefined, { signal: bounded.signal }).catch(() => undefined);
    await Promise.race([onLost(), this.#stopped, tooLong]).finally(() => bounded.abort());
    return false;
  }
}
