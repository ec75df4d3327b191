import type { Workload } from '../../core/model/deployment.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { OwnerName } from '../../core/model/owner.ts';
import type { Region, ResidencyTerms, UnstatedCountry } from '../../core/model/region.ts';
import { PLATFORM_SLUG } from '../../core/model/tenant.ts';
import { type DefaultRequest, NO_DEFAULT } from '../../core/model/counted.ts';
import { type Amounts, countedAmounts, NOTHING, requestedAmounts } from '../../core/scheduler/amounts.ts';
import { ClusterState, type PlacedInstance } from '../../core/scheduler/cluster.ts';
import type { Reason } from '../../core/scheduler/filters/filter.ts';
import { residencyReasons } from '../../core/scheduler/misplaced.ts';
import { constrainsResidency } from '../../core/scheduler/residency.ts';
import { fixedHostPorts, type PlacementRequest } from '../../core/scheduler/request.ts';
import { idOf, prefixOf, segmentsOf } from '../store/record-ids.ts';
import type { Store, TenantStore } from '../store/store.ts';
import type { ViewChange } from '../store/view.ts';
import { DeploymentPlacer, type PlacerOptions, requestFor } from './deployment-placer.ts';

export interface PlacementSettings {
  readonly controlPlaneNode?: NodeName;
  readonly regions: readonly Region[];
  readonly residencyEnforcement: boolean;
  readonly residencyUnstated?: UnstatedCountry;
  /** What a container without request and limit counts against a quota; absent: nothing. */
  readonly defaultRequest?: DefaultRequest;
}

/** One tenant's cluster and, by node, the instances whose records say that they belong there. */
interface TenantCluster {
  readonly tenant: TenantStore;
  readonly cluster: ClusterState;
  readonly byNode: Map<NodeName, Map<string, InstanceRecord>>;
}

/**
 * A scheduler cluster per tenant, built from the view when it is first asked for and then kept up to date change by change. A cache:
 * nothing here is written to the store, and a rebuilt one makes the same decisions.
 */
export class TenantClusters {
  readonly #store: Store;
  readonly #settings: PlacementSettings;
  readonly #clusters = new Map<TenantId, TenantCluster>();
  /** Nodes whose agent is known to have no session now; a node without any session yet counts by its liveness alone. */
  readonly #disconnected = new Map<TenantId, Set<NodeName>>();
  /** One request object per spec object: the scheduler remembers what it worked out for it. */
  readonly #requests = new WeakMap<Workload, PlacementRequest>();
  /** The machine of this process, and those of the others on the same store. */
  readonly #controlPlaneNodes = new Set<NodeName>();
  readonly #unsubscribe: () => void;

  constructor(store: Store, settings: PlacementSettings) {
    this.#store = store;
    this.#settings = settings;
    const own = settings.controlPlaneNode;
    if (own !== undefined) this.#controlPlaneNodes.add(own);
    for (const { id } of store.listGlobal('control-plane-nodes'))
      this.#controlPlaneNodes.add(segmentsOf('control-plane-nodes', id)[0]);
    this.#unsubscribe = store.view.onChange((change) => this.#take(change));
  }

  of(tenantId: TenantId): ClusterState {
    return this.#held(tenantId).cluster;
  }

  /** The scheduler bound to one deployment's spec. */
  placer(tenantId: TenantId, spec: Workload, options: PlacerOptions): DeploymentPlacer {
    const { cluster, tenant } = this.#held(tenantId);
    // Of nodes that are not there nothing is worked out for a request, nor is it asked for again before there is one.
    const request = cluster.hasNodes
      ? this.request(tenantId, spec, tenant)
      : requestFor(tenant, spec, this.defaultRequest);
    return new DeploymentPlacer(cluster, request, options);
  }

  /** `tenant`: as its records are supposed to be. */
  request(tenantId: TenantId, spec: Workload, tenant = this.#store.forTenant(tenantId)): PlacementRequest {
    const known = this.#requests.get(spec);
    if (known) return known;
    const request = requestFor(tenant, spec, this.defaultRequest);
    // Where a volume may be mounted changes with the volume, not with the spec; where a network is, with the network.
    if (request.volumes === undefined && request.networks === undefined && !isOfOne(spec))
      this.#requests.set(spec, request);
    return request;
  }

  get defaultRequest(): DefaultRequest {
    return this.#settings.defaultRequest ?? NO_DEFAULT;
  }

  get residencyTerms(): ResidencyTerms {
    const { regions, residencyUnstated: unstated } = this.#settings;
    return { regions, ...(unstated && { unstated }) };
  }

  /** Why the node must not have an instance of the spec, by residency; quotes what is required and what the node reports. */
  misplaced(tenantId: TenantId, spec: Workload, node: NodeName): readonly Reason[] {
    if (!constrainsResidency(spec.placement?.residency)) return [];
    return residencyReasons(this.of(tenantId), this.request(tenantId, spec), node);
  }

