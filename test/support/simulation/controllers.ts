import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../src/core/model/canonical.ts';
import type { DeploymentRecord, DeploymentSpec, Workload } from '../../../src/core/model/deployment.ts';
import type { EventRecord } from '../../../src/core/model/event.ts';
import type { InstanceId, NodeName, TenantId } from '../../../src/core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../src/core/model/instance.ts';
import type { NodeRecord } from '../../../src/core/model/node.ts';
import { DEFAULT_REGIONS } from '../../../src/core/scheduler/regions.ts';
import type { Clock } from '../../../src/server/clock.ts';
import { createIds } from '../../../src/server/ids.ts';
import { Journal } from '../../../src/server/journal/journal.ts';
import { TenantClusters } from '../../../src/server/placement/tenant-clusters.ts';
import { putVersion, removeDeployment } from '../../../src/server/store/deployment-rows.ts';
import { idOf, prefixOf } from '../../../src/server/store/record-ids.ts';
import type { Kv } from '../../../src/server/store/kv.ts';
import { createMemoryKv } from '../../../src/server/store/memory.ts';
import { Store, type TenantStore } from '../../../src/server/store/store.ts';
import type { Transaction } from '../../../src/server/store/transaction.ts';
import { StoreView } from '../../../src/server/store/view.ts';
import { parseSchedule } from '../../../src/server/cron.ts';
import {
  type Controllers,
  type ControllersOptions,
  createControllers,
} from '../../../src/server/reconcile/index.ts';
import type { Timers } from '../../../src/server/reconcile/timers.ts';

/** A tenant with controllers, agents that can be told what to see, and time that moves when the test says so. For tests only. */

export const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
/** The origin of versions that a simulated request writes. */
export const AS_ADMITTED = { change: 'updated', at: '', by: 'sim' } as const;
const EPOCH_MS = Date.UTC(2026, 0, 1);

export class FakeTime implements Clock, Timers {
  #nowMs = 1000;
  #wallSkewMs = 0;
  readonly #due = new Set<{ readonly atMs: number; readonly task: () => void }>();

