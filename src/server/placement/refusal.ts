import { hash } from 'node:crypto';
import type { NodeName } from '../../core/model/ids.ts';
import type { PlacementRefusal } from '../../core/plan/rollout/placer.ts';
import type { JudgedNode, PlacementExplanation } from '../../core/scheduler/explain.ts';
import type { FilterName, Reason } from '../../core/scheduler/filters/filter.ts';

/** Up to so many nodes an event lists each with its reasons; beyond, nodes with the same reasons share an entry. */
const LISTED_NODES = 200;

const RESIDENCY: ReadonlySet<FilterName> = new Set([
  'country',
  'region',
  'blocked-countries',
  'residency-enforcement',
]);
/** What these report differs from node to node and says little: one node stands for all that are short. */
const VARYING: ReadonlySet<FilterName> = new Set(['capacity', 'disk', 'quota']);

interface ReasonGroup {
  readonly nodes: NodeName[];
  readonly reasons: readonly Reason[];
}

/** Every node is named with its reasons, of many in the details alone: the message is what a person reads. */
export function refusalOf(explanation: PlacementExplanation): PlacementRefusal {
  const { nodes, summary, reasonsDigestInput } = explanation;
  const isLarge = nodes.length > LISTED_NODES;
  const groups = isLarge ? groupByReasons(nodes) : [];
  return {
    ok: false,
    summary,
    message: isLarge ? `${summary}; every node with its reasons is in the details` : explanation.message,
    details: isLarge ? { groups } : { nodes: nodes.map(({ node, reasons }) => ({ node, reasons })) },
    digest: hash('sha256', reasonsDigestInput, 'base64url'),
    residency:
      nodes.length > 0 &&
      nodes.every(({ reasons }) => reasons.some((reason) => RESIDENCY.has(reason.filter))),
    quota: nodes.some(({ reasons }) => reasons.some(({ filter }) => filter === 'quota')),
  };
}

function groupByReasons(nodes: readonly JudgedNode[]): readonly ReasonGroup[] {
  const groups = new Map<string, ReasonGroup>();
  for (const { node, reasons } of nodes) {
    const key = reasons
      .map(({ filter, code, reported }) => `${code}=${VARYING.has(filter) ? '' : reported}`)
      .join('|');
    const group = groups.get(key);
    if (group) group.nodes.push(node);
    else groups.set(key, { nodes: [node], reasons });
  }
  return [...groups.values()];
}
