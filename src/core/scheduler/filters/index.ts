import type { NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';
import { agentFeatures } from './agent-features.ts';
import { antiAffinity } from './anti-affinity.ts';
import { backlog } from './backlog.ts';
import { blockedCountries } from './blocked-countries.ts';
import { capacity } from './capacity.ts';
import { conditions } from './conditions.ts';
import { constraints } from './constraints.ts';
import { controlPlane } from './control-plane.ts';
import { country } from './country.ts';
import { disk } from './disk.ts';
import { excluded } from './excluded.ts';
import type { ClusterFacts, Filter, Reason } from './filter.ts';
import { hostPort } from './host-port.ts';
import { hostPortAllowed } from './host-port-allowed.ts';
import { namedNode } from './named-node.ts';
import { network } from './network.ts';
import { platform } from './platform.ts';
import { quota } from './quota.ts';
import { region } from './region.ts';
import { residencyEnforcement } from './residency-enforcement.ts';
import { schedulable } from './schedulable.ts';
import { session } from './session.ts';
import { volume } from './volume.ts';

/** In the order in which reasons are listed. A new filter is a file and a line here. */
export const FILTERS: readonly Filter[] = [
  session,
  schedulable,
  conditions,
  controlPlane,
  namedNode,
  country,
  region,
  blockedCountries,
  residencyEnforcement,
  constraints,
  antiAffinity,
  volume,
  network,
  capacity,
  disk,
  platform,
  agentFeatures,
  hostPortAllowed,
  hostPort,
  excluded,
  backlog,
  quota,
];

export const NODE_FILTERS: readonly Filter[] = FILTERS.filter((filter) => filter.scope === 'node');
export const OCCUPANCY_FILTERS: readonly Filter[] = FILTERS.filter((filter) => filter.scope === 'occupancy');
/** All but the quota, which is the same for every node and asked once. */
export const PLACE_FILTERS: readonly Filter[] = FILTERS.filter((filter) => filter.scope !== 'tenant');

export function admitsAll(
  filters: readonly Filter[],
  node: NodeState,
  request: PlacementRequest,
  facts: ClusterFacts,
): boolean {
  for (const filter of filters) if (!filter.admits(node, request, facts)) return false;
  return true;
}

export function reasonOf(
  filter: Filter,
  node: NodeState,
  request: PlacementRequest,
  facts: ClusterFacts,
): Reason | undefined {
  if (filter.admits(node, request, facts)) return undefined;
  return {
    filter: filter.name,
    required: filter.required(request, facts),
    reported: filter.reported(node, request, facts),
    ...filter.refusal(node, request, facts),
  };
}
