import type { Assignment, Verdict } from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceStep } from '../../../src/agent/containers/step.ts';
import type { DeploymentRecord } from '../../../src/core/model/deployment.ts';
import type { InstanceRecord } from '../../../src/core/model/instance.ts';
import { type JobName, jobOwner, ownerOf } from '../../../src/core/model/owner.ts';
import type { NodeLiveness, NodeRecord } from '../../../src/core/model/node.ts';
import type { RolloutRecord, StoredStatus } from '../../../src/core/model/rollout.ts';
import { standsStill, type VolumeRecord } from '../../../src/core/model/volume.ts';
import { LIVENESS_TIMINGS } from '../../../src/core/plan/liveness/node-liveness.ts';
import { parseHotKey, tenantKey } from '../../../src/server/store/keys.ts';
import { idOf, prefixOf } from '../../../src/server/store/record-ids.ts';
import type { Commit } from '../../../src/server/store/kv.ts';
import { decodeRecord } from '../../../src/server/store/records.ts';
import type { TenantStore } from '../../../src/server/store/store.ts';
import type { ViewChange } from '../../../src/server/store/view.ts';
import type { SimulatedEngine } from './engine.ts';

const { failAfterMs, replaceAfterMs, startGraceMs, brakeShare } = LIVENESS_TIMINGS;

export interface LawsSurroundings {
  readonly nowMs: () => number;
  /** The store as it is, whatever a control plane has heard of it. */
  readonly truth: TenantStore;
  readonly engines: ReadonlyMap<string, SimulatedEngine>;
  /** Last sign of life that reached the control plane that runs now; its start counts as one. */
  readonly heardMs: (node: string) => number;
  readonly planeStartedMs: () => number;
  /** Two control planes decide at once: room is counted by each for itself then. */
  readonly rivalry: () => boolean;
}

interface Orders {
  readonly epoch: number;
  generation: number;
  instances: Assignment['instances'];
  readonly condemned: Set<string>;
}

/** What never goes down, by kind of record. */
const GROWING: Readonly<
  Record<string, { readonly what: string; readonly count: (record: unknown) => number } | undefined>
> = {
  rollouts: { what: 'generation', count: (record) => (record as RolloutRecord).generation },
  volumes: { what: 'epoch', count: (record) => (record as VolumeRecord).epoch },
  deployments: { what: 'version', count: (record) => (record as DeploymentRecord).version },
  nodes: { what: 'session epoch', count: (record) => (record as NodeRecord).sessionEpoch },
};

/** What must hold at every moment, worked out from first principles rather than by the code under test. */
export class SimulationLaws {
  readonly #around: LawsSurroundings;
  readonly #orders = new Map<string, Orders>();
  readonly #revisions = new Map<string, number>();
  readonly broken: string[] = [];
  #judgedChanges = -1;
  /** How often each law had something to judge: a law that never does proves nothing. */
  readonly judged = new Map<string, number>();

  constructor(around: LawsSurroundings) {
    this.#around = around;
  }