  runsControlPlane(node: NodeName): boolean {
    return this.#controlPlaneNodes.has(node);
  }

  /** The machine of a control plane keeps and runs nothing new of a tenant other than the platform. */
  isReserved(tenantId: TenantId, node: NodeName): boolean {
    return this.runsControlPlane(node) && !this.of(tenantId).isPlatformTenant;
  }

  /** Deployments with an instance on the node. */
  ownersOn(tenantId: TenantId, node: NodeName): ReadonlySet<OwnerName> {
    const instances = this.#held(tenantId).byNode.get(node);
    return new Set([...(instances?.values() ?? [])].map((record) => record.deployment));
  }

  /** How many nodes an explanation has to walk. */
  size(tenantId: TenantId): number {
    return this.#store.forTenant(tenantId).collection('nodes').size;
  }

  instancesOn(tenantId: TenantId, node: NodeName): readonly InstanceRecord[] {
    return [...(this.#held(tenantId).byNode.get(node)?.values() ?? [])];
  }

  setConnected(tenantId: TenantId, node: NodeName, connected: boolean): void {
    const nodes = this.#disconnected.get(tenantId) ?? new Set();
    if (nodes.has(node) === !connected) return;
    if (connected) nodes.delete(node);
    else nodes.add(node);
    this.#disconnected.set(tenantId, nodes);
    const held = this.#clusters.get(tenantId);
    if (held) this.#describeNode(held, node);
  }

  /** Puts the cluster right after a decision that was not stored: what was counted for it is released. */
  release(tenantId: TenantId, owner: OwnerName, instance: InstanceRecord['id']): void {
    const held = this.#clusters.get(tenantId);
    if (held === undefined) return;
    const stored = held.tenant.get('instances', idOf('instances', owner, instance))?.record;
    if (stored === undefined) held.cluster.removeInstance(instance);
    else this.#count(held, stored);
  }

  /**
   * Asks the cluster with the instances counted that `tenant` only supposes, and puts everything back. Without a pause in it, like
   * `supposing`, so that no decision sees them.
   */
  supposedIn<T>(tenant: TenantStore, ask: () => T): T {
    const supposed = tenant.supposed('instances');
    if (supposed.size === 0) return ask();
    const { cluster } = this.#held(tenant.tenantId);
    const before = new Map<InstanceRecord['id'], PlacedInstance | undefined>();
    for (const [key, record] of supposed) {
      const [, id] = segmentsOf('instances', key);
      before.set(id, cluster.instance(id));
      if (record === undefined) cluster.removeInstance(id);
      else cluster.addInstance(this.#placed(tenant, record));
    }
    try {
      return ask();
    } finally {
      for (const [id, instance] of before) {
        if (instance === undefined) cluster.removeInstance(id);
        else cluster.addInstance(instance);
      }
    }
  }

  close(): void {
    this.#unsubscribe();
    this.#clusters.clear();
  }

  #held(tenantId: TenantId): TenantCluster {
    const known = this.#clusters.get(tenantId);
    if (known) return known;
    const tenant = this.#store.forTenant(tenantId);
    const { regions, residencyEnforcement, residencyUnstated } = this.#settings;
    const held: TenantCluster = {
      tenant,
      cluster: new ClusterState({
        tenantId,
        isPlatformTenant: this.#store.getGlobal('tenants', tenantId)?.record.slug === PLATFORM_SLUG,
        controlPlaneNodes: this.#controlPlaneNodes,
        regions,
        residencyEnforcement,
        ...(residencyUnstated && { residencyUnstated }),
        quota: tenant.get('quota', 'quota')?.record ?? {},
      }),
      byNode: new Map(),
    };
    for (const { record } of tenant.list('nodes')) this.#describeNode(held, record.name);
    for (const { id, record } of tenant.list('instances')) this.#add(held, id, record);
    this.#clusters.set(tenantId, held);
    return held;
  }

  #take(change: ViewChange): void {
    if (change.kind === 'tenants') {
      // A tenant that is gone, or whose name changed: rebuilt when asked for.
      this.#clusters.delete(segmentsOf(change.kind, change.id)[0]);
      return;
    }
    if (change.kind === 'control-plane-nodes') {
      this.#takeControlPlane(segmentsOf(change.kind, change.id)[0]);
      return;
    }
    const held = change.tenantId === undefined ? undefined : this.#clusters.get(change.tenantId);
    if (held === undefined) return;
    switch (change.kind) {
      case 'nodes':
        this.#describeNode(held, segmentsOf(change.kind, change.id)[0]);
        break;
      case 'node-liveness':
        this.#takeLiveness(held, change);
        break;
      case 'instances':
        this.#takeInstance(held, change);
        break;
      case 'specs':
        if (change.before === undefined) this.#takeSpec(held, change.id);
        break;
      case 'quota':
        held.cluster.quota = held.tenant.get('quota', 'quota')?.record ?? {};
        break;
      default:
    }
  }

  /** Machines once named stay so: one whose control plane is only being restarted takes no foreign work meanwhile. */
  #takeControlPlane(node: NodeName): void {
    this.#controlPlaneNodes.add(node);
    for (const held of this.#clusters.values()) this.#describeNode(held, node);
  }

  #takeLiveness(held: TenantCluster, change: ViewChange<'node-liveness'>): void {
    const [before, after] = [change.before?.record, change.after?.record];
    if (before?.status === after?.status && before?.reason === after?.reason && before?.lost === after?.lost)
      return;
    const [node] = segmentsOf(change.kind, change.id);
    this.#describeNode(held, node);
    if (before?.lost === after?.lost) return;
    for (const record of held.byNode.get(node)?.values() ?? []) this.#count(held, record);
  }

