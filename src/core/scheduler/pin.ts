import type { NodeName } from '../model/ids.ts';
import { type OwnerName, ownerOf } from '../model/owner.ts';
import type { Reason } from './filters/filter.ts';
import type { PlacementRequest } from './request.ts';

/** `nodeId` names a node that cannot take the workload, and without it another one could. */
export interface HoldingPin {
  readonly nodeId: string;
  /** Nodes that nothing but the pin speaks against. */
  readonly fitWithout: readonly NodeName[];
  readonly message: string;
  /** The write that clears it. */
  readonly clearedBy: {
    readonly method: string;
    readonly path: string;
    readonly body: Readonly<Record<string, unknown>>;
  };
}

interface ExplainedNode {
  readonly node: NodeName;
  readonly fits: boolean;
  readonly reasons: readonly Reason[];
}

const MAX_NAMED = 5;

export function pinThatHolds(
  { nodeId, deployment }: PlacementRequest,
  nodes: readonly ExplainedNode[],
): HoldingPin | undefined {
  if (nodeId === undefined || nodes.some(({ fits }) => fits)) return undefined;
  const fitWithout = nodes
    .filter(({ reasons }) => reasons.every(({ filter }) => filter === 'named-node'))
    .map(({ node }) => node);
  if (fitWithout.length === 0) return undefined;
  const more = fitWithout.length > MAX_NAMED ? ` and ${fitWithout.length - MAX_NAMED} more` : '';
  const fit = `${fitWithout.slice(0, MAX_NAMED).join(', ')}${more}`;
  const clearedBy = clearing(deployment);
  const how = `${clearedBy.method} ${clearedBy.path} ${JSON.stringify(clearedBy.body)}`;
  const message = `the pin nodeId ${nodeId} holds it back: without it ${fit} would take it; clear it with ${how}`;
  return { nodeId, fitWithout, message, clearedBy };
}

function clearing(owner: OwnerName): HoldingPin['clearedBy'] {
  const { kind, name } = ownerOf(owner);
  const records = kind === 'deployment' ? 'deployments' : 'jobs';
  return { method: 'PUT', path: `/api/v1/${records}/${name}`, body: { nodeId: null } };
}
