import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { segmentsOf } from '../store/record-ids.ts';
import { type QuotaSources, quotaUses } from './quota-figures.ts';
import { nodeState, type StateTallies, type Tallied, type TenantTally } from './state-tallies.ts';

export interface StandingSources extends QuotaSources {
  readonly tallies: StateTallies;
  /** That such a node takes no instances of a tenant is no trouble. */
  readonly runsControlPlane: (node: NodeName) => boolean;
}

export type TenantStandings = (tenantId: TenantId) => ReturnType<typeof tenantStanding>;

/** How the records of a tenant stand, from totals that are kept as they change: no record is walked, but those in trouble. */
export function tenantStanding(sources: StandingSources, tenantId: TenantId) {
  const tally = sources.tallies.of(tenantId);
  const { desired = 0, healthy = 0 } = tally?.instances ?? {};
  const trouble = (of: keyof TenantTally['trouble']) => tally?.trouble[of].size ?? 0;
  return {
    nodes: { total: total(tally, 'nodes'), ready: tally?.states.nodes.get('ready') ?? 0 },
    deployments: {
      total: total(tally, 'deployments'),
      running: tally?.states.deployments.get('Running') ?? 0,
    },
    instances: { desired, healthy },
    jobs: total(tally, 'jobs'),
    volumes: total(tally, 'volumes'),
    attention: {
      deployments: trouble('deployments'),
      nodes: troubledNodes(sources, tenantId, tally),
      jobs: trouble('jobs'),
      volumes: trouble('volumes'),
    },
    quota: quotaUses(sources, tenantId).map(({ resource, used, limit, isOwn }) => ({
      resource,
      used,
      limit,
      own: isOwn,
    })),
  };
}

function total(tally: TenantTally | undefined, of: Tallied): number {
  return [...(tally?.states[of].values() ?? [])].reduce((sum, count) => sum + count, 0);
}

function troubledNodes(
  { store, runsControlPlane }: StandingSources,
  tenantId: TenantId,
  tally: TenantTally | undefined,
): number {
  const own = store.forTenant(tenantId);
  const isOfOthers = (id: string): boolean => {
    const record = own.get('nodes', id)?.record;
    const state = record && nodeState(record, own.get('node-liveness', id)?.record);
    return state === 'not_ready' && runsControlPlane(segmentsOf('nodes', id)[0]);
  };
  return [...(tally?.trouble.nodes ?? [])].filter((id) => !isOfOthers(id)).length;
}
