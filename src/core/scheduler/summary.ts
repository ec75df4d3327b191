import { formatBytes } from '../model/quantity.ts';
import { portsOutside } from '../model/port-ranges.ts';
import { cores } from './amounts.ts';
import type { ClusterFacts, FilterName, Reason } from './filters/filter.ts';
import { freeCpuMicros, freeDiskBytes, freeMemoryBytes, type NodeState } from './node-state.ts';
import type { PlacementRequest } from './request.ts';

/** What keeps a node from taking it, in words that are the same for all nodes that it keeps. */
interface Cause {
  /** What is needed; empty: the node itself is the cause. */
  readonly what: string;
  readonly one: string;
  readonly many: string;
  /** How near the node comes; the nearest is told. */
  readonly gap?: { readonly free: number; readonly text: string };
}

interface Asked {
  readonly reason: Reason;
  readonly state: NodeState;
  readonly request: PlacementRequest;
  readonly facts: ClusterFacts;
}

const its = (one: string, many: string): readonly Cause[] => [{ what: '', one, many }];
const lacking = (what: string): Cause => ({ what, one: 'lacks it', many: 'lack it' });
const elsewhere = (what: string, states: boolean): readonly Cause[] => [
  states
    ? { what, one: 'is elsewhere', many: 'are elsewhere' }
    : { what, one: 'does not say where it is', many: 'do not say where they are' },
];

/** Every filter has its words: one without does not compile. */
const CAUSES: Readonly<Record<FilterName, (asked: Asked) => readonly Cause[]>> = {
  session: () => its('is not ready', 'are not ready'),
  schedulable: ({ reason }) =>
    reason.code === 'node_draining'
      ? its('is being drained', 'are being drained')
      : its('is cordoned', 'are cordoned'),
  conditions: ({ reason }) => {
    const kind = reason.code.replace('node_condition_', '');
    if (kind === 'clock') return its('has another time', 'have another time');
    if (kind === 'engine') return its('has an engine that does not work', 'have engines that do not work');
    return its(`runs out of ${kind}`, `run out of ${kind}`);
  },
  'control-plane': () => its('runs the control plane', 'run the control plane'),
  'named-node': ({ request }) => [
    { what: `nodeId ${request.nodeId}`, one: 'is another', many: 'are others' },
  ],
  country: ({ reason }) => elsewhere(`country ${reason.required}`, reason.code !== 'country_unknown'),
  region: ({ reason }) => elsewhere(`region ${reason.required}`, reason.code !== 'region_unknown'),
  'blocked-countries': ({ reason }) =>
    elsewhere(`a country ${reason.required}`, reason.code !== 'country_unstated'),
  'residency-enforcement': () => [
    { what: 'residency is not enforced by this control plane', one: 'waits for that', many: 'wait for that' },
  ],
  constraints: ({ request, state: { node } }) =>
    Object.entries(request.placement?.constraints ?? {})
      .filter(([key, value]) => !Object.hasOwn(node.record.labels, key) || node.record.labels[key] !== value)
      .map(([key, value]) => lacking(`label ${key}=${value}`)),
  'anti-affinity': ({ state, request, facts }) => {
    const here = (request.placement?.antiAffinity ?? []).filter((name) => facts.instancesOn(state, name) > 0);
    const names = [...new Set([...here, ...facts.refusersOn(state, request.deployment)])].sort();
    return [{ what: `anti-affinity with ${names.join(', ')}`, one: 'runs it', many: 'run it' }];
  },
  volume: ({ request, state }) =>
    (request.volumes ?? [])
      .filter(({ nodes }) => !nodes.includes(state.name))
      .map(({ volume }) => ({ what: `volume ${volume}`, one: 'does not have it', many: 'do not have it' })),
  network: ({ request, state }) =>
    (request.networks ?? [])
      .filter(({ node }) => node !== state.name)
      .map(({ network }) => ({
        what: `network ${network}`,
        one: 'does not have it',
        many: 'do not have it',
      })),
  capacity: ({ request: { amounts }, state }) => {
    const cpu = freeCpuMicros(state);
    const memory = freeMemoryBytes(state);
    return [
      ...(amounts.cpuMicros > cpu ? [short(cores(amounts.cpuMicros), state, cpu, cores(cpu))] : []),
      ...(amounts.memoryBytes > memory
        ? [short(`${formatBytes(amounts.memoryBytes)} of memory`, state, memory, formatBytes(memory))]
        : []),
    ];
  },
  disk: ({ request, state }) => {
    const what = `${formatBytes(request.amounts.diskBytes)} of disk`;
    const free = freeDiskBytes(state, request);
    return free === undefined
      ? [{ what, one: 'does not say what it has', many: 'do not say what they have' }]
      : [short(what, state, free, formatBytes(free))];
  },
  platform: ({ reason }) => [
    { what: `platform ${reason.required}`, one: 'has another', many: 'have others' },
  ],
  'agent-features': ({ reason }) => [
    { what: `an agent that knows ${reason.required}`, one: 'has an older one', many: 'have older ones' },
  ],
  'host-port-allowed': ({ request: { hostPorts = [] }, state: { node } }) => [
    {
      what: `host port ${portsOutside(hostPorts, node.record.hostPorts).join(', ')}`,
      one: 'does not allow it',
      many: 'do not allow it',
    },
  ],
  'host-port': ({ request: { hostPorts = [] }, state }) => [
    {
      what: `host port ${hostPorts.filter((port) => state.hostPorts.has(port)).join(', ')}`,
      one: 'has it in use',
      many: 'have it in use',
    },
  ],
  excluded: () => its('is ruled out', 'are ruled out'),
  backlog: () => its('has too much to remove first', 'have too much to remove first'),
  // The same for every node.
  quota: ({ reason }) => [{ what: `quota: ${reason.message}`, one: '', many: '' }],
};