  #hold(law: string, holds: boolean, words: () => string): void {
    this.judged.set(law, (this.judged.get(law) ?? 0) + 1);
    if (!holds) this.broken.push(`${law}: ${words()} at ${Math.round(this.#around.nowMs())} ms`);
  }

  /**
   * Before a commit, as its control plane sees the world: the last healthy instances are not stopped for others that are not
   * (fault F-23), and nothing is placed where nothing may be.
   */
  judgeDecision(commit: Commit, seen: TenantStore): void {
    const written = (commit.puts ?? []).flatMap(({ key, value }) => {
      const parsed = parseHotKey(key);
      if (parsed?.kind !== 'instances') return [];
      const after = decodeRecord(key, value) as InstanceRecord;
      return [{ after, before: seen.get('instances', parsed.id)?.record }];
    });
    const added = written.filter(({ before }) => before === undefined).length;
    for (const deployment of new Set(written.map(({ after }) => after.deployment))) {
      const stopped = written
        .filter(({ after }) => after.deployment === deployment && after.wanted === 'stop')
        .map(({ after }) => after.id);
      this.#judgeStops(deployment, new Set(stopped), seen, added);
    }
    for (const { after, before } of written) if (before === undefined) this.#judgePlace(after, seen);
    this.#judgeRollouts(commit, seen);
  }

  /** A first rollout, which is part of the status, becomes a row when the status loses it, and comes no less far. */
  #judgeRollouts({ puts = [] }: Commit, seen: TenantStore): void {
    for (const { key, value } of puts) {
      const { kind, id } = parseHotKey(key) ?? {};
      if (kind !== 'deployment-status' || id === undefined) continue;
      const before = seen.get('deployment-status', id)?.record.rollout;
      if (before === undefined || decodeRecord<StoredStatus>(key, value).rollout !== undefined) continue;
      const row = puts.find((put) => put.key === tenantKey(seen.tenantId, 'rollouts', id));
      const after = row && decodeRecord<RolloutRecord>(row.key, row.value);
      const isKept = after?.deploymentId !== before.deploymentId || after.generation >= before.generation;
      this.#hold(
        'rollout',
        after !== undefined && isKept,
        () => `that of ${id} is neither in its status nor a row`,
      );
    }
  }

  /** `added`: by the same commit, which has plans of others in it that were decided before. */
  #judgeStops(name: string, stopped: ReadonlySet<string>, seen: TenantStore, added: number): void {
    const deployment = seen.get('deployments', idOf('deployments', name))?.record;
    if (stopped.size === 0 || deployment === undefined) return;
    const { replicas, update, volumes = [] } = deployment.spec;
    // What mounts a volume that moves as planned ends first: there must not be two writers.
    const mounted = volumes.flatMap(
      ({ volumeId }) => seen.get('volumes', idOf('volumes', volumeId))?.record ?? [],
    );
    if (mounted.some(standsStill)) return;
    const floor = replicas === 0 ? 0 : Math.max(1, replicas - (update?.maxUnavailable ?? 0));
    const healthy = seen
      .collection('instances')
      .listUnder(prefixOf('instances', name))
      .map(({ record }) => record)
      .filter((record) => record.wanted === 'run' && isHealthy(record, seen));
    const left = healthy.filter(({ id }) => !stopped.has(id)).length;
    // At the quota an update goes on by stopping one instance at a time first, whatever the minimum is.
    const least = Math.min(healthy.length, floor) - (isAtQuota(seen, added) ? 1 : 0);
    this.#hold('health', left >= least, () => {
      return `${name}: ${healthy.length} healthy, ${left} left after stops, at least ${floor} wanted`;
    });
  }

  #judgePlace(record: InstanceRecord, seen: TenantStore): void {
    const node = seen.get('nodes', idOf('nodes', record.nodeId))?.record;
    const liveness = seen.get('node-liveness', idOf('node-liveness', record.nodeId))?.record;
    const takes = node?.schedulable === true && node.draining !== true && liveness?.status === 'ready';
    this.#hold('placement', takes, () => `${record.id} was placed on ${record.nodeId}, which takes nothing`);
  }

  /** After a change of the store. */
  judgeChange({ kind, id, before, after }: ViewChange): void {
    this.#judgeRevision(`${kind}/${id}`, before?.modRevision, after?.modRevision);
    const growing = GROWING[kind];
    if (growing !== undefined && before !== undefined && after !== undefined)
      this.#judgeGrowth(growing.what, id, growing.count(before.record), growing.count(after.record));
    switch (kind) {
      case 'instances':
        this.#judgeInstance(before?.record, after?.record);
        break;
      case 'node-liveness':
        this.#judgeLiveness(decodeURIComponent(id), before?.record, after?.record);
        break;
      default:
    }
  }

  #judgeRevision(key: string, before: number | undefined, after: number | undefined): void {
    const last = Math.max(before ?? 0, this.#revisions.get(key) ?? 0);
    if (after === undefined) return;
    this.#revisions.set(key, after);
    this.#hold('monotone', after > last, () => `${key} went from revision ${last} to ${after}`);
  }

  #judgeGrowth(what: string, id: string, before: number, after: number): void {
    this.#hold('monotone', after >= before, () => `${what} of ${id} went from ${before} to ${after}`);
  }

  #judgeInstance(before: InstanceRecord | undefined, after: InstanceRecord | undefined): void {
    if (after === undefined) return;
    if (before !== undefined) {
      const stays = before.nodeId === after.nodeId && !(before.wanted === 'stop' && after.wanted === 'run');
      this.#hold('one place', stays, () => `${after.id} moved, or came back from its end`);
      return;
    }
    this.#judgeCount(after);
    if (!this.#around.rivalry()) this.#judgeRoom(after);
  }

  /** Never more than wanted and surge, among those that can be reached. */
  #judgeCount(made: InstanceRecord): void {
    const { truth } = this.#around;
    const { kind, name } = ownerOf(made.deployment);
    if (kind === 'job') return this.#judgeAttempts(name);
    const spec = truth.get('deployments', idOf('deployments', name))?.record.spec;
    const wanted = truth
      .collection('instances')
      .listUnder(prefixOf('instances', name))
      .filter(({ record }) => record.wanted === 'run' && !this.#isLost(record.nodeId)).length;
    const beside = truth.get('canaries', idOf('canaries', name))?.record.replicas ?? 0;
    const limit = (spec?.replicas ?? 0) + Math.max(1, spec?.update?.maxSurge ?? 1) + beside;
    this.#hold('count', spec !== undefined && wanted <= limit, () => {
      return `${name}: ${wanted} instances for at most ${limit}`;
    });
  }

  /** One attempt of a job at a time: an earlier one has ended, or its node was given up. */
  #judgeAttempts(job: JobName): void {
    const { truth } = this.#around;
    const going = truth
      .collection('instances')
      .listUnder(prefixOf('instances', jobOwner(job)))
      .filter(({ id, record }) => {
        const phase = truth.get('observations', id)?.record.phase;
        return record.wanted === 'run' && phase !== 'exited' && !this.#isLost(record.nodeId);
      }).length;
    this.#hold('one attempt', going <= 1, () => `${job}: ${going} attempts at once`);
  }

  #judgeRoom(made: InstanceRecord): void {
    const { truth } = this.#around;
    const counted = truth
      .list('instances')
      .map(({ record }) => record)
      .filter(({ nodeId }) => !this.#isLost(nodeId));
    const quota = truth.get('quota', 'quota')?.record.containers ?? Infinity;
    this.#hold('quota', counted.length <= quota, () => `${counted.length} instances for a quota of ${quota}`);
    const capacity = truth.get('nodes', idOf('nodes', made.nodeId))?.record.capacity.cpu ?? 0;
    const lost = counted.find(
      ({ deployment, specHash }) => truth.get('specs', idOf('specs', deployment, specHash)) === undefined,
    );
    this.#hold('kept spec', lost === undefined, () => `the spec of ${lost?.id} is not kept`);
    const taken = counted
      .filter(({ nodeId }) => nodeId === made.nodeId)
      .map(({ deployment, specHash }) => truth.get('specs', idOf('specs', deployment, specHash))?.record)
      .reduce((sum, spec) => sum + (spec?.resources?.requests?.cpu ?? 0), 0);
    this.#hold('capacity', taken <= capacity, () => `${taken} of ${capacity} cores on ${made.nodeId}`);
  }

  #isLost(node: string): boolean {
    return this.#around.truth.get('node-liveness', idOf('node-liveness', node))?.record.lost === true;
  }

  /** Replaced only after the span, never for a start of ours, and not when too many are silent at once (R5, F-12). */
  #judgeLiveness(node: string, before: NodeLiveness | undefined, after: NodeLiveness | undefined): void {
    const { truth, heardMs, nowMs, planeStartedMs } = this.#around;
    const silenceMs = (name: string): number => nowMs() - heardMs(name);
    if (after?.status === 'failed' && before?.status === 'ready') {
      const grace = nowMs() - planeStartedMs() >= startGraceMs;
      this.#hold('liveness', grace && silenceMs(node) >= failAfterMs, () => {
        return `${node} failed after ${silenceMs(node)} ms of silence`;
      });
    }
    if (after?.lost !== true || before?.lost === true) return;
    this.#hold('liveness', silenceMs(node) >= replaceAfterMs, () => {
      return `${node} was given up after ${silenceMs(node)} ms of silence`;
    });
    const undecided = truth
      .list('nodes')
      .map(({ record }) => record.name)
      .filter((name) => name === node || !this.#isLost(name) || silenceMs(name) < failAfterMs);
    const silent = undecided.filter((name) => silenceMs(name) >= failAfterMs);
    this.#hold('brake', silent.length <= undecided.length * brakeShare, () => {
      return `${node} was given up while ${silent.length} of ${undecided.length} were silent`;
    });
  }

  /** An agent has a new session. */
  begun(node: string, epoch: number): void {
    const last = this.#orders.get(node)?.epoch ?? 0;
    this.#hold('monotone', epoch > last, () => `the session of ${node} went from ${last} to ${epoch}`);
    this.#orders.set(node, { epoch, generation: 0, instances: [], condemned: new Set() });
  }

  /** An order reached an agent, in whatever sequence. */
  ordered(node: string, { epoch, generation, instances }: Assignment): void {
    const orders = this.#orders.get(node);
    if (orders?.epoch !== epoch || generation < orders.generation) return;
    orders.generation = generation;
    orders.instances = instances;
  }

  /** A verdict names nothing that the node is to have. */
  condemned(node: string, { epoch, remove }: Verdict): void {
    const { truth } = this.#around;
    for (const { record } of truth.list('instances')) {
      if (record.nodeId !== node || record.wanted !== 'run' || !remove.includes(record.id)) continue;
      this.#hold('verdict', false, () => `${record.id} on ${node} is wanted and may not be removed`);
    }
    this.#hold('verdict', true, () => '');
    const orders = this.#orders.get(node);
    if (orders?.epoch === epoch) for (const id of remove) orders.condemned.add(id);
  }

  /** A step on its way to the engine: only on the newest order that arrived (F-29, F-10). */
  judgeStep(node: string, step: InstanceStep): void {
    const orders = this.#orders.get(node);
    const order = orders?.instances.find(({ id }) => id === step.instanceId);
    const engine = this.#around.engines.get(node);
    if (step.kind === 'create' || step.kind === 'start') {
      this.#hold('orders', order?.wanted === 'run', () => `${node}: ${step.kind} of ${step.instanceId}`);
      return;
    }
    if (step.kind !== 'stop' && step.kind !== 'remove') return;
    const twins = engine?.list().filter(({ instanceId }) => instanceId === step.instanceId).length ?? 0;
    const allowed =
      order?.wanted === 'stop' ||
      orders?.condemned.has(step.instanceId) === true ||
      twins > 1 ||
      engine?.get(step.containerId)?.status !== 'running';
    this.#hold('orders', allowed, () => `${node}: ${step.kind} of ${step.instanceId}, which nobody ordered`);
  }

  /** How things really are. */
  judgeContainers(): void {
    const changes = [...this.#around.engines.values()].reduce((sum, engine) => sum + engine.changes, 0);
    if (changes === this.#judgedChanges) return;
    this.#judgedChanges = changes;
    const seen = new Map<string, string>();
    const written = Map.groupBy(
      [...this.#around.engines.values()].flatMap((engine) => engine.written()),
      (id) => id,
    );
    for (const [id, writers] of written)
      this.#hold('one writer', writers.length <= 1, () => `${writers.length} containers write ${id}`);
    for (const [node, engine] of this.#around.engines) {
      for (const [instanceId, containers] of engine.byInstance()) {
        const running = containers.filter(({ status }) => status === 'running').length;
        this.#hold('one container', running <= 1, () => `${instanceId} runs ${running} times on ${node}`);
        const other = seen.get(instanceId);
        this.#hold('one place', other === undefined, () => `${instanceId} is on ${other} and on ${node}`);
        seen.set(instanceId, node);
      }
    }
  }

  /** Exactly what is wanted runs, healthy, and nothing else is there. */
  unsettled(): string | undefined {
    const { truth, engines } = this.#around;
    const records = new Map(truth.list('instances').map(({ record }) => [record.id as string, record]));
    let wanted = 0;
    for (const { record } of truth.list('deployments')) {
      const own = [...records.values()].filter(({ deployment }) => deployment === record.spec.name);
      const canary = truth.get('canaries', idOf('canaries', record.spec.name))?.record;
      const beside = canary?.replicas ?? 0;
      wanted += record.spec.replicas + beside;
      if (own.length !== record.spec.replicas + beside) return `${record.spec.name}: ${own.length} instances`;
      const specOf = (one: InstanceRecord): string | undefined =>
        one.canary === true ? canary?.specHash : record.specHash;
      const good = own.filter((one) => one.specHash === specOf(one) && isHealthy(one, truth));
      if (good.length < own.length) return `${record.spec.name}: ${good.length} of ${own.length} healthy`;
    }
    const containers = [...engines].flatMap(([node, engine]) =>
      engine.list().map((one) => ({ ...one, node })),
    );
    for (const { instanceId, node, status } of containers) {
      const record = records.get(instanceId);
      if (record === undefined) return `a container of ${instanceId} is left on ${node}`;
      if (record.nodeId !== node || status !== 'running') return `${instanceId} is ${status} on ${node}`;
    }
    if (records.size !== wanted) return `${records.size} instances, ${wanted} wanted`;
    return containers.length === wanted ? undefined : `${containers.length} containers, ${wanted} wanted`;
  }
}

function isHealthy(record: InstanceRecord, seen: TenantStore): boolean {
  const id = idOf('observations', record.deployment, record.id);
  const observation = seen.get('observations', id)?.record;
  const spec = seen.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
  const ready = seen.get('node-liveness', idOf('node-liveness', record.nodeId))?.record.status === 'ready';
  if (!ready || observation?.phase !== 'running' || observation.specHash !== record.specHash) return false;
  const passes =
    spec?.healthCheck === undefined ? observation.health !== 'unhealthy' : observation.health === 'healthy';
  return passes && observation.reason !== 'crash_loop';
}

/** As its control plane sees it: nothing more may be started. */
function isAtQuota(seen: TenantStore, added: number): boolean {
  const counted = seen
    .list('instances')
    .filter(
      ({ record }) => seen.get('node-liveness', idOf('node-liveness', record.nodeId))?.record.lost !== true,
    ).length;
  return counted + added >= (seen.get('quota', 'quota')?.record.containers ?? Infinity);
}
