import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { type AssignedContainer, MAX_FRAME_BYTES } from '../../../core/protocol/agent-protocol.ts';
import type { ContainerDefaults } from '../../../core/model/container-defaults.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { isKeptByNode } from '../../../core/model/volume.ts';
import { restartAfterMs } from '../../../core/plan/rollout/health-restart.ts';
import { isOfDeployment, jobOwner, type OwnerName, ownerOf } from '../../../core/model/owner.ts';
import { leadingId } from '../../store/keys.ts';
import { containerDefaultsOf } from '../../store/container-defaults.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import { type AssignmentFacts, assignedInstance } from './assigned-instance.ts';
import { assignedNetworks } from './networks.ts';
import type { StoreLineage } from './store-lineage.ts';
import { nodeKey, type PlacedInstances } from './placed-instances.ts';
import { nodesOf, type PlacedVolumes } from './placed-volumes.ts';
import type { AgentSession } from '../sessions/session.ts';

export interface AssignmentsOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly volumes: PlacedVolumes;
  readonly session: (tenantId: TenantId, node: string) => AgentSession | undefined;
  /** Absent, or undefined: assignments carry no store mark. */
  readonly lineage?: () => StoreLineage | undefined;
  readonly containerDefaults: ContainerDefaults;
  readonly log: Logger;
}

interface DirtyNode {
  readonly tenantId: TenantId;
  readonly node: string;
}

/** What is sent, or why nothing is; `digest` tells it from any other. */
interface Orders {
  readonly text: string | undefined;
  readonly digest: string;
}

/** How a spec is run on one node, written down: the same for all its instances there. */
interface WrittenContainer {
  readonly text: string;
  readonly bytes: number;
  readonly digest: string;
}

/** As much is written down in one turn of the event loop: one change may concern thousands of nodes. */
const TURN_LENGTH = 2 ** 19;
/** Of a frame, for what is said beside the orders. */
const FRAME_HEAD = 1024;
/** Instead of a digest: said once in the log, until it fits again. */
const TOO_LARGE = 'too large';

/** Sends every connected agent its whole assignment. Level-triggered: what is sent is what is stored now. */
export class Assignments {
  readonly #options: AssignmentsOptions;
  readonly #dirty = new Map<string, DirtyNode>();
  readonly #unsubscribe: () => void;
  #flushing = false;

