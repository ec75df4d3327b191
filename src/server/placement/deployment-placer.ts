import type { DefaultRequest } from '../../core/model/counted.ts';
import type { Workload } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import { namedNetworks } from '../../core/model/network.ts';
import type { Placed, PlacementRefusal, Placer } from '../../core/plan/rollout/placer.ts';
import type { ClusterState } from '../../core/scheduler/cluster.ts';
import { explain } from '../../core/scheduler/explain.ts';
import {
  type NetworkRequirement,
  type PlacementRequest,
  placementRequest,
  type VolumeRequirement,
  volumeRequirement,
} from '../../core/scheduler/request.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { refusalOf } from './refusal.ts';

export function requestFor(tenant: TenantStore, spec: Workload, fallback?: DefaultRequest): PlacementRequest {
  const networks = networkRequirements(tenant, spec);
  const facts = {
    ...((spec.volumes ?? []).length > 0 && { volumes: volumeRequirements(tenant, spec) }),
    ...(networks.length > 0 && { networks }),
  };
  return placementRequest(spec, facts, fallback);
}

function networkRequirements(tenant: TenantStore, spec: Workload): readonly NetworkRequirement[] {
  return namedNetworks(spec).map((network) => {
    const node = tenant.get('networks', idOf('networks', network))?.record.nodeId;
    return { network, ...(node !== undefined && { node }) };
  });
}

function volumeRequirements(tenant: TenantStore, spec: Workload): readonly VolumeRequirement[] {
  return (spec.volumes ?? []).flatMap((mount): readonly VolumeRequirement[] | VolumeRequirement => {
    const volume = tenant.get('volumes', idOf('volumes', mount.volumeId))?.record;
    // Admission saw the volume; if it is gone since, no node can serve the mount.
    if (volume === undefined) return [{ volume: mount.volumeId, access: 'local' as const, nodes: [] }];
    // Only supposed: it is made where its first instance is placed.
    if (volume.phase === 'Ready' && volume.primaryNodeId === undefined) return [];
    return volumeRequirement(volume, mount) ?? [];
  });
}

export interface PlacerOptions {
  readonly nextId: () => InstanceId;
  /** The answer of an earlier refusal that is recent enough to be given again: an explanation walks every node. */
  readonly knownRefusal?: PlacementRefusal;
  /** Nodes that are to have no new instance, each with the reason for people. */
  readonly exclude?: ReadonlyMap<NodeName, string>;
}

/** Of a tenant without nodes, whatever it asks for: one for all that wait for the first node. */
let noNodes: PlacementRefusal | undefined;

/** The scheduler bound to one deployment's spec. What `place` answers is counted in the cluster at once. */
export class DeploymentPlacer implements Placer {
  readonly #cluster: ClusterState;
  readonly #request: PlacementRequest;
  readonly #options: PlacerOptions;

  constructor(cluster: ClusterState, request: PlacementRequest, options: PlacerOptions) {
    this.#cluster = cluster;
    this.#request = withoutNodes(request, options.exclude);
    this.#options = options;
  }

  place(): Placed | PlacementRefusal {
    if (!this.#cluster.hasNodes) return (noNodes ??= refusalOf(explain(this.#cluster, this.#request)));
    const id = this.#options.nextId();
    const chosen = this.#cluster.place(id, this.#request);
    if (chosen !== undefined) return { ok: true, id, nodeId: chosen.node };
    return this.#options.knownRefusal ?? refusalOf(explain(this.#cluster, this.#request));
  }

  refusalElsewhere({ nodeId }: Pick<InstanceRecord, 'nodeId'>, why: string): PlacementRefusal | undefined {
    const request = withoutNodes(this.#request, new Map([[nodeId, why]]));
    if (this.#cluster.choose(request) !== undefined) return undefined;
    return refusalOf(explain(this.#cluster, request));
  }

  fitsInsteadOf({ id }: Pick<InstanceRecord, 'id'>): boolean {
    const counted = this.#cluster.instance(id);
    if (counted === undefined) return this.#cluster.choose(this.#request) !== undefined;
    this.#cluster.removeInstance(id);
    try {
      return this.#cluster.choose(this.#request) !== undefined;
    } finally {
      this.#cluster.addInstance(counted);
    }
  }
}

function withoutNodes(
  request: PlacementRequest,
  exclude: ReadonlyMap<NodeName, string> | undefined,
): PlacementRequest {
  if (exclude === undefined || exclude.size === 0) return request;
  return { ...request, exclude: new Map([...(request.exclude ?? []), ...exclude]) };
}
