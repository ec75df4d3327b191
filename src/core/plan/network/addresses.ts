import {
  addressAt,
  type Cidr,
  cidrText,
  overlap,
  parseCidr,
  addressCount,
  subnetAt,
} from '../../model/ipv4.ts';
import type { NetworkPrefixes, SubnetRecord, VirtualAddressRecord } from '../../model/mesh.ts';

/** Who resolved or routed to it shall not reach somebody else there. */
export const HELD_MS = 24 * 3_600_000;
/** Whether the containers of a node that is to have another subnet are gone is looked up so often. */
export const DISPUTED_MS = 10_000;

/** Deployments that are to have an address, all of a tenant or some, and what is stored for them. */
export interface VirtualInput {
  readonly prefixes: NetworkPrefixes;
  readonly deployments: ReadonlySet<string>;
  readonly virtual: ReadonlyMap<string, VirtualAddressRecord>;
  /** Addresses that are taken besides. */
  readonly taken?: { has(address: string): boolean };
  /** None before it is free. */
  readonly from?: number;
  readonly nowMs: number;
}

export interface VirtualPlan {
  readonly virtual: ReadonlyMap<string, VirtualAddressRecord | undefined>;
  /** Deployments beyond the last virtual address. */
  readonly withoutAddress: readonly string[];
  /** None before it is free once this is stored. */
  readonly next: number;
  /** When something held becomes free. */
  readonly rechecks: readonly number[];
}

export interface AddressInput extends VirtualInput {
  /** Nodes that can take part, each with the networks that its machine has routes to. */
  readonly nodes: ReadonlyMap<string, readonly string[]>;
  /** Whether a node has containers: their subnet is not taken from them. */
  readonly isBusy: (node: string) => boolean;
  readonly subnets: ReadonlyMap<string, SubnetRecord>;
}

/** Undefined as a record: it goes. */
export interface AddressPlan extends Omit<VirtualPlan, 'rechecks'> {
  readonly subnets: ReadonlyMap<string, SubnetRecord | undefined>;
  /** Nodes for which there is no subnet, with why. */
  readonly without: ReadonlyMap<string, string>;
  /** Nodes that keep a subnet for their containers that they would not be given now, with why. */
  readonly disputed: ReadonlyMap<string, string>;
  /** Something held becomes free then. */
  readonly recheckInMs?: number;
}

/** Every node and every deployment keeps what it has; a new one gets what is free, a gone one's is held for a day. */
export function planAddresses(input: AddressInput): AddressPlan {
  const subnets = planHeld(input.subnets, input.nodes, input.nowMs, ({ subnet }) => ({ subnet }));
  const without = new Map<string, string>();
  const disputed = new Map<string, string>();
  giveSubnets(input, subnets.records, without, disputed);
  const { rechecks: heldMs, ...virtual } = planVirtual(input);
  const rechecks = [...subnets.rechecks, ...heldMs, ...(disputed.size > 0 ? [DISPUTED_MS] : [])];
  return {
    ...virtual,
    subnets: changed(input.subnets, subnets.records),
    without,
    disputed,
    ...(rechecks.length > 0 && { recheckInMs: least(rechecks) }),
  };
}

/** The part of deployments. With what others have as `taken`, it is the same for some of them as for all. */
export function planVirtual(input: VirtualInput): VirtualPlan {
  const { virtual, deployments, nowMs } = input;
  const { records, rechecks } = planHeld(virtual, deployments, nowMs, ({ address }) => ({ address }));
  const { without, next } = giveAddresses(input, records);
  return { virtual: changed(virtual, records), withoutAddress: without, next, rechecks };
}

/** Of more than can be arguments of a call. */
function least(values: readonly number[]): number {
  return values.reduce((one, other) => Math.min(one, other));
}

interface HeldPlan<T> {
  readonly records: Map<string, T>;
  readonly rechecks: readonly number[];
}

function planHeld<T extends { readonly releasedAtMs?: number }>(
  stored: ReadonlyMap<string, T>,
  used: { has(name: string): boolean },
  nowMs: number,
  inUse: (record: T) => T,
): HeldPlan<T> {
  const records = new Map<string, T>();
  const rechecks: number[] = [];
  for (const [name, record] of stored) {
    const { releasedAtMs } = record;
    if (used.has(name)) {
      records.set(name, releasedAtMs === undefined ? record : inUse(record));
      continue;
    }
    const leftMs = releasedAtMs === undefined ? HELD_MS : releasedAtMs + HELD_MS - nowMs;
    if (!(leftMs > 0)) continue;
    rechecks.push(leftMs);
    records.set(name, releasedAtMs === undefined ? { ...record, releasedAtMs: nowMs } : record);
  }
  return { records, rechecks };
}

function giveSubnets(
  input: AddressInput,
  records: Map<string, SubnetRecord>,
  without: Map<string, string>,
  disputed: Map<string, string>,
): void {
  const { prefixes, nodes, isBusy } = input;
  const all = parseCidr(prefixes.nodes);
  if (all === undefined) return;
  const everybodys = [...nodes.values()].flat();
  for (const [node, routes] of nodes) {
    const network = parseCidr(records.get(node)?.subnet ?? '');
    const isKept =
      network !== undefined &&
      overlap(all, network) &&
      // To take it away would cut off containers that run, and most routes do not keep anybody from them.
      (isBusy(node) || objectionTo(prefixes, cidrText(network), routes) === undefined);
    if (isKept) continue;
    const taken = [...records.values()].map(({ subnet }) => subnet);
    // The others have to reach it too.
    const shared = choose(prefixes, taken, everybodys);
    const choice = 'subnet' in shared ? shared : choose(prefixes, taken, routes);
    if ('subnet' in choice) records.set(node, { subnet: choice.subnet });
    else {
      records.delete(node);
      without.set(node, choice.why);
    }
  }
  for (const [node, routes] of nodes) {
    const why = disputeOf(prefixes, records, node, routes);
    if (why !== undefined) disputed.set(node, why);
  }
}

