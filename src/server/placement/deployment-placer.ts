import { createHash } from 'node:crypto';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { Placed, PlacementRefusal, Placer } from '../../core/planner/placer.ts';
import type { Cluster } from '../../core/scheduler/cluster.ts';
import { explain, type PlacementExplanation } from '../../core/scheduler/explain.ts';
import {
  type PlacementRequest,
  placementRequest,
  type VolumeRequirement,
  volumeRequirement,
} from '../../core/scheduler/request.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';

export function requestFor(tenant: TenantStore, spec: DeploymentSpec): PlacementRequest {
  if ((spec.volumes ?? []).length === 0) return placementRequest(spec);
  return placementRequest(spec, { volumes: volumeRequirements(tenant, spec) });
}

function volumeRequirements(tenant: TenantStore, spec: DeploymentSpec): readonly VolumeRequirement[] {
  return (spec.volumes ?? []).flatMap((mount) => {
    const volume = tenant.get('volumes', joinId(mount.volumeId))?.record;
    // Admission saw the volume; if it is gone since, no node can serve the mount.
    if (volume === undefined) return [{ volume: mount.volumeId, access: 'local' as const, nodes: [] }];
    return volumeRequirement(volume, mount) ?? [];
  });
}

const RESIDENCY_FILTERS: ReadonlySet<string> = new Set([
  'country',
  'region',
  'blocked-countries',
  'residency-enforcement',
]);

export function refusalOf(explanation: PlacementExplanation): PlacementRefusal {
  const { nodes, summary, message, reasonsDigestInput } = explanation;
  return {
    ok: false,
    summary,
    message,
    details: { nodes: nodes.map(({ node, reasons }) => ({ node, reasons })) },
    digest: createHash('sha256').update(reasonsDigestInput).digest('base64url'),
    residency:
      nodes.length > 0 &&
      nodes.every(({ reasons }) => reasons.some((reason) => RESIDENCY_FILTERS.has(reason.filter))),
  };
}

/** The scheduler bound to one deployment's spec. What `place` answers is counted in the cluster at once. */
export class DeploymentPlacer implements Placer {
  readonly #cluster: Cluster;
  readonly #request: PlacementRequest;
  readonly #nextId: () => InstanceId;

  constructor(cluster: Cluster, request: PlacementRequest, nextId: () => InstanceId) {
    this.#cluster = cluster;
    this.#request = request;
    this.#nextId = nextId;
  }

  place(): Placed | PlacementRefusal {
    const id = this.#nextId();
    const chosen = this.#cluster.place(id, this.#request);
    if (chosen !== undefined) return { ok: true, id, nodeId: chosen.node };
    return refusalOf(explain(this.#cluster, this.#request));
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
