import { PLATFORM_CONTAINER_DEFAULTS } from '../../../src/core/model/container-defaults.ts';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import {
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  type Hello,
  type Report,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { NodeName } from '../../../src/core/model/ids.ts';
import { DEFAULT_REGIONS } from '../../../src/core/scheduler/regions.ts';
import { createControllers, type Controllers } from '../../../src/server/reconcile/index.ts';
import { type FakeTime, hashSpec, TENANT } from './controllers.ts';
import { parseSchedule } from '../../../src/server/cron.ts';
import type { Clock } from '../../../src/server/clock.ts';
import { decodeAgentMessage } from '../../../src/server/agents/sessions/agent-message.ts';
import { Assignments } from '../../../src/server/agents/assignments/assignments.ts';
import { JobLogs } from '../../../src/server/agents/reports/job-logs.ts';
import { PlacedInstances } from '../../../src/server/agents/assignments/placed-instances.ts';
import { PlacedVolumes } from '../../../src/server/agents/assignments/placed-volumes.ts';
import { VolumeReports } from '../../../src/server/agents/volumes/volume-reports.ts';
import { Reports } from '../../../src/server/agents/reports/reports.ts';
import { AgentSession } from '../../../src/server/agents/sessions/session.ts';
import { recordSession } from '../../../src/server/agents/sessions/session-record.ts';
import type { Ids } from '../../../src/server/ids.ts';
import { Journal } from '../../../src/server/journal/journal.ts';
import { TenantClusters } from '../../../src/server/placement/tenant-clusters.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { Store, type TenantStore } from '../../../src/server/store/store.ts';
import { StoreView } from '../../../src/server/store/view.ts';
import type { FaultyKv } from './faulty-kv.ts';

const PING_MS = 5000;
const FAILED_AFTER_MS = 15_000;
const OPEN = 1;

/** The end of a connection that an agent holds. */
export interface AgentEnd {
  readonly node: string;
  /** An empty text is a ping. */
  toAgent(text: string): void;
  closed(): void;
}

export interface PlaneSurroundings {
  readonly time: FakeTime;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: FaultyKv;
  /** Whether an instance that a node asks about may go; replaced to see whether the laws notice. */
  readonly mayRemove: (placed: PlacedInstances, node: string, instanceId: string) => boolean;
  readonly onHeard: (node: string) => void;
  /** In per cent of one core, by instance. */
  readonly measured: (nodes: readonly string[]) => ReadonlyMap<string, number>;
  readonly onProblem: (problem: string) => void;
}

/** Problems are looked at by the laws, not read. */
const SILENT_LOG = new Proxy({}, { get: () => () => undefined }) as Logger;

/** One process of the control plane without its HTTP side: controllers, assignments, reports and sessions as they are. */
export class SimulatedPlane {
  readonly #around: PlaneSurroundings;
  readonly #journal: Journal;
  readonly store: Store;
  readonly tenant: TenantStore;
  readonly startedMs: number;
  readonly #clusters: TenantClusters;
  readonly controllers: Controllers;
  readonly #placed: PlacedInstances;
  readonly #assignments: Assignments;
  readonly #reports: Reports;
  readonly #jobLogs: JobLogs;
  readonly #volumes: PlacedVolumes;
  readonly #volumeReports: VolumeReports;
  readonly #sessions = new Map<string, { readonly session: AgentSession; readonly end: AgentEnd }>();
  #cancelSweep: () => void = () => undefined;
  alive = true;

  private constructor(around: PlaneSurroundings, store: Store) {
    this.#around = around;
    this.store = store;
    this.tenant = store.forTenant(TENANT);
    this.startedMs = around.time.monotonicMs();
    this.#journal = new Journal(around.clock, around.ids);
    this.#clusters = new TenantClusters(store, { regions: DEFAULT_REGIONS, residencyEnforcement: true });
    this.#placed = new PlacedInstances(store.view);
    this.#volumes = new PlacedVolumes(store.view);
    const log = SILENT_LOG;
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        around.time.after(ms, resolve);
      });
    this.#reports = new Reports({
      store,
      placed: this.#placed,
      journal: this.#journal,
      log,
      pause,
    });
    this.#jobLogs = new JobLogs({
      store,
      placed: this.#placed,
      session: (_tenantId, node) => this.#sessions.get(node)?.session,
      log,
      pause,
    });
    this.#assignments = new Assignments({
      containerDefaults: PLATFORM_CONTAINER_DEFAULTS,
      store,
      placed: this.#placed,
      volumes: this.#volumes,
      session: (_tenantId, node) => this.#sessions.get(node)?.session,
      log,
    });
    this.controllers = createControllers({
      regions: DEFAULT_REGIONS,
      volumeLeaseMs: 15_000,
      store,
      clock: around.clock,
      timers: around.time,
      ids: around.ids,
      journal: this.#journal,
      clusters: this.#clusters,
      hashSpec,
      owns: () => this.alive,
      parseSchedule,
      scaling: {
        measured: async (_tenantId, nodes) => {
          const atMs = around.clock.monotonicMs();
          return new Map(
            [...around.measured(nodes)].map(([id, cpuPercent]) => [id, { cpuPercent, atMs }] as const),
          );
        },
        intervalMs: 15_000,
        maxReplicas: 100,
      },
      metrics: { decided: () => undefined, reconciled: () => undefined, committed: () => undefined },
      log: (problem, details) => around.onProblem(`${problem} ${JSON.stringify(details)}`),
    });
    this.#volumeReports = new VolumeReports({
      store,
      placed: this.#volumes,
      journal: this.#journal,
      clock: around.clock,
      signs: this.controllers.volumeSigns,
      log,
      pause,
    });
  }

  static async start(around: PlaneSurroundings): Promise<SimulatedPlane> {
    const { kv } = around.store;
    const store = new Store(kv, await StoreView.open(kv, { onProblem: around.onProblem }));
    const plane = new SimulatedPlane(around, store);
    await plane.controllers.start();
    plane.#sweep();
    return plane;
  }

  /** kill -9: what was sent to the store may have arrived, nothing else happens. Connections end with the process. */
  async kill(): Promise<void> {
    if (!this.alive) return;
    this.alive = false;
    this.#around.store.cut();
    this.#cancelSweep();
    this.#assignments.close();
    this.#reports.close();
    this.#jobLogs.close();
    this.#volumeReports.close();
    const held = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { session, end } of held) {
      session.streams.closeAll();
      end.closed();
    }
    await this.controllers.stop();
    this.#clusters.close();
    this.store.view.close();
  }

  /** The handshake, whose signature is left out. Undefined: refused, dial again. */
  async dial(end: AgentEnd, facts: Pick<Hello, 'capacity'>): Promise<number | undefined> {
    const node = this.tenant.get('nodes', idOf('nodes', end.node))?.record;
    if (node === undefined || !this.alive) return undefined;
    const hello: Hello = {
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      node: node.name,
      epoch: node.sessionEpoch + 1,
      signature: '',
      agentVersion: '0.0.0',
      engine: { kind: 'docker', version: '28.0.0' },
      platform: 'linux/amd64',
      labels: {},
      volumeEngines: ['btrfs'],
      features: ['volume_seal', 'volume_prepare'],
      ...facts,
    };
    const dependencies = { store: this.store, journal: this.#journal, regions: DEFAULT_REGIONS };
    const record = await recordSession(dependencies, TENANT, node, hello).catch(() => undefined);
    if (record === undefined || 'code' in record || !this.alive) return undefined;
    const socket = {
      readyState: OPEN,
      bufferedAmount: 0,
      send: (text: string) => end.toAgent(text),
      ping: () => end.toAgent(''),
      close: () => undefined,
      terminate: () => undefined,
    };
    const identity = {
      tenantId: TENANT,
      node: end.node as NodeName,
      tokenId: '',
      publicKey: '',
      epoch: record.sessionEpoch,
    };
    const session = new AgentSession(socket as unknown as WebSocket, identity, this.#around.clock);
    this.#sessions.get(end.node)?.end.closed();
    this.#sessions.set(end.node, { session, end });
    this.#around.onHeard(end.node);
    this.controllers.liveness.sessionOpened(TENANT, end.node as NodeName);
    return record.sessionEpoch;
  }

  /** After the welcome was sent. */
  opened(end: AgentEnd): void {
    const held = this.#sessions.get(end.node);
    if (held?.end !== end) return;
    this.#assignments.push(held.session);
    this.#jobLogs.opened(held.session);
  }

  receive(end: AgentEnd, text: string): void {
    const held = this.#sessions.get(end.node);
    if (held?.end !== end || !this.alive) return;
    const { session } = held;
    session.heard();
    if (text.length > MAX_FRAME_BYTES) throw new Error('the agent sent more than a frame');
    const message = decodeAgentMessage(text);
    if (message === undefined) throw new Error(`the control plane does not understand ${text.slice(0, 200)}`);
    const { epoch } = session.identity;
    if (message.type === 'report' && message.epoch === epoch) {
      this.#around.onHeard(end.node);
      this.controllers.liveness.beat(TENANT, end.node as NodeName);
      this.#assignments.pushDue(session);
      this.#reports.take(session, message);
      this.#takeVolumes(session, message);
    } else if (message.type === 'ask' && message.epoch === epoch) {
      const remove = message.instanceIds.filter((id) => this.#around.mayRemove(this.#placed, end.node, id));
      session.send({ type: 'verdict', epoch, remove });
    } else if (message.type === 'data') session.streams.data(message);
    else if (message.type === 'end') session.streams.end(message);
  }

  #takeVolumes(session: AgentSession, report: Report): void {
    const { node, epoch } = session.identity;
    const { volumeSigns } = this.controllers;
    const heardMs = this.#around.clock.monotonicMs();
    this.#volumeReports.take(session, report, heardMs);
    if (report.beat === undefined || !this.#volumes.holdsLease(TENANT, node)) return;
    if (!volumeSigns.mayLease(TENANT, node)) return;
    volumeSigns.leased(TENANT, node, heardMs);
    session.send({ type: 'lease', epoch, beat: report.beat });
  }

  closed(end: AgentEnd): void {
    const held = this.#sessions.get(end.node);
    if (held?.end !== end) return;
    held.session.streams.closeAll();
    this.#volumeReports.forget(held.session);
    this.#sessions.delete(end.node);
    this.controllers.liveness.sessionClosed(TENANT, end.node as NodeName);
  }

  #sweep(): void {
    this.#cancelSweep = this.#around.time.after(PING_MS, () => {
      const nowMs = this.#around.clock.monotonicMs();
      for (const { session, end } of this.#sessions.values()) {
        if (nowMs - session.heardMs > FAILED_AFTER_MS) {
          this.closed(end);
          end.closed();
        } else session.signOfLife();
      }
      this.#sweep();
    });
  }
}

export function askedOfPlacement(placed: PlacedInstances, node: string, instanceId: string): boolean {
  return placed.find(TENANT, node, instanceId) === undefined;
}