function short(what: string, { name }: NodeState, free: number, text: string): Cause {
  return { what, one: 'has less free', many: 'have less free', gap: { free, text: `${name} has ${text}` } };
}

interface Told extends Cause {
  readonly nodes: number;
}

const MAX_TOLD = 3;

export interface RefusedState {
  readonly state: NodeState;
  readonly reasons: readonly Reason[];
}

/** What keeps nodes from taking it, that of the nearest node first: the one with the fewest reasons. */
export function causesText(
  nodes: readonly RefusedState[],
  request: PlacementRequest,
  facts: ClusterFacts,
): string {
  const told = new Map<string, Told>();
  const refused = nodes.filter(({ reasons }) => reasons.length > 0);
  for (const { state, reasons } of refused.toSorted((a, b) => a.reasons.length - b.reasons.length)) {
    for (const reason of reasons) {
      for (const cause of CAUSES[reason.filter]({ reason, state, request, facts })) {
        const key = `${cause.what}|${cause.one}`;
        const known = told.get(key);
        told.set(key, { ...nearer(known, cause), nodes: (known?.nodes ?? 0) + 1 });
      }
    }
  }
  const all = [...told.values()];
  const more = all.length - MAX_TOLD;
  return [
    ...all.slice(0, MAX_TOLD).map(text),
    ...(more > 0 ? [`and ${more} more ${more === 1 ? 'reason' : 'reasons'}`] : []),
  ].join('; ');
}

function nearer(known: Told | undefined, cause: Cause): Cause {
  return known !== undefined && (known.gap?.free ?? 0) >= (cause.gap?.free ?? 0) ? known : cause;
}

function text({ what, one, many, gap, nodes }: Told): string {
  if (one === '') return what;
  const who = nodes === 1 ? `1 node ${one}` : `${nodes} nodes ${many}`;
  return `${what === '' ? '' : `${what}: `}${who}${gap === undefined ? '' : ` (${gap.text})`}`;
}
