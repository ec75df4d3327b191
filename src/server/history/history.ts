import type { Logger } from 'pino';
import { type TenantId, tenantId as tenantIdOf } from '../../core/model/ids.ts';
import { isOfDeployment } from '../../core/model/owner.ts';
import { errnoOf } from '../../core/model/values.ts';
import type { Clock } from '../clock.ts';
import type { Measurements, UsageSum } from '../runtime/measurements.ts';
import { idOf, segmentsOf } from '../store/record-ids.ts';
import type { Store } from '../store/store.ts';
import type { ViewChange } from '../store/view.ts';
import { COARSE, ROUND_MS } from './columns.ts';
import { readHistory, type SeriesName, writeHistory } from './history-file.ts';
import { type HistoryKind, KeptSeries } from './kept-series.ts';
import { Series, SERIES_BYTES } from './series.ts';
import type { Window } from './window.ts';

const KINDS: readonly HistoryKind[] = ['deployments', 'nodes'];

/** Others are answered after so much of a round. */
const SLICE_MS = 5;
const CORE = 10_000;

export interface HistoryOptions {
  readonly store: Store;
  readonly measurements: Measurements;
  /** Whether this process decides for the tenant. */
  readonly owns: (tenantId: TenantId) => boolean;
  readonly clock: Clock;
  readonly usageMs: number;
  readonly maxBytes: number;
  /** Where it is written down from time to time; absent: nowhere. */
  readonly file?: string;
  readonly log: Logger;
}

/** Of containers: what is measured of them together. */
function figures({ containers, cpu, memoryBytes, ...network }: UsageSum): readonly number[] {
  const traffic = (amount: number): number => (network.networked === 0 ? Number.NaN : amount);
  const cores = cpu / CORE;
  return [
    cores,
    cores,
    memoryBytes,
    memoryBytes,
    traffic(network.receivedPerSecond),
    traffic(network.sentPerSecond),
    containers,
  ];
}

/**
 * The last day of deployments and nodes in bounded memory: what agents take that are connected to this process, and how the records of
 * tenants stand that it decides for. Where there is no room for all, a tenant that has more gives way to one that has less.
 */