/** What is wrong with the subnet of a node, on a machine with these routes: it is kept, and not everything is reached. */
export function disputeOf(
  prefixes: NetworkPrefixes,
  records: ReadonlyMap<string, SubnetRecord>,
  node: string,
  routes: readonly string[],
): string | undefined {
  const subnet = records.get(node)?.subnet;
  const all = parseCidr(prefixes.nodes);
  if (subnet === undefined || all === undefined) return undefined;
  // Of several that fit, the machine takes the narrowest.
  const foreign = foreignWithin(prefixes.nodes, routes).filter(({ bits }) => bits > all.bits);
  const misleading = (other: string): Cidr | undefined => {
    const network = foreign.length === 0 ? undefined : parseCidr(other);
    return network && foreign.find((route) => overlap(route, network));
  };
  for (const [other, record] of records) {
    const route = other === node || record.releasedAtMs !== undefined ? undefined : misleading(record.subnet);
    if (route !== undefined)
      return `packets for ${other} (${record.subnet}) go elsewhere by a route of the machine: ${cidrText(route)}`;
  }
  return objectionTo(prefixes, subnet, routes);
}

/** Why a machine with these routes should not have the subnet. */
function objectionTo(
  { virtual }: NetworkPrefixes,
  subnet: string,
  routes: readonly string[],
): string | undefined {
  const [route] = foreignWithin(subnet, routes);
  return route === undefined
    ? virtualOverlap(virtual, routes)
    : `its subnet ${subnet} overlaps a route of the machine: ${cidrText(route)}`;
}

/** Virtual addresses are routed to the mesh as a whole, and those without a deployment are refused: none can be somebody else's. */
function virtualOverlap(virtual: string, routes: readonly string[]): string | undefined {
  const foreign = foreignWithin(virtual, routes);
  return foreign.length === 0
    ? undefined
    : `${virtual}, the prefix of virtual addresses, overlaps a route of the machine: ${foreign.map(cidrText).join(', ')}`;
}

function foreignWithin(network: string, routes: readonly string[]): readonly Cidr[] {
  const all = parseCidr(network);
  if (all === undefined) return [];
  return routes.flatMap((route) => parseCidr(route) ?? []).filter((route) => overlap(all, route));
}

/** Undefined: one is free for a machine with these routes, and it will be given. */
export function whyWithoutSubnet(
  prefixes: NetworkPrefixes,
  taken: readonly string[],
  routes: readonly string[],
): string | undefined {
  const choice = choose(prefixes, taken, routes);
  return 'why' in choice ? choice.why : undefined;
}

function choose(
  { nodes, nodeBits, virtual }: NetworkPrefixes,
  taken: readonly string[],
  routes: readonly string[],
): { readonly subnet: string } | { readonly why: string } {
  const all = parseCidr(nodes);
  const count = all === undefined ? 0 : addressCount(all) / addressCount({ bits: nodeBits });
  const foreign = foreignWithin(nodes, routes);
  const subnet = all && firstSubnet(all, nodeBits, count, new Set(taken), foreign);
  if (subnet === undefined) return { why: noSubnet(nodes, count, foreign) };
  const overlapping = virtualOverlap(virtual, routes);
  return overlapping === undefined ? { subnet } : { why: overlapping };
}

function firstSubnet(
  all: Cidr,
  bits: number,
  count: number,
  taken: ReadonlySet<string>,
  foreign: readonly Cidr[],
): string | undefined {
  for (let index = 0; index < count; index += 1) {
    const subnet = subnetAt(all, bits, index);
    if (subnet === undefined) return undefined;
    const text = cidrText(subnet);
    if (!taken.has(text) && !foreign.some((route) => overlap(subnet, route))) return text;
  }
  return undefined;
}

function noSubnet(prefix: string, count: number, foreign: readonly Cidr[]): string {
  if (foreign.length === 0) return `all ${count} subnets of ${prefix} are taken`;
  return `every free subnet of ${prefix} overlaps a route of the machine: ${foreign.map(cidrText).join(', ')}`;
}

function giveAddresses(
  { prefixes, deployments, taken: others, from = 1 }: VirtualInput,
  records: Map<string, VirtualAddressRecord>,
): { readonly without: readonly string[]; readonly next: number } {
  const all = parseCidr(prefixes.virtual);
  if (all === undefined) return { without: [...deployments], next: from };
  const taken = new Set([...records.values()].map(({ address }) => address));
  const isTaken = (address: string): boolean => taken.has(address) || others?.has(address) === true;
  const without: string[] = [];
  // The first and the last address of a network are no hosts, and on the one before the last every node answers names.
  let index = from;
  for (const name of deployments) {
    if (records.has(name)) continue;
    let address = addressAt(all, index);
    while (address !== undefined && isTaken(address)) address = addressAt(all, ++index);
    if (address === undefined || index >= addressCount(all) - 2) {
      without.push(name);
      continue;
    }
    taken.add(address);
    records.set(name, { address });
  }
  return { without, next: index };
}

function changed<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
): ReadonlyMap<string, T | undefined> {
  const changes = new Map<string, T | undefined>();
  for (const [name, record] of after) if (before.get(name) !== record) changes.set(name, record);
  for (const name of before.keys()) if (!after.has(name)) changes.set(name, undefined);
  return changes;
}