  constructor(options: AssignmentsOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.view.onChange((change) => this.#onChange(change));
  }

  #onChange({ tenantId, kind, id, before, after }: ViewChange): void {
    if (tenantId === undefined) return;
    if (kind === 'nodes') {
      if (before?.record.ordersHeld !== undefined) this.#mark(tenantId, segmentsOf(kind, id)[0]);
    } else if (kind === 'instances' || kind === 'networks') {
      for (const stored of [before, after]) {
        if (stored !== undefined) this.#mark(tenantId, stored.record.nodeId);
      }
    } else if (kind === 'job-status') {
      // The first sight of an attempt's container is stored there; from then on it is not to be made again.
      this.#markAll(
        tenantId,
        this.#options.store
          .forTenant(tenantId)
          .collection('instances')
          .listUnder(prefixOf('instances', jobOwner(segmentsOf(kind, id)[0]))),
      );
    } else if (kind === 'specs') {
      this.#markAll(
        tenantId,
        this.#options.store.forTenant(tenantId).collection('instances').listUnder(leadingId(id)),
      );
    } else if (kind === 'container-defaults') {
      this.#markAll(tenantId, this.#options.store.forTenant(tenantId).list('instances'));
    } else if (kind === 'volumes') {
      const record = (after ?? before)?.record;
      // A volume in memory concerns the instances that mount it.
      if (record !== undefined && !isKeptByNode(record))
        this.#markAll(tenantId, this.#options.store.forTenant(tenantId).list('instances'));
      for (const stored of [before, after]) {
        for (const node of stored === undefined ? [] : nodesOf(stored.record)) this.#mark(tenantId, node);
      }
    }
  }

  #markAll(tenantId: TenantId, instances: readonly { readonly record: InstanceRecord }[]): void {
    for (const { record } of instances) this.#mark(tenantId, record.nodeId);
  }

  #mark(tenantId: TenantId, node: string): void {
    if (this.#options.session(tenantId, node) === undefined) return;
    this.#dirty.set(nodeKey(tenantId, node), { tenantId, node });
    // After the changes of the commit that is being applied: one push for a hundred instances.
    if (!this.#flushing) this.#flushLater();
  }

  #flushLater(): void {
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    let length = 0;
    for (const [key, { tenantId, node }] of this.#dirty) {
      if (length > TURN_LENGTH) {
        this.#flushLater();
        return;
      }
      this.#dirty.delete(key);
      const session = this.#options.session(tenantId, node);
      if (session !== undefined) length += this.push(session);
    }
  }

  #facts(tenantId: TenantId, node: string): AssignmentFacts {
    const { store } = this.#options;
    const tenant = store.forTenant(tenantId);
    const record = tenant.get('nodes', idOf('nodes', node))?.record;
    const words = new Map<OwnerName, number | undefined>();
    return {
      tenantSlug: store.getGlobal('tenants', tenantId)?.record.slug ?? '',
      features: record?.features ?? [],
      defaults: containerDefaultsOf(tenant, this.#options.containerDefaults),
      nodeMemoryBytes: record?.capacity.memoryBytes ?? 0,
      spec: ({ deployment, specHash }) => tenant.get('specs', idOf('specs', deployment, specHash))?.record,
      volume: (id) => tenant.get('volumes', idOf('volumes', id))?.record,
      aloneRestartMs: ({ deployment }) => {
        if (!words.has(deployment)) words.set(deployment, aloneRestartMs(tenant, deployment, node));
        return words.get(deployment);
      },
      hasStarted: ({ deployment, id }) => isStartedAttempt(tenant, deployment, id),
    };
  }

  /** Flush the pending assignment first: no other message to the agent may overtake it. */
  pushDue(session: AgentSession): void {
    if (this.#dirty.delete(session.key)) this.push(session);
  }

  /** Its agent has orders that are not in the store, so the store's may be outdated: it is sent nothing. */
  isHeld({ identity: { tenantId, node } }: AgentSession): boolean {
    return (
      this.#options.store.forTenant(tenantId).get('nodes', idOf('nodes', node))?.record.ordersHeld !==
      undefined
    );
  }

  /** Tells how much was written down for it, whether it was sent or not. */
  push(session: AgentSession): number {
    if (this.isHeld(session)) return 0;
    const { tenantId, node, epoch } = session.identity;
    const { text, digest } = this.#orders(tenantId, node);
    const length = text?.length ?? MAX_FRAME_BYTES;
    if (digest === session.assignmentDigest) return length;
    session.assignmentDigest = digest;
    if (text === undefined) {
      this.#options.log.error({ tenantId, node }, 'the assignment is larger than a frame');
      return length;
    }
    session.generation += 1;
    const mark = this.#options.lineage?.()?.mark();
    const asOf = mark === undefined ? '' : `"asOf":${JSON.stringify(mark)},`;
    session.sendText(
      `{"type":"assignment","epoch":${epoch},"generation":${session.generation},${asOf}${text}}`,
    );
    return length;
  }

  /**
   * No text: it is larger than a frame. That is seen on the way there: many replicas of a large spec would be hundreds of megabytes, and
   * everybody would wait for them to be written down, at every change.
   */
  #orders(tenantId: TenantId, node: string): Orders {
    const { placed, log, store } = this.#options;
    const facts = this.#facts(tenantId, node);
    const containers = new Map<string, WrittenContainer>();
    const instances: string[] = [];
    const parts: string[] = [];
    let length = FRAME_HEAD;
    for (const { record } of placed.on(tenantId, node)) {
      const assigned = assignedInstance(record, facts);
      if (assigned === undefined) {
        log.warn(
          { tenantId, node, instance: record.id },
          'an instance has no spec, no volume or no agent to run with',
        );
        continue;
      }
      const { container, ...rest } = assigned;
      let text = JSON.stringify(rest);
      parts.push(text);
      length += Buffer.byteLength(text) + 1;
      if (container !== undefined) {
        const spec = `${record.deployment}/${record.specHash}`;
        const written = containers.get(spec) ?? writtenContainer(container);
        containers.set(spec, written);
        text = `${text.slice(0, -1)},"container":${written.text}}`;
        parts.push(written.digest);
        length += written.bytes;
      }
      if (length > MAX_FRAME_BYTES) return { text: undefined, digest: TOO_LARGE };
      instances.push(text);
    }
    const networks = JSON.stringify(assignedNetworks(store.forTenant(tenantId), node));
    const volumes = this.#options.volumes.assigned(tenantId, node);
    const kept = volumes.length === 0 ? '' : `,"volumes":${JSON.stringify(volumes)}`;
    parts.push(networks, kept);
    length += Buffer.byteLength(networks) + Buffer.byteLength(kept);
    if (length > MAX_FRAME_BYTES) return { text: undefined, digest: TOO_LARGE };
    return {
      text: `"instances":[${instances.join(',')}],"networks":${networks}${kept}`,
      digest: hash('sha256', parts.join('\n')),
    };
  }

  close(): void {
    this.#unsubscribe();
  }
}

function writtenContainer(container: AssignedContainer): WrittenContainer {
  const text = JSON.stringify(container);
  return {
    text,
    bytes: Buffer.byteLength(text) + ',"container":'.length,
    digest: hash('sha256', text),
  };
}

function isStartedAttempt(tenant: TenantStore, owner: OwnerName, instanceId: string): boolean {
  const { kind, name } = ownerOf(owner);
  const runs = kind === 'job' ? tenant.get('job-status', idOf('job-status', name))?.record.runs : undefined;
  return runs?.some(({ attempt }) => attempt?.instanceId === instanceId && attempt.started) ?? false;
}

/** The word is with the node of the oldest instance: one node, however many instances it has. */
function aloneRestartMs(tenant: TenantStore, owner: OwnerName, node: string): number | undefined {
  if (!isOfDeployment(owner)) return undefined;
  const check = tenant.get('deployments', idOf('deployments', owner))?.record.spec.healthCheck;
  const afterMs = restartAfterMs(check);
  if (afterMs === undefined) return undefined;
  const [oldest] = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', owner))
    .map(({ record }) => record)
    .filter(({ wanted, canary }) => wanted === 'run' && canary !== true)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return oldest?.nodeId === node ? afterMs : undefined;
}
