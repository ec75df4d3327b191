import { canonicalJson } from '../model/canonical.ts';
import type { NodeName } from '../model/ids.ts';
import type { ClusterState } from './cluster.ts';
import type { Filter, FilterName, Reason } from './filters/filter.ts';
import { FILTERS, reasonOf } from './filters/index.ts';
import type { NodeState } from './node-state.ts';
import { type HoldingPin, pinThatHolds } from './pin.ts';
import type { PlacementRequest } from './request.ts';
import { causesText } from './summary.ts';
import { compareScores, describeScore, type Score, scoreOf } from './score.ts';

export interface FilterOutcome {
  readonly filter: FilterName;
  readonly passed: boolean;
  readonly required: string;
  readonly reported: string;
}

export interface NodeExplanation {
  readonly node: NodeName;
  readonly fits: boolean;
  /** Every filter, in order, passed or not. */
  readonly outcomes: readonly FilterOutcome[];
  /** Every reason against the node, in the order of the filters. */
  readonly reasons: readonly Reason[];
}

export interface PlacementExplanation {
  /** Every node of the tenant, by name. */
  readonly nodes: readonly NodeExplanation[];
  readonly chosen?: { readonly node: NodeName; readonly why: string };
  /** `nodeId` alone keeps it from a node, and no node fits. */
  readonly pin?: HoldingPin;
  /** One line for the status. */
  readonly summary: string;
  /** Every node with its reasons, for the event. */
  readonly message: string;
  /** Equal texts: nothing that is worth another event has changed. */
  readonly reasonsDigestInput: string;
}

const ENROL =
  'no node is enrolled for this tenant: create a join token with POST /api/v1/join-tokens and run the line it answers on a host';

/** All filters on all nodes: what `choose` would do, explained. Walks every node, so it is for people, not for every decision. */
export function explain(cluster: ClusterState, request: PlacementRequest): PlacementExplanation {
  const states = cluster.nodes();
  const nodes = states.map((state) => explainNode(cluster, request, state));
  const fitting = states.filter((_, at) => nodes[at]?.fits);
  const best = fitting
    .map((state) => scoreOf(state, cluster.instancesOn(state, request.deployment)))
    .reduce<Score | undefined>((a, b) => (a !== undefined && compareScores(a, b) < 0 ? a : b), undefined);
  const pin = pinThatHolds(request, nodes);
  return {
    nodes,
    ...(best && { chosen: { node: best.node, why: describeScore(best, request.deployment) } }),
    ...(pin && { pin }),
    summary: [summarise(nodes, states, request, cluster), ...(pin ? [pin.message] : [])].join('; '),
    message: [summaryOf(nodes), ...(pin ? [pin.message] : [])].join('\n'),
    reasonsDigestInput: digestInput(nodes),
  };
}

export function explainNode(
  cluster: ClusterState,
  request: PlacementRequest,
  state: NodeState,
): NodeExplanation {
  const outcomes: FilterOutcome[] = [];
  const reasons: Reason[] = [];
  for (const filter of FILTERS) {
    const reason = reasonOf(filter, state, request, cluster);
    if (reason) reasons.push(reason);
    outcomes.push(outcomeOf(filter, reason, state, request, cluster));
  }
  return { node: state.name, fits: reasons.length === 0, outcomes, reasons };
}

function outcomeOf(
  filter: Filter,
  reason: Reason | undefined,
  state: NodeState,
  request: PlacementRequest,
  cluster: ClusterState,
): FilterOutcome {
  return {
    filter: filter.name,
    passed: reason === undefined,
    required: reason?.required ?? filter.required(request, cluster),
    reported: reason?.reported ?? filter.reported(state, request, cluster),
  };
}

/** `label disk=ssd: 1 node lacks it`: what is missing, and how many nodes it keeps; all of a node are in its reasons. */
function summarise(
  nodes: readonly NodeExplanation[],
  states: readonly NodeState[],
  request: PlacementRequest,
  cluster: ClusterState,
): string {
  if (nodes.length === 0) return ENROL;
  const fitting = nodes.filter((node) => node.fits).length;
  const refused = states.map((state, at) => ({ state, reasons: nodes[at]?.reasons ?? [] }));
  const causes = causesText(refused, request, cluster);
  if (fitting === 0) return causes;
  const noun = nodes.length === 1 ? 'node fits' : 'nodes fit';
  return `${fitting} of ${nodes.length} ${noun}${causes === '' ? '' : `: ${causes}`}`;
}

function summaryOf(nodes: readonly NodeExplanation[]): string {
  if (nodes.length === 0) return ENROL;
  return nodes
    .map((node) => `${node.node}: ${node.reasons.map((reason) => reason.message).join('; ') || 'fits'}`)
    .join('\n');
}

const STEADY = new Set(FILTERS.filter((filter) => filter.steady).map((filter) => filter.name));

/** Free amounts move with every placement elsewhere: that a node is short is news, by how much is not. */
function digestInput(nodes: readonly NodeExplanation[]): string {
  return canonicalJson(
    nodes.map((node) => [
      node.node,
      node.reasons.map(({ filter, code, required, reported }) => [
        code,
        required,
        STEADY.has(filter) ? reported : '',
      ]),
    ]),
  );
}
