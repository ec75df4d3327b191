import type { Warning } from '../model/announcement.ts';
import type { NodeName } from '../model/ids.ts';
import type { ClusterState } from './cluster.ts';
import { blockedCountries } from './filters/blocked-countries.ts';
import { country } from './filters/country.ts';
import type { Reason } from './filters/filter.ts';
import { reasonOf } from './filters/index.ts';
import { region } from './filters/region.ts';
import type { PlacementRequest } from './request.ts';
import { constrainsResidency, countryOf, unstatedWarning } from './residency.ts';

const RESIDENCY_FILTERS = [country, region, blockedCountries];

/**
 * Why a node that has an instance must not have it by the residency that its deployment asks for; none while nobody enforces
 * residency, as then no other node would be a better place.
 */
export function residencyReasons(
  cluster: ClusterState,
  request: PlacementRequest,
  node: NodeName,
): readonly Reason[] {
  if (!cluster.residencyEnforcement || !constrainsResidency(request.placement?.residency)) return [];
  const state = cluster.node(node);
  if (state === undefined) return [];
  return RESIDENCY_FILTERS.flatMap((filter) => reasonOf(filter, state, request, cluster) ?? []);
}

/** The reasons in one sentence, which quotes what is required and what the node reports. */
export function misplacedMessage(reasons: readonly Reason[]): string | undefined {
  return reasons.length === 0 ? undefined : reasons.map(({ message }) => message).join('; ');
}

/** What an explanation says of nodes that no list of blocked countries can judge. */
export function unstatedNodes(cluster: ClusterState, request: PlacementRequest): readonly Warning[] {
  const names = cluster
    .nodes()
    .filter(({ node }) => countryOf(node.record.labels) === undefined)
    .map(({ name }) => name);
  return unstatedWarning(request.placement?.residency, names, cluster.residencyUnstated);
}
