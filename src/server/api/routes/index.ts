import type { SessionSettings } from '../../access/session.ts';
import type { Admission } from '../../writes/admission.ts';
import type { JoinAddress } from '../../writes/nodes/join-tokens.ts';
import type { NetworkAdmission } from '../../writes/networks/network-stored.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import { ShownRecommendations } from '../../writes/deployments/recommendations.ts';
import type { VolumeAdmission } from '../../writes/volumes/volume-stored.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { TenantStandings } from '../../figures/tenant-standing.ts';
import type { Route, RouteRequest } from '../route.ts';
import { accessRoutes } from './access.ts';
import { attachedContainers, measuredVolume } from './agent-answers.ts';
import { archiveRoutes } from './archives.ts';
import { backupRoutes } from './backups.ts';
import { canaryRoutes } from './canaries.ts';
import { deploymentRoutes } from './deployments.ts';
import type { EventFeeds } from '../event-feed.ts';
import { historyRoutes } from './history.ts';
import { ingressRoutes } from './ingress.ts';
import { instanceOrderRoutes } from './instance-orders.ts';
import { instanceRoutes } from './instances.ts';
import { jobRoutes } from './jobs.ts';
import { joinTokenRoutes } from './join-tokens.ts';
import { networkRoutes } from './networks.ts';
import { nodeRoutes } from './nodes.ts';
import { recommendationRoutes } from './recommendations.ts';
import { type ScalingViews, scalingRoutes } from './scaling.ts';
import { secretRoutes } from './secrets.ts';
import { sessionRoutes } from './session.ts';
import { setRoutes } from './sets.ts';
import { snapshotRoutes } from './snapshots.ts';
import { type Histories, usageHistoryRoutes } from './usage-history.ts';
import { type SystemQuestions, systemRoutes } from './system.ts';
import { volumeRoutes } from './volumes.ts';
import { webhookRoutes } from './webhooks.ts';

export interface RouteDependencies {
  readonly admission: Admission;
  readonly standings: TenantStandings;
  readonly tokenKey: Buffer;
  readonly sessions: SessionSettings & { readonly signInsPerMinute: number };
  readonly dispatch: Dispatch;
  /** For the first epoch of a volume. */
  readonly volumeLeaseMs: number;
  readonly joinAddress: (request: RouteRequest) => JoinAddress;
  readonly scalingViews: ScalingViews;
  readonly histories: Histories;
  readonly questions: SystemQuestions;
  readonly eventFeeds: EventFeeds;
}

/** Every route under /api/v1, one list. */
export function apiRoutes({
  admission,
  standings,
  tokenKey,
  sessions,
  dispatch,
  volumeLeaseMs,
  joinAddress,
  scalingViews,
  histories,
  questions,
  eventFeeds,
}: RouteDependencies): readonly Route[] {
  const nodes: NodeAdmission = {
    admission,
    tokenKey,
    nodes: {
      runsControlPlane: (node) => admission.clusters.runsControlPlane(node),
      placedOn: (tenantId, node) => dispatch.placedOn(tenantId, node),
      lastSeenAt: (tenantId, node) => dispatch.lastSeenAt(tenantId, node),
      prefixes: () => admission.prefixes,
    },
  };
  const volumes: VolumeAdmission = {
    admission,
    leaseMs: volumeLeaseMs,
    seen: (tenantId, volumeId, node) => dispatch.volumeSeen(tenantId, volumeId, node),
  };
  const networks: NetworkAdmission = {
    admission,
    attached: (tenantId, node, network) => attachedContainers(dispatch, tenantId, node, network),
  };
  return [
    ...deploymentRoutes(admission),
    ...scalingRoutes(admission, scalingViews),
    ...usageHistoryRoutes(histories),
    ...canaryRoutes(admission),
    ...instanceRoutes(admission, dispatch),
    ...instanceOrderRoutes(admission, dispatch),
    ...jobRoutes(admission, dispatch),
    ...secretRoutes(admission),
    ...nodeRoutes(nodes, dispatch),
    ...joinTokenRoutes(nodes, joinAddress),
    ...networkRoutes(networks),
    ...setRoutes({ networks, volumes }),
    ...ingressRoutes(admission, dispatch),
    ...historyRoutes(eventFeeds),
    ...webhookRoutes(admission),
    ...archiveRoutes(admission),
    ...backupRoutes(admission),
    ...volumeRoutes(volumes),
    ...snapshotRoutes(volumes),
    ...recommendationRoutes({
      volumes,
      shown: new ShownRecommendations(),
      measure: (tenantId, node, volumeId) => measuredVolume(dispatch, tenantId, node, volumeId),
    }),
    ...accessRoutes(admission, standings, tokenKey),
    ...sessionRoutes(admission, tokenKey, sessions),
    ...systemRoutes(admission, questions),
  ];
}
