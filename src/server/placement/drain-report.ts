import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import { ownerOf } from '../../core/model/owner.ts';
import { isExclusiveOnNode, isSingleWriter } from '../../core/plan/rollout/rollout.ts';
import { explain } from '../../core/scheduler/explain.ts';
import { overrunMessage, withinQuota } from '../../core/scheduler/filters/quota.ts';
import type { PlacementRequest } from '../../core/scheduler/request.ts';
import type { ClusterState } from '../../core/scheduler/cluster.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { refused, type RefusedNode, supposing } from './explanation.ts';
import type { TenantClusters } from './tenant-clusters.ts';
import { type VolumeMove, volumeMoves } from './volume-moves.ts';

export interface DrainReport {
  readonly movable: readonly {
    readonly instance: InstanceId;
    readonly deployment: string;
    readonly to: NodeName;
    /** Whether its successor is there before it stops; `switchover`: its volume moves along, and it stops meanwhile. */
    readonly how: 'start-first' | 'stop-first' | 'switchover';
    readonly why?: string;
  }[];
  readonly blocked: readonly {
    readonly instance: InstanceId;
    readonly deployment: string;
    readonly why: string;
    readonly nodes: readonly RefusedNode[];
  }[];
  /** Primaries that are there: where each moves to, or why it stays. */
  readonly volumes: readonly VolumeMove[];
  /** Ordered to stop and not gone yet. */
  readonly stopping: number;
}

/** On a lost machine nothing runs for us any more: its successors are elsewhere, and nobody could say that it is gone. */
export function isDead(tenant: TenantStore, { nodeId, wanted }: InstanceRecord): boolean {
  return (
    wanted === 'stop' && tenant.get('node-liveness', idOf('node-liveness', nodeId))?.record.lost === true
  );
}

/** Where the instances of a node could go if it were drained, taking into account the room that each of them takes. */
export function drainReport(clusters: TenantClusters, tenant: TenantStore, node: NodeName): DrainReport {
  const cluster = clusters.of(tenant.tenantId);
  const there = clusters.instancesOn(tenant.tenantId, node).filter((record) => !isDead(tenant, record));
  const leaving = there.filter((record) => record.wanted === 'run');
  const movable: DrainReport['movable'][number][] = [];
  const blocked: DrainReport['blocked'][number][] = [];
  const volumes = volumeMoves(clusters, tenant, node);
  return supposing(cluster, [], (suppose) => {
    for (const record of leaving) {
      const { id, deployment } = record;
      const owner = ownerOf(deployment);
      if (owner.kind === 'job') {
        const why = `a run of job ${owner.name} is under way; it is not moved: it ends by itself, or with POST /api/v1/jobs/${owner.name}/cancel`;
        blocked.push({ instance: id, deployment, why, nodes: [] });
        continue;
      }
      const kind = record.canary === true ? 'canaries' : 'deployments';
      const spec = tenant.get(kind, idOf(kind, owner.name))?.record.spec;
      if (spec === undefined) continue;
      const mounted = new Set(spec.volumes?.map(({ volumeId }) => volumeId));
      const along = volumes.filter(({ volumeId }) => mounted.has(volumeId));
      if (along.length > 0) {
        const held = along.find(({ to }) => to === undefined);
        const [first] = along;
        const why = along.map((move) => `volume ${move.volume}: ${move.why}`).join('; ');
        if (held === undefined && first?.to !== undefined)
          movable.push({ instance: id, deployment, to: first.to, how: 'switchover', why });
        else blocked.push({ instance: id, deployment, why, nodes: [] });
        continue;
      }
      const request = {
        ...clusters.request(tenant.tenantId, spec),
        exclude: new Map([[node, 'it is being drained']]),
      };
      const move = moveOf(cluster, spec, request, id, suppose);
      if (move !== undefined) {
        movable.push({ instance: id, deployment, ...move });
        continue;
      }
      const { summary, nodes } = explain(cluster, request);
      blocked.push({ instance: id, deployment, why: summary, nodes: nodes.map(refused) });
    }
    return { movable, blocked, volumes, stopping: there.length - leaving.length };
  });
}

type Move = Pick<DrainReport['movable'][number], 'to' | 'how' | 'why'>;

/** As the planner does it: beside the old one where there is room, and in its place where nothing but the old one is in the way. */
function moveOf(
  cluster: ClusterState,
  spec: DeploymentSpec,
  request: PlacementRequest,
  id: InstanceId,
  suppose: () => InstanceId,
): Move | undefined {
  const beside = isSingleWriter(spec) ? undefined : cluster.place(suppose(), request);
  if (beside !== undefined) return { to: beside.node, how: 'start-first' };
  const isOver = !withinQuota(request, cluster);
  if (!isOver && !isSingleWriter(spec) && !isExclusiveOnNode(spec)) return undefined;
  const why = isSingleWriter(spec)
    ? 'it writes to a volume, and two must not'
    : isOver
      ? `the quota has no room for both (${overrunMessage(request, cluster)})`
      : 'it holds something that its successor needs';
  const counted = cluster.instance(id);
  cluster.removeInstance(id);
  try {
    const chosen = cluster.choose(request);
    return chosen && { to: chosen.node, how: 'stop-first', why };
  } finally {
    if (counted !== undefined) cluster.addInstance(counted);
  }
}