  #takeInstance(held: TenantCluster, change: ViewChange<'instances'>): void {
    const [before, after] = [change.before?.record, change.after?.record];
    if (before !== undefined && before.nodeId !== after?.nodeId) this.#remove(held, change.id, before);
    if (after !== undefined) this.#add(held, change.id, after);
  }

  /** Instances may be listed before the snapshot that says what they take. */
  #takeSpec(held: TenantCluster, id: string): void {
    const [owner, specHash] = segmentsOf('specs', id);
    for (const { record } of held.tenant.collection('instances').listUnder(prefixOf('instances', owner))) {
      if (record.specHash === specHash) this.#count(held, record);
    }
  }

  #add(held: TenantCluster, id: string, record: InstanceRecord): void {
    const onNode = held.byNode.get(record.nodeId) ?? new Map<string, InstanceRecord>();
    onNode.set(id, record);
    held.byNode.set(record.nodeId, onNode);
    this.#count(held, record);
  }

  #remove(held: TenantCluster, id: string, record: InstanceRecord): void {
    const onNode = held.byNode.get(record.nodeId);
    onNode?.delete(id);
    if (onNode?.size === 0) held.byNode.delete(record.nodeId);
    held.cluster.removeInstance(record.id);
  }

  /**
   * What an instance takes is counted until its record goes, because its container may still be there. Not so on a lost node:
   * nothing new is placed there, and a quota that counted it would keep its replacement from starting.
   */
  #count(held: TenantCluster, record: InstanceRecord): void {
    if (this.#isLost(held, record.nodeId)) {
      held.cluster.removeInstance(record.id);
      return;
    }
    // Counted when it was placed, by the spec that its record names: of one that was known by then, nothing changes any more.
    const counted = held.cluster.instance(record.id);
    const stopping = record.wanted === 'stop';
    if (counted?.node === record.nodeId && counted.amounts !== NOTHING) {
      if (stopping !== (counted.stopping === true)) held.cluster.addInstance({ ...counted, stopping });
      return;
    }
    held.cluster.addInstance({ ...this.#placed(held.tenant, record), stopping });
  }

  #isLost({ cluster, tenant }: TenantCluster, node: NodeName): boolean {
    const known = cluster.node(node)?.node;
    const liveness =
      known === undefined ? tenant.get('node-liveness', idOf('node-liveness', node))?.record : known.liveness;
    return liveness?.lost === true;
  }

  #placed(tenant: TenantStore, { id, nodeId, deployment, specHash }: InstanceRecord): PlacedInstance {
    const spec = tenant.get('specs', idOf('specs', deployment, specHash))?.record;
    return { id, node: nodeId, deployment, ...taken(spec, this.defaultRequest) };
  }

  #describeNode(held: TenantCluster, name: NodeName): void {
    const record = held.tenant.get('nodes', idOf('nodes', name))?.record;
    if (record === undefined) {
      held.cluster.removeNode(name);
      return;
    }
    const liveness = held.tenant.get('node-liveness', idOf('node-liveness', name))?.record;
    const connected = this.#disconnected.get(held.tenant.tenantId)?.has(name) !== true;
    held.cluster.setNode({ record, ...(liveness && { liveness }), connected });
  }
}

/** Its request is asked for once, and most deployments are so: remembering it would cost more than making it again. */
function isOfOne(spec: Workload): boolean {
  return 'replicas' in spec && spec.replicas === 1;
}

function taken(
  spec: Workload | undefined,
  fallback: DefaultRequest,
): Pick<PlacedInstance, 'amounts' | 'counted' | 'hostPorts' | 'antiAffinity'> {
  if (spec === undefined) return { amounts: NOTHING };
  const antiAffinity = spec.placement?.antiAffinity;
  return {
    amounts: readableAmounts(() => requestedAmounts(spec.resources)),
    counted: readableAmounts(() => countedAmounts(spec.resources, fallback)),
    hostPorts: fixedHostPorts(spec),
    ...(antiAffinity && { antiAffinity }),
  };
}

/**
 * A request that cannot be read is a fault of the record, and its deployment fails to be planned, in the log. Thrown from
 * here it would end the watch of the whole store, for every tenant.
 */
function readableAmounts(read: () => Amounts): Amounts {
  try {
    return read();
  } catch {
    return NOTHING;
  }
}
