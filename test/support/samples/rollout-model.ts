import type {
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  HealthCheck,
  InstanceOrder,
  UpdatePolicy,
} from '../../../src/core/model/deployment.ts';
import type { DeploymentId, InstanceId, NodeName, TenantId } from '../../../src/core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../src/core/model/instance.ts';
import type { RolloutRecord } from '../../../src/core/model/rollout.ts';
import { restartedRecord } from '../../../src/core/plan/rollout/health-restart.ts';
import { newInstance } from '../../../src/core/plan/rollout/fresh-instance.ts';
import type { NodeCondition } from '../../../src/core/plan/rollout/instance-state.ts';
import { nextRestart } from '../../../src/core/plan/rollout/restart-order.ts';
import { type InstancePlan, planInstances } from '../../../src/core/plan/rollout/instances.ts';
import type { PlannerMemory } from '../../../src/core/plan/rollout/memory.ts';
import type { Placed, PlacementRefusal, Placer } from '../../../src/core/plan/rollout/placer.ts';

/** One deployment on a few nodes, moved step by step, for tests: what the controller and the agents would do with the plans. */

export type Mode = 'plain' | 'checked' | 'host-port' | 'single-writer';

const TENANT = 'tenant' as TenantId;
const SLOTS_PER_NODE = 4;
export const NODES = ['n0', 'n1', 'n2'].map((name) => name as NodeName);

export interface ModelNode {
  status: NodeCondition['status'];
  draining: boolean;
}

/** Another attempt is another container. */
export function containerOf({ id, attempt }: InstanceRecord): string {
  return `${id}.${attempt}`;
}

export class RolloutModel {
  readonly mode: Mode;
  readonly nodes = new Map<NodeName, ModelNode>(
    NODES.map((name) => [name, { status: 'ready', draining: false }]),
  );
  readonly instances = new Map<InstanceId, InstanceRecord>();
  readonly observations = new Map<InstanceId, InstanceObservation>();
  readonly specs = new Map<string, DeploymentSpec>();
  /** Images whose containers never become healthy. */
  readonly badImages = new Set<string>();
  /** Containers that hang. */
  readonly hung = new Set<string>();
  /** Nodes where the residency of the current spec does not allow an instance. */
  readonly forbidden = new Map<NodeName, string>();
  /** Of containers, over all nodes. */
  quota = Number.POSITIVE_INFINITY;
  gateClosed = false;
  deployment: DeploymentRecord | undefined;
  rollout: RolloutRecord | undefined;
  status: DeploymentStatus | undefined;
  memory: PlannerMemory | undefined;
  nowMs = 0;
  #made = 0;

  constructor(mode: Mode) {
    this.mode = mode;
    this.apply('image-0', mode === 'single-writer' ? 1 : 2);
  }

  apply(image: string, replicas: number, update?: UpdatePolicy, check: Partial<HealthCheck> = {}): void {
    const before = this.deployment;
    const spec: DeploymentSpec = {
      kind: 'Deployment',
      name: 'web',
      image,
      replicas,
      secrets: [],
      secretsVersion: 0,
      ...(this.mode !== 'plain' && { healthCheck: { type: 'exec', command: ['probe'], ...check } }),
      ...(this.mode === 'host-port' && { ports: [{ container: 80, host: 80 }] }),
      ...(this.mode === 'single-writer' && {
        volumes: [{ volumeId: 'v', mountPath: '/v', readOnly: false }],
      }),
      ...(update && { update }),
    };
    this.deployment = {
      id: before?.id ?? (`dep-${this.#made++}` as DeploymentId),
      tenantId: TENANT,
      spec,
      specHash: image,
      version: (before?.version ?? 0) + 1,
      createdAt: '',
      updatedAt: '',
    };
    this.specs.set(image, spec);
  }

  /** As somebody asks for it, of a control plane whose clock is so much ahead of the one that places instances. */
  restart(instance?: InstanceId, aheadMs = 0): void {
    this.nowMs += 1_000;
    const at = new Date(this.nowMs + aheadMs).toISOString();
    if (!this.deployment) return;
    const restart = nextRestart(this.deployment.restart, at, instance, (id) => this.instances.has(id));
    this.deployment = { ...this.deployment, restart };
  }

  /** As somebody asks for it of one instance. */
  order(kind: InstanceOrder['kind'], instance: InstanceId): void {
    const attempt = (this.instances.get(instance)?.attempt ?? 0) + 1;
    const at = new Date(this.nowMs).toISOString();
    const orders = [{ kind, instance, at, ...(kind === 'restart' && { attempt }) }];
    if (this.deployment) this.deployment = { ...this.deployment, orders };
  }

