import { standingOf } from '../../../core/contract/instance-standing.ts';
import type { Deployment, Job, Node } from '../../lib/records.ts';

/** How an instance stands, in as many kinds as can be told apart at a glance. */
export const KINDS = {
  well: { letter: 'R', title: 'running', look: 'bg-ok text-surface' },
  starting: { letter: 'S', title: 'starting', look: 'bg-info text-surface' },
  failed: { letter: 'F', title: 'failed', look: 'bg-bad text-surface rounded-none' },
  unknown: {
    letter: '?',
    title: 'unknown: its node does not answer',
    look: 'border border-warn bg-warn-soft text-warn',
  },
  job: { letter: 'J', title: 'run of a job', look: 'bg-accent text-on-accent rounded-full' },
  unplaced: { letter: 'W', title: 'waiting for a node', look: 'border border-dashed border-warn text-warn' },
} as const;

export type Kind = keyof typeof KINDS;

export interface Cell {
  readonly id: string;
  readonly owner: string;
  readonly kind: Kind;
  readonly isCanary: boolean;
  readonly to: string;
  /** What it says of itself. */
  readonly text: string;
}

export interface Place {
  readonly name: string;
  /** Absent: what no node has. */
  readonly node?: Node;
  readonly cells: readonly Cell[];
  /** The same as long as nothing in it has changed. */
  readonly sign: string;
}

type Seen = Deployment['status']['instances'][number];

export function kindOf(instance: Seen): Kind {
  const { state, health } = standingOf(instance);
  if (instance.nodeStatus !== undefined) return 'unknown';
  if (state === 'failed' || state === 'exited' || health === 'unhealthy') return 'failed';
  return state === 'running' && health !== 'starting' ? 'well' : 'starting';
}

function ofInstance(deployment: string, instance: Seen): Cell {
  const { state, health } = standingOf(instance);
  return {
    id: instance.id,
    owner: deployment,
    kind: kindOf(instance),
    isCanary: instance.canary === true,
    to: `/deployments/${deployment}/instances/${instance.id}`,
    text: state === 'running' && health !== undefined ? health : state,
  };
}

function unplaced({ name, status }: Deployment): readonly Cell[] {
  if (status.phase !== 'Pending' && status.phase !== 'Degraded') return [];
  return Array.from({ length: Math.max(0, status.desired - status.placed) }, (_, at) => ({
    id: `${name}/${at}`,
    owner: name,
    kind: 'unplaced' as const,
    isCanary: false,
    to: `/deployments/${name}/explain`,
    text: 'no node takes it',
  }));
}

function ofJob({ name, status }: Job): readonly (readonly [node: string, Cell])[] {
  const run = status.runs[0];
  if (run?.nodeId === undefined || run.state !== 'Running') return [];
  const cell: Cell = {
    id: run.id,
    owner: name,
    kind: 'job',
    isCanary: false,
    to: `/jobs/${name}`,
    text: 'runs',
  };
  return [[run.nodeId, cell]];
}

function place(name: string, cells: readonly Cell[], node?: Node): Place {
  const sign = `${node?.status ?? ''} ${node?.schedulable ?? ''} ${node?.draining ?? ''} ${cells.map(({ id, kind, text }) => `${id}${kind}${text}`).join()}`;
  return { name, cells, sign, ...(node === undefined ? {} : { node }) };
}

/** Every node with what is on it, by name; first what no node has. */
export function placesOf(
  nodes: readonly Node[],
  deployments: readonly Deployment[],
  jobs: readonly Job[],
): readonly Place[] {
  const byNode = new Map<string, Cell[]>(nodes.map(({ name }) => [name, []]));
  const put = (node: string, cell: Cell) => {
    const cells = byNode.get(node);
    if (cells === undefined) byNode.set(node, [cell]);
    else cells.push(cell);
  };
  for (const { name, status } of deployments)
    for (const instance of status.instances) put(instance.nodeId, ofInstance(name, instance));
  for (const job of jobs) for (const [node, cell] of ofJob(job)) put(node, cell);
  const waiting = deployments.flatMap(unplaced);
  const known = new Map(nodes.map((node) => [node.name, node]));
  return [
    ...(waiting.length === 0 ? [] : [place('On no node', waiting)]),
    ...[...byNode].map(([name, cells]) => place(name, cells, known.get(name))),
  ];
}