  now(): Date {
    return new Date(EPOCH_MS + this.#nowMs + this.#wallSkewMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** The wall clock jumps; the monotonic one does not. */
  jumpWall(ms: number): void {
    this.#wallSkewMs += ms;
  }

  /** The process does not run for a while: nothing fires, then everything is late. */
  suspend(ms: number): void {
    this.#nowMs += ms;
  }

  after(ms: number, task: () => void): () => void {
    const entry = { atMs: this.#nowMs + ms, task };
    this.#due.add(entry);
    return () => this.#due.delete(entry);
  }

  /** Runs what is due up to the given moment, one by one, letting `settle` finish in between. */
  async advance(ms: number, settle: () => Promise<void>): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#earliest();
      if (next === undefined || next.atMs > untilMs) break;
      this.#due.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.task();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** Of several that are due at the same moment, the one that was asked for first. */
  #earliest(): { readonly atMs: number; readonly task: () => void } | undefined {
    let earliest: { readonly atMs: number; readonly task: () => void } | undefined;
    for (const entry of this.#due) if (earliest === undefined || entry.atMs < earliest.atMs) earliest = entry;
    return earliest;
  }
}

type SentSpec = Partial<DeploymentSpec> & { readonly name: string };

export type Behaviour = (instance: InstanceRecord, spec: Workload) => Partial<InstanceObservation>;

const WORKING: Behaviour = (_instance, spec) => ({
  phase: 'running',
  ...(spec.healthCheck && { health: 'healthy' }),
});

const BEAT_MS = 5000;
const MEASURED_MS = 15_000;

export class Simulation {
  readonly kv: Kv;
  readonly time = new FakeTime();
  readonly ids = createIds(this.time);
  store: Store;
  tenant: TenantStore;
  clusters: TenantClusters;
  controllers: Controllers;
  readonly problems: string[] = [];
  /** Nodes whose agent is up and reachable. */
  readonly online = new Set<NodeName>();
  behaviour: Behaviour = WORKING;
  /** From the next restart on; false: a control plane of an earlier format takes part. */
  derivesRows = true;
  /** In per cent of one core; undefined: not measured. */
  load: (instance: InstanceRecord) => number | undefined = () => undefined;
  /** How containers really are, whether the control plane can see it or not. */
  readonly containers = new Map<
    InstanceId,
    { readonly node: NodeName; readonly observation: InstanceObservation }
  >();

  private constructor(kv: Kv, store: Store) {
    this.kv = kv;
    this.store = store;
    this.tenant = store.forTenant(TENANT);
    this.clusters = this.#createClusters();
    this.controllers = this.#createControllers();
  }

  /** `commitWrites`: of a store that takes more in one commit than every store does. */
  static async start(
    nodes: readonly string[] = ['n1', 'n2', 'n3'],
    commitWrites?: number,
  ): Promise<Simulation> {
    const memory = createMemoryKv();
    const kv =
      commitWrites === undefined
        ? bounded(memory, MAX_OPERATIONS)
        : bounded({ ...memory, commitWrites }, commitWrites);
    const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
    const simulation = new Simulation(kv, store);
    await simulation.controllers.start();
    for (const node of nodes) await simulation.enrol(node);
    await simulation.settle();
    return simulation;
  }

  #createClusters(): TenantClusters {
    return new TenantClusters(this.store, { regions: DEFAULT_REGIONS, residencyEnforcement: true });
  }

  #createControllers(overrides: Partial<ControllersOptions> = {}): Controllers {
    return createControllers({
      regions: DEFAULT_REGIONS,
      volumeLeaseMs: 15_000,
      store: this.store,
      clock: this.time,
      timers: this.time,
      ids: this.ids,
      journal: new Journal(this.time, this.ids),
      clusters: this.clusters,
      hashSpec,
      owns: () => true,
      parseSchedule,
      scaling: {
        measured: async (_tenantId, nodes) => new Map(nodes.flatMap((node) => [...this.#measured(node)])),
        intervalMs: MEASURED_MS,
        maxReplicas: 100,
      },
      metrics: { decided: () => undefined, reconciled: () => undefined, committed: () => undefined },
      log: (problem, details) => this.problems.push(`${problem} ${JSON.stringify(details)}`),
      ...overrides,
    });
  }

  /** Stops the controllers and starts new ones that know nothing but the store. */
  async restart(overrides: Partial<ControllersOptions> = {}): Promise<void> {
    await this.controllers.stop();
    this.clusters.close();
    this.store.view.close();
    const view = await StoreView.open(this.kv, { onProblem: () => undefined });
    this.store = new Store(this.kv, view, () => this.derivesRows);
    this.tenant = this.store.forTenant(TENANT);
    this.clusters = this.#createClusters();
    this.controllers = this.#createControllers(overrides);
    await this.controllers.start();
    await this.settle();
  }

  /** A second process over the same store that also believes it decides for the tenant, and hears late. The answer stops it. */
  async rival(): Promise<() => Promise<void>> {
    const kv = hearingLate(this.kv);
    const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
    const clusters = new TenantClusters(store, { regions: DEFAULT_REGIONS, residencyEnforcement: true });
    const controllers = this.#createControllers({ store, clusters });
    await controllers.start();
    return async () => {
      await controllers.stop();
      clusters.close();
      store.view.close();
    };
  }

  async stop(): Promise<void> {
    await this.controllers.stop();
    this.clusters.close();
    this.store.view.close();
    await this.kv.close();
  }

  async enrol(name: string, altered: Partial<NodeRecord> = {}): Promise<void> {
    const record: NodeRecord = {
      name: name as NodeName,
      tenantId: TENANT,
      claims: [TENANT],
      schedulable: true,
      labels: {},
      capacity: { cpu: 8, memoryBytes: 2 ** 34 },
      platform: 'linux/amd64',
      engine: { kind: 'docker', version: '28' },
      agentVersion: '0',
      publicKey: '',
      sessionEpoch: 1,
      createdAt: '',
      ...altered,
    };
    await this.write((transaction) => transaction.put('nodes', idOf('nodes', name), record));
    this.connect(name);
  }

  connect(name: string): void {
    this.online.add(name as NodeName);
    this.controllers.liveness.sessionOpened(TENANT, name as NodeName);
  }

  /** The network to the node is cut: its containers go on. */
  cut(name: string): void {
    this.online.delete(name as NodeName);
  }

  async alterNode(name: string, altered: Partial<NodeRecord>): Promise<void> {
    const node = this.tenant.get('nodes', idOf('nodes', name));
    if (node === undefined) throw new Error(`no node ${name}`);
    await this.write((transaction) =>
      transaction.put('nodes', idOf('nodes', name), { ...node.record, ...altered }),
    );
    await this.settle();
  }

  /** What admission stores on POST and PUT. */
  async apply(spec: SentSpec): Promise<void> {
    const transaction = this.tenant.transaction();
    this.#put(transaction, spec);
    await this.tenant.commit(transaction);
    await this.settle();
  }

  /** What admission stores on POST where the controllers plan in the same commit; whether they did, and whether it was stored. */
  async create(spec: SentSpec): Promise<{ readonly planned: boolean; readonly stored: boolean }> {
    const transaction = this.tenant
      .transaction()
      .expect('deployments', idOf('deployments', spec.name), undefined);
    const ended = this.controllers.planFirst(this.#put(transaction, spec), transaction);
    let stored = false;
    try {
      ({ ok: stored } = await this.tenant.commit(transaction));
    } finally {
      ended?.(stored);
    }
    return { planned: ended !== undefined, stored };
  }

  #put(transaction: Transaction, spec: SentSpec): DeploymentRecord {
    const id = idOf('deployments', spec.name);
    const previous = this.tenant.get('deployments', id)?.record;
    const next: DeploymentSpec = {
      kind: 'Deployment',
      image: 'shop/web:1',
      replicas: 1,
      secrets: [],
      secretsVersion: 0,
      ...previous?.spec,
      ...spec,
    };
    const record: DeploymentRecord = {
      id: previous?.id ?? this.ids.next('deployment'),
      tenantId: TENANT,
      spec: next,
      specHash: hashSpec(next),
      version: (previous?.version ?? 0) + 1,
      createdAt: '',
      updatedAt: '',
    };
    putVersion(transaction, { previous, record }, AS_ADMITTED);
    return record;
  }

  /** What admission stores for a canary. */
  async startCanary(name: string, changes: Partial<DeploymentSpec>, replicas = 1): Promise<void> {
    const id = idOf('deployments', name);
    const stable = this.tenant.get('deployments', id)?.record;
    if (stable === undefined) throw new Error(`no deployment ${name}`);
    const spec = { ...stable.spec, ...changes };
    const specHash = hashSpec(spec);
    const { specHash: stableSpecHash } = stable;
    const canary = { spec, specHash, replicas, stableSpecHash, createdAt: '', createdBy: '' };
    await this.write((transaction) =>
      transaction.put('canaries', id, canary).put('specs', idOf('specs', name, specHash), spec),
    );
    await this.settle();
  }

  /** What admission stores for a promotion. */
  async promote(name: string): Promise<void> {
    const id = idOf('deployments', name);
    const stable = this.tenant.get('deployments', id)?.record;
    const canary = this.tenant.get('canaries', id)?.record;
    if (stable === undefined || canary === undefined) throw new Error(`no canary of ${name}`);
    const { spec, specHash } = canary;
    const promoted = { ...stable, spec, specHash, version: stable.version + 1 };
    await this.write((transaction) => {
      putVersion(transaction.delete('canaries', id), { previous: stable, record: promoted }, AS_ADMITTED);
    });
    await this.settle();
  }

  async remove(name: string): Promise<void> {
    const stored = this.tenant.get('deployments', idOf('deployments', name));
    if (stored !== undefined) await this.write((transaction) => removeDeployment(transaction, stored.record));
    await this.settle();
  }

  async write(fill: (transaction: ReturnType<TenantStore['transaction']>) => unknown): Promise<void> {
    const transaction = this.tenant.transaction();
    fill(transaction);
    await this.tenant.commit(transaction);
  }

  instances(deployment: string): readonly InstanceRecord[] {
    return this.tenant
      .collection('instances')
      .listUnder(prefixOf('instances', deployment))
      .map(({ record }) => record);
  }

  wanted(deployment: string): readonly InstanceRecord[] {
    return this.instances(deployment).filter((record) => record.wanted === 'run');
  }

  status(deployment: string) {
    return this.tenant.get('deployment-status', idOf('deployment-status', deployment))?.record;
  }

  async events(kind?: string): Promise<readonly EventRecord[]> {
    const { entries } = await this.tenant.rangeCold('events');
    return entries.map(({ record }) => record).filter((event) => kind === undefined || event.kind === kind);
  }

  /** Agents act and controllers decide until nothing moves any more at this moment. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      const before = await this.kv.head();
      await new Promise((resolve) => setImmediate(resolve));
      await this.#act();
      await new Promise((resolve) => setImmediate(resolve));
      quiet = (await this.kv.head()) === before ? quiet + 1 : 0;
    }
  }

  /** Moves time in steps of a heartbeat. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BEAT_MS) {
      await this.time.advance(Math.min(left, BEAT_MS), () => this.settle());
      for (const node of this.online) this.controllers.liveness.beat(TENANT, node);
      await this.settle();
    }
  }

  #measured(node: NodeName): ReadonlyMap<string, { readonly cpuPercent: number; readonly atMs: number }> {
    const atMs = this.time.monotonicMs();
    return new Map(
      this.clusters.instancesOn(TENANT, node).flatMap((record) => {
        const cpuPercent = this.online.has(node) ? this.load(record) : undefined;
        return cpuPercent === undefined ? [] : [[record.id, { cpuPercent, atMs }] as const];
      }),
    );
  }

  /** Every reachable agent compares its instances with its containers, as a real one would. */
  async #act(): Promise<void> {
    const transaction = this.tenant.transaction();
    for (const { id, record } of this.tenant.list('instances')) {
      if ((transaction.toCommit().puts ?? []).length === MAX_OPERATIONS) break;
      if (!this.online.has(record.nodeId)) continue;
      const observation = this.#observe(record);
      if (observation === undefined) continue;
      const known = this.tenant.get('observations', id)?.record;
      if (canonicalJson(known ?? null) !== canonicalJson(observation))
        transaction.put('observations', id, observation);
    }
    if ((transaction.toCommit().puts ?? []).length > 0) await this.tenant.commit(transaction);
  }

  #observe(record: InstanceRecord): InstanceObservation | undefined {
    if (record.wanted === 'stop') {
      this.containers.delete(record.id);
      return { id: record.id, phase: 'removed' };
    }
    const spec = this.tenant.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
    if (spec === undefined) return undefined;
    const observation: InstanceObservation = {
      id: record.id,
      phase: 'pending',
      containerId: `c-${record.id}`,
      specHash: record.specHash,
      secretsVersion: record.secretsVersion,
      ...this.behaviour(record, spec),
    };
    this.containers.set(record.id, { node: record.nodeId, observation });
    return observation;
  }
}

const LATE_TURNS = 6;

/** The same store, whose changes arrive in order some turns of the event loop after they were made. */
function hearingLate(kv: Kv): Kv {
  const late = (turns: number, task: () => void): void => {
    setImmediate(() => (turns === 0 ? task() : late(turns - 1, task)));
  };
  return {
    ...kv,
    watch: (prefix, after, { onBatch, onLost }) =>
      kv.watch(prefix, after, { onBatch: (batch) => late(LATE_TURNS, () => onBatch(batch)), onLost }),
  };
}

/** What etcd takes in one transaction, held against every commit of every test. */
const MAX_OPERATIONS = 128;

function bounded(kv: Kv, most: number): Kv {
  const commit = kv.commit.bind(kv);
  kv.commit = async (asked) => {
    const written = (asked.puts?.length ?? 0) + (asked.deletes?.length ?? 0);
    if (Math.max(written, asked.guards?.length ?? 0) > most)
      throw new Error(`${written} operations in a commit`);
    return commit(asked);
  };
  return kv;
}

export function hashSpec({ replicas: _replicas, update: _update, ...hashed }: Workload): string {
  return createHash('sha256').update(canonicalJson(hashed)).digest('hex').slice(0, 16);
}