  /** Plans and stores the plan; answers it for the laws to be checked. */
  step(): InstancePlan {
    const plan = planInstances({
      name: 'web',
      ...(this.deployment && { deployment: this.deployment }),
      ...(this.status && { status: this.status }),
      ...(this.rollout && { rollout: this.rollout }),
      ...(this.memory && { memory: this.memory }),
      specs: this.specs,
      instances: [...this.instances.values()],
      observationOf: (id) => this.observations.get(id),
      misplacedOf: ({ nodeId }) => this.forbidden.get(nodeId),
      nodeOf: (node) => this.nodes.get(node) ?? { status: 'gone', draining: false },
      gates: this.gateClosed ? [{ dependency: 'db', message: 'waiting for db' }] : [],
      placer: this.#placer(),
      nowMs: this.nowMs,
    });
    for (const record of plan.stop) this.instances.set(record.id, { ...record, wanted: 'stop' });
    for (const { id } of plan.remove) {
      this.instances.delete(id);
      this.observations.delete(id);
    }
    for (const placed of plan.create) {
      if (this.deployment)
        this.instances.set(
          placed.id,
          newInstance(placed, this.deployment, new Date(this.nowMs).toISOString()),
        );
    }
    for (const record of plan.ordered ?? []) this.instances.set(record.id, record);
    if (plan.restart) this.instances.set(plan.restart.state.record.id, restartedRecord(plan.restart));
    this.rollout = plan.rollout;
    this.status = plan.status;
    this.memory = plan.memory;
    return plan;
  }

  /** Agents on reachable nodes carry out what they were told. */
  act(): void {
    for (const record of this.instances.values()) {
      const status = this.nodes.get(record.nodeId)?.status;
      if (status !== 'ready') continue;
      const containerId = containerOf(record);
      const isBad = this.badImages.has(record.specHash) || this.hung.has(containerId);
      this.observations.set(
        record.id,
        record.wanted === 'stop'
          ? { id: record.id, phase: 'removed' }
          : {
              id: record.id,
              phase: isBad && this.mode === 'plain' ? 'exited' : 'running',
              ...(this.mode !== 'plain' && { health: isBad ? 'unhealthy' : 'healthy' }),
              containerId,
              specHash: record.specHash,
            },
      );
    }
  }

  /** Run-wanted instances that are seen healthy on a ready node; worked out apart from the planner. */
  healthy(): readonly InstanceRecord[] {
    return [...this.instances.values()].filter((record) => {
      const seen = this.observations.get(record.id);
      return (
        record.wanted === 'run' &&
        this.nodes.get(record.nodeId)?.status === 'ready' &&
        seen?.phase === 'running' &&
        seen.specHash === record.specHash &&
        (this.mode === 'plain' || seen.health === 'healthy')
      );
    });
  }

  /** On a node that may still run them. */
  present(): readonly InstanceRecord[] {
    return [...this.instances.values()].filter((record) => {
      const status = this.nodes.get(record.nodeId)?.status;
      return (
        (status === 'ready' || status === 'silent') && this.observations.get(record.id)?.phase !== 'removed'
      );
    });
  }

  #placer(): Placer {
    const counted = [...this.instances.values()].map(({ id, nodeId }) => ({ id, nodeId }));
    const left = [...this.instances.values()].flatMap(({ nodeId, leaving }) => (leaving ? nodeId : []));
    const choose = (without?: InstanceId, except: readonly NodeName[] = left): NodeName | undefined => {
      const others = counted.filter(({ id }) => id !== without);
      if (others.length >= this.quota) return undefined;
      const load = (node: NodeName) => others.filter(({ nodeId }) => nodeId === node).length;
      return [...this.nodes]
        .filter(([name, node]) => node.status === 'ready' && !node.draining && !this.forbidden.has(name))
        .filter(([name]) => this.#takes(name, load(name)) && !except.includes(name))
        .map(([name]) => name)
        .sort((a, b) => load(a) - load(b) || (a < b ? -1 : 1))[0];
    };
    const refusal: PlacementRefusal = {
      ok: false,
      summary: 'no node',
      message: 'no node',
      details: {},
      digest: 'd',
      residency: false,
      quota: counted.length >= this.quota,
    };
    return {
      place: (): Placed | PlacementRefusal => {
        const nodeId = choose();
        if (nodeId === undefined) return refusal;
        const id = `ins-${String(this.#made++).padStart(6, '0')}` as InstanceId;
        counted.push({ id, nodeId });
        return { ok: true, id, nodeId };
      },
      fitsInsteadOf: ({ id }) => choose(id) !== undefined,
      refusalElsewhere: ({ nodeId }) =>
        choose(undefined, [...left, nodeId]) === undefined ? refusal : undefined,
    };
  }

  #takes(node: NodeName, load: number): boolean {
    if (this.mode === 'single-writer' && node !== NODES[0]) return false;
    return load < (this.mode === 'host-port' ? 1 : SLOTS_PER_NODE);
  }
}
