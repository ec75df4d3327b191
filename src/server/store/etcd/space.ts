import { setTimeout as sleep } from 'node:timers/promises';
import { KvCompactedError } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import type { KeySpace } from './key-space.ts';
import { METHODS, type WireAlarm } from './messages.ts';
import { readHead } from './range.ts';

export const ALARM = { noSpace: 1, corrupt: 2 } as const;

const GET = 0;
const DEACTIVATE = 2;
const DEFRAGMENT_TIMEOUT_MS = 60_000;
const JITTER_MS = 500;
const RETRY_MS = 10_000;
/** Below this share of the size at the alarm, room was made. */
const SHRUNK_TO = 0.9;
/** Fruitless rounds after which the alarm is disarmed on trial, because the quota itself may have been raised. */
const ROUNDS_BEFORE_TRIAL = 3;

export async function readAlarms(cluster: EtcdCluster): Promise<readonly WireAlarm[]> {
  const answer = await cluster.call(METHODS.alarm, { action: GET }, { repeatable: true });
  return answer.alarms;
}

/**
 * etcd refuses writes once its file reaches the quota, and stays so until an operator compacts, defragments and disarms.
 * History is only needed by watchers that lag, and those re-list (`onLost`), so giving it up is safe; current values
 * are never touched. Several processes may do this at once: each step is idempotent and reads the alarm first.
 */
export class SpaceRecovery {
  readonly #cluster: EtcdCluster;
  readonly #keys: KeySpace;
  readonly #closing: AbortSignal;
  #running = false;

  constructor(cluster: EtcdCluster, keys: KeySpace, closing: AbortSignal) {
    this.#cluster = cluster;
    this.#keys = keys;
    this.#closing = closing;
  }

  /** Returns at once. It goes on until the alarm is gone or the store is closed. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
    });
  }

  async #run(): Promise<void> {
    let waitMs = Math.random() * JITTER_MS;
    for (let round = 1; !this.#closing.aborted; round += 1) {
      try {
        await sleep(waitMs, undefined, { signal: this.#closing });
        if (await this.#attempt(round)) return;
      } catch {
        // A member is away or closing is under way: the alarm stays visible in status(), and the next round decides.
      }
      waitMs = RETRY_MS / 2 + (Math.random() * RETRY_MS) / 2;
    }
  }

  async #attempt(round: number): Promise<boolean> {
    const alarms = await this.#noSpaceAlarms();
    if (alarms.length === 0) return true;
    const before = await this.greatestSize();
    await compactTo(this.#cluster, await readHead(this.#cluster, this.#keys));
    // One after the other: a member does not answer while it rewrites its file.
    for (const member of this.#cluster.members) {
      await this.#cluster
        .callMember(member, METHODS.defragment, {}, DEFRAGMENT_TIMEOUT_MS)
        .catch(() => undefined);
    }
    const shrunk = (await this.greatestSize()) < before * SHRUNK_TO;
    if (!shrunk && round % ROUNDS_BEFORE_TRIAL !== 0) return false;
    for (const { memberID } of alarms) {
      await this.#cluster.call(
        METHODS.alarm,
        { action: DEACTIVATE, memberID, alarm: ALARM.noSpace },
        { repeatable: true },
      );
    }
    return (await this.#noSpaceAlarms()).length === 0;
  }

  async #noSpaceAlarms(): Promise<readonly WireAlarm[]> {
    return (await readAlarms(this.#cluster)).filter(({ alarm }) => alarm === ALARM.noSpace);
  }

  /** Of the database files of all members. */
  async greatestSize(): Promise<number> {
    const { members, timeoutMs } = this.#cluster;
    const sizes = await Promise.allSettled(
      members.map((member) => this.#cluster.callMember(member, METHODS.status, {}, timeoutMs)),
    );
    return Math.max(...sizes.map((size) => (size.status === 'fulfilled' ? size.value.dbSize.toNumber() : 0)));
  }
}

/** Resolves when the space is free inside the file, so that defragmenting finds it. */
export async function compactTo(cluster: EtcdCluster, revision: number): Promise<void> {
  try {
    await cluster.call(METHODS.compact, { revision, physical: true }, { repeatable: true });
  } catch (error) {
    // Someone else compacted as far or farther.
    if (!(error instanceof KvCompactedError)) throw error;
  }
}
