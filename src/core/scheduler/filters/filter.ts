import type { NodeName } from '../../model/ids.ts';
import type { Region, UnstatedCountry } from '../../model/region.ts';
import type { Quota } from '../../model/tenant.ts';
import type { AdvertisedLabels } from '../advertised-labels.ts';
import type { Amounts } from '../amounts.ts';
import type { NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';

export type FilterName =
  | 'session'
  | 'schedulable'
  | 'conditions'
  | 'control-plane'
  | 'named-node'
  | 'country'
  | 'region'
  | 'blocked-countries'
  | 'residency-enforcement'
  | 'constraints'
  | 'anti-affinity'
  | 'volume'
  | 'network'
  | 'capacity'
  | 'disk'
  | 'platform'
  | 'agent-features'
  | 'host-port-allowed'
  | 'host-port'
  | 'excluded'
  | 'backlog'
  | 'quota';

/** Why a node does not take a container, for the person who deploys. */
export interface Reason {
  readonly filter: FilterName;
  /** Stable; clients may compare it. */
  readonly code: string;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

/** What filters know besides the node and the request. All of it belongs to one tenant. */
export interface ClusterFacts {
  readonly isPlatformTenant: boolean;
  /** Machines that a control plane runs on. */
  readonly controlPlaneNodes: ReadonlySet<NodeName>;
  readonly regions: readonly Region[];
  readonly residencyEnforcement: boolean;
  readonly residencyUnstated: UnstatedCountry;
  /** More than half of the connected nodes have another time than the control plane: then nobody knows whose clock is wrong. */
  readonly clockDoubted: boolean;
  readonly quota: Quota;
  readonly containers: number;
  readonly total: Amounts;
  readonly advertised: () => AdvertisedLabels;
  readonly instancesOn: (node: NodeState, deployment: string) => number;
  /** Whether an instance on the node belongs to a deployment that refuses to share a node with this one. */
  readonly isRefusedOn: (node: NodeState, deployment: string) => boolean;
  readonly refusersOn: (node: NodeState, deployment: string) => readonly string[];
}

export interface Filter {
  readonly name: FilterName;
  /**
   * What the answer depends on besides the request. `node`: only the node's own description, so it can be remembered until
   * that changes. `occupancy`: what is placed on the node. `amounts`: free capacity. `tenant`: the same for every node.
   */
  readonly scope: 'node' | 'occupancy' | 'amounts' | 'tenant';
  /** Whether `reported` changes only by an action of a user, so that a change is worth an event. */
  readonly steady: boolean;
  admits(node: NodeState, request: PlacementRequest, facts: ClusterFacts): boolean;
  required(request: PlacementRequest, facts: ClusterFacts): string;
  reported(node: NodeState, request: PlacementRequest, facts: ClusterFacts): string;
  /** Asked only after `admits` said no. */
  refusal(node: NodeState, request: PlacementRequest, facts: ClusterFacts): Pick<Reason, 'code' | 'message'>;
}