export class History {
  readonly #options: HistoryOptions;
  readonly #most: number;
  readonly #kept = new KeptSeries();
  #timer: NodeJS.Timeout | undefined;
  #leave: () => void = () => undefined;
  #round: Promise<void> | undefined;
  #sweptMs = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#most = Math.floor(options.maxBytes / SERIES_BYTES);
  }

  /** For metrics. */
  get bytes(): number {
    return this.#kept.count * SERIES_BYTES;
  }

  /** The store has been read. */
  async start(): Promise<void> {
    await this.#load();
    this.#leave = this.#options.store.view.onChange((change) => this.#heard(change));
    this.#plan();
  }

  #plan(): void {
    const { clock, usageMs, log } = this.#options;
    const waitMs = toMiddle(clock.now().getTime(), Math.min(ROUND_MS, usageMs));
    this.#timer = setTimeout(() => {
      this.#plan();
      this.#round ??= this.sample()
        .catch((error: unknown) => log.warn({ err: error }, 'a round of the history failed'))
        .finally(() => {
          this.#round = undefined;
        });
    }, waitMs).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#leave();
    await this.#round;
    await this.#save();
  }

  async #load(): Promise<void> {
    const { file, log } = this.#options;
    if (file === undefined || this.#most === 0) return;
    try {
      await readHistory(file, (saved) => {
        for (const kind of KINDS)
          if (
            saved.kind === kind &&
            this.#stamp(tenantIdOf(saved.tenantId), kind, saved.name) === saved.stamp
          )
            return this.#series(tenantIdOf(saved.tenantId), kind, saved.name);
        return undefined;
      });
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT')
        log.warn({ err: error, file }, 'the history of before cannot be read: a gap');
    }
  }

  /** Tells a record from a later one of the same name; undefined: there is none. */
  #stamp(of: TenantId, kind: HistoryKind, name: string): string | undefined {
    const record = this.#options.store.forTenant(of).get(kind, idOf(kind, name))?.record;
    return record?.createdAt;
  }

  *#named(): Generator<readonly [SeriesName, Series]> {
    for (const [of, own] of this.#kept)
      for (const kind of KINDS)
        for (const [name, series] of own[kind]) {
          const stamp = this.#stamp(of, kind, name);
          if (stamp !== undefined) yield [{ tenantId: of, kind, name, stamp }, series];
        }
  }

  async #save(): Promise<void> {
    const { file, log } = this.#options;
    if (file === undefined || this.#most === 0) return;
    try {
      await writeHistory(file, this.#named());
    } catch (error) {
      log.warn({ err: error, file }, 'the history cannot be written down');
    }
  }

  /** What is known here; undefined: nothing. */
  part(
    tenantId: TenantId,
    kind: HistoryKind,
    name: string,
    { level, from, to }: Window,
  ): number[][] | undefined {
    return this.#kept.of(tenantId)?.[kind].get(name)?.read(level, from, to);
  }

  /** One round over everything that is kept. */
  async sample(): Promise<void> {
    const { measurements, clock, owns, store } = this.#options;
    const nowMs = clock.now().getTime();
    const breath = new Breath();
    measurements.forgetSilent();
    for (const [tenantId, { byOwner }] of measurements.usage()) {
      // Asked for once: a tenant may have a hundred thousand of them, and no room for any.
      let isFull = false;
      for (const [owner, sum] of byOwner) {
        if (!isOfDeployment(owner)) continue;
        const known = this.#known(tenantId, 'deployments', owner);
        isFull ||= known === undefined && !this.#hasRoom(tenantId);
        const series = known ?? (isFull ? undefined : this.#series(tenantId, 'deployments', owner));
        series?.add('usage', nowMs, figures(sum));
        if (breath.isDue()) await breath.take();
      }
      if (breath.isDue()) await breath.take();
    }
    for (const { tenantId, node, sum } of measurements.nodes()) {
      this.#series(tenantId, 'nodes', node)?.add('usage', nowMs, figures(sum));
      if (breath.isDue()) await breath.take();
    }
    for (const { record } of store.listGlobal('tenants')) {
      if (owns(record.id)) await this.#sampleState(record.id, nowMs, breath);
      if (breath.isDue()) await breath.take();
    }
    if (nowMs - this.#sweptMs < COARSE.stepMs) return;
    const isFirst = this.#sweptMs === 0;
    this.#sweep(nowMs);
    if (!isFirst) await this.#save();
  }

  /** What comes or goes meanwhile is met or not, as it would be a moment earlier or later. */
  async #sampleState(tenantId: TenantId, nowMs: number, breath: Breath): Promise<void> {
    for (const kind of ['nodes', 'deployments'] as const) await this.#discover(tenantId, kind, breath);
    const tenant = this.#options.store.forTenant(tenantId);
    const own = this.#kept.of(tenantId);
    for (const [name, series] of own?.deployments ?? []) {
      const status = tenant.get('deployment-status', idOf('deployment-status', name))?.record;
      const { running = Number.NaN, desired = Number.NaN } = status ?? {};
      series.add('state', nowMs, [running, desired, series.failures]);
      series.failures = 0;
      if (breath.isDue()) await breath.take();
    }
    for (const series of own?.nodes.values() ?? []) {
      series.add('state', nowMs, [Number.NaN, Number.NaN, series.failures]);
      series.failures = 0;
      if (breath.isDue()) await breath.take();
    }
  }

  /** What has no series yet, in the order of names, as far as there is room. */
  async #discover(tenantId: TenantId, kind: HistoryKind, breath: Breath): Promise<void> {
    const stored = this.#options.store.view.tenant(tenantId, kind);
    if ((this.#kept.of(tenantId)?.[kind].size ?? 0) >= stored.size) return;
    for (const id of stored.ids()) {
      const isGone = stored.get(id) === undefined;
      if (!isGone && this.#series(tenantId, kind, segmentsOf(kind, id)[0]) === undefined) return;
      if (breath.isDue()) await breath.take();
    }
  }

  #known(tenantId: TenantId, kind: HistoryKind, name: string): Series | undefined {
    return this.#kept.of(tenantId)?.[kind].get(name);
  }

  /** Undefined: there is no room, or no such record any more, although its last containers still run. */
  #series(tenantId: TenantId, kind: HistoryKind, name: string): Series | undefined {
    const known = this.#known(tenantId, kind, name);
    if (known !== undefined) return known;
    if (this.#options.store.view.tenant(tenantId, kind).get(idOf(kind, name)) === undefined) return undefined;
    if (!this.#hasRoom(tenantId)) return undefined;
    if (this.#kept.count >= this.#most) this.#giveWay();
    const series = new Series();
    this.#kept.add(tenantId, kind, name, series);
    return series;
  }

  /** For one more of this tenant: also where another has more, which gives way then. */
  #hasRoom(tenantId: TenantId): boolean {
    return this.#kept.count < this.#most || this.#kept.most > this.#kept.sizeOf(tenantId) + 1;
  }

  /** The newest of the tenant that has most goes, nodes last. */
  #giveWay(): void {
    const tenantId = this.#kept.largest;
    const own = tenantId && this.#kept.of(tenantId);
    if (tenantId === undefined || own === undefined) return;
    const kind: HistoryKind = own.deployments.size > 0 ? 'deployments' : 'nodes';
    const { newest } = own[kind];
    if (newest !== undefined) this.#kept.drop(tenantId, kind, newest);
  }

  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [tenantId, own] of this.#kept)
      for (const kind of KINDS)
        for (const [name, series] of own[kind])
          if (series.isOver(nowMs)) this.#kept.drop(tenantId, kind, name);
  }

  #heard(change: ViewChange): void {
    switch (change.kind) {
      case 'deployments':
      case 'nodes':
        if (change.after === undefined)
          this.#kept.drop(change.tenantId, change.kind, segmentsOf(change.kind, change.id)[0]);
        return;
      case 'failures':
        this.#failed(change);
        return;
      default:
    }
  }

  /** Those that were not there before; of a deployment that was made anew, all are new. */
  #failed({ tenantId, id, before, after }: ViewChange<'failures'>): void {
    if (after === undefined || !this.#options.owns(tenantId)) return;
    const { deploymentId, kept } = after.record;
    const known = before?.record.deploymentId === deploymentId ? before.record.kept : [];
    for (const { instance, key, nodeId } of kept) {
      if (known.some((one) => one.instance === instance && one.key === key)) continue;
      for (const series of [
        this.#series(tenantId, 'deployments', segmentsOf('failures', id)[0]),
        this.#series(tenantId, 'nodes', nodeId),
      ])
        if (series !== undefined) series.failures += 1;
    }
  }
}

/** All control planes take their figures at one time, away from the edges of rounds: an agent is connected to one of them then. */
function toMiddle(nowMs: number, everyMs: number): number {
  const aheadMs = everyMs - ((nowMs + everyMs / 2) % everyMs);
  // A timer may be a little early: that was this round.
  return aheadMs < everyMs / 4 ? aheadMs + everyMs : aheadMs;
}

/** Lets others in when it was at work for a while. */
class Breath {
  #sinceMs = performance.now();

  isDue(): boolean {
    return performance.now() - this.#sinceMs >= SLICE_MS;
  }

  async take(): Promise<void> {
    await new Promise(setImmediate);
    this.#sinceMs = performance.now();
  }
}
