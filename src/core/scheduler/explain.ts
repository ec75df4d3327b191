import { canonicalJson } from '../model/canonical.ts';
import type { NodeName } from '../model/ids.ts';
import type { ClusterState } from './cluster.ts';
import type { Filter, FilterName, Reason } from './filters/filter.ts';
import { FILTERS, reasonOf } from './filters/index.ts';
import { freeCpuMicros, freeDiskBytes, freeMemoryBytes, type NodeState } from './node-state.ts';
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

export interface JudgedNode {
  readonly node: NodeName;
  readonly fits: boolean;
  /** Every reason against the node, in the order of the filters. */
  readonly reasons: readonly Reason[];
}

export interface NodeExplanation extends JudgedNode {
  /** Every filter, in order, passed or not. */
  readonly outcomes: readonly FilterOutcome[];
}

/** Nodes that refuse for the same reasons. */
export interface RefusalGroup {
  readonly filters: readonly FilterName[];
  readonly nodes: number;
  /** The one of them that lacks least. */
  readonly nearest: NodeName;
}

export interface PlacementExplanation {
  /** Every node of the tenant, by name. */
  readonly nodes: readonly JudgedNode[];
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
  const nodes = states.map((state) => judgeNode(cluster, request, state));
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

function judgeNode(cluster: ClusterState, request: PlacementRequest, state: NodeState): JudgedNode {
  const reasons = FILTERS.flatMap((filter) => reasonOf(filter, state, request, cluster) ?? []);
  return { node: state.name, fits: reasons.length === 0, reasons };
}

/** With what each filter compared, also where it passed. */
export function explainNode(
  cluster: ClusterState,
  request: PlacementRequest,
  state: NodeState,
): NodeExplanation {
  const judged = judgeNode(cluster, request, state);
  const outcomes = FILTERS.map((filter) => {
    const reason = judged.reasons.find((one) => one.filter === filter.name);
    return outcomeOf(filter, reason, state, request, cluster);
  });
  return { ...judged, outcomes };
}

/** The nodes that refuse, by the filters that do: first those with the node that lacks least. */
export function refusalGroups(
  cluster: ClusterState,
  request: PlacementRequest,
  nodes: readonly JudgedNode[],
): readonly RefusalGroup[] {
  const groups = new Map<string, RefusalGroup & { readonly lack: number }>();
  for (const { node, fits, reasons } of nodes) {
    if (fits) continue;
    const filters = reasons.map(({ filter }) => filter);
    const lack = lackOf(cluster.node(node), request, filters);
    const key = filters.join();
    const known = groups.get(key);
    const nearer = known === undefined || lack < known.lack ? { nearest: node, lack } : known;
    const { nearest } = nearer;
    groups.set(key, { filters, nodes: (known?.nodes ?? 0) + 1, nearest, lack: nearer.lack });
  }
  return [...groups.values()]
    .toSorted((a, b) => a.lack - b.lack)
    .map(({ filters, nodes: count, nearest }) => ({ filters, nodes: count, nearest }));
}

/** One for each filter that refuses; less where a part of the room is there. */
function lackOf(
  state: NodeState | undefined,
  request: PlacementRequest,
  filters: readonly FilterName[],
): number {
  if (state === undefined) return filters.length;
  const { cpuMicros, memoryBytes, diskBytes } = request.amounts;
  const lacking = (asked: number, free: number): number => (asked > free ? (asked - free) / asked : 0);
  const parts: Partial<Record<FilterName, number>> = {
    capacity: Math.max(
      lacking(cpuMicros, freeCpuMicros(state)),
      lacking(memoryBytes, freeMemoryBytes(state)),
    ),
    disk: lacking(diskBytes, freeDiskBytes(state, request) ?? 0),
  };
  return filters.reduce((sum, filter) => sum + (parts[filter] ?? 1), 0);
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
  nodes: readonly JudgedNode[],
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

function summaryOf(nodes: readonly JudgedNode[]): string {
  if (nodes.length === 0) return ENROL;
  return nodes
    .map((node) => `${node.node}: ${node.reasons.map((reason) => reason.message).join('; ') || 'fits'}`)
    .join('\n');
}

const STEADY = new Set(FILTERS.filter((filter) => filter.steady).map((filter) => filter.name));

/** Free amounts move with every placement elsewhere: that a node is short is news, by how much is not. */
function digestInput(nodes: readonly JudgedNode[]): string {
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
