import { addressAt, type Cidr, cidrText, overlap, parseCidr, sizeOf, subnetAt } from '../../model/ipv4.ts';
import type { NetworkPrefixes, SubnetRecord, VirtualAddressRecord } from '../../model/mesh.ts';

/** Who resolved or routed to it shall not reach somebody else there. */
export const HELD_MS = 24 * 3_600_000;

export interface AddressInput {
  readonly prefixes: NetworkPrefixes;
  /** Nodes that can take part, each with the networks that its machine has routes to. */
  readonly nodes: ReadonlyMap<string, readonly string[]>;
  readonly subnets: ReadonlyMap<string, SubnetRecord>;
  readonly deployments: ReadonlySet<string>;
  readonly virtual: ReadonlyMap<string, VirtualAddressRecord>;
  readonly nowMs: number;
}

/** Undefined as a record: it goes. */
export interface AddressPlan {
  readonly subnets: ReadonlyMap<string, SubnetRecord | undefined>;
  readonly virtual: ReadonlyMap<string, VirtualAddressRecord | undefined>;
  /** Nodes for which there is no subnet, with why. */
  readonly without: ReadonlyMap<string, string>;
  /** Deployments beyond the last virtual address. */
  readonly withoutAddress: readonly string[];
  /** Something held becomes free then. */
  readonly recheckInMs?: number;
}

/** Every node and every deployment keeps what it has; a new one gets what is free, a gone one's is held for a day. */
export function planAddresses(input: AddressInput): AddressPlan {
  const { nodes, deployments, nowMs } = input;
  const subnets = planHeld(input.subnets, nodes, nowMs, ({ subnet }) => ({ subnet }));
  const virtual = planHeld(input.virtual, deployments, nowMs, ({ address }) => ({ address }));
  const without = new Map<string, string>();
  giveSubnets(input, subnets.records, without);
  const withoutAddress = giveAddresses(input, virtual.records);
  const rechecks = [...subnets.rechecks, ...virtual.rechecks];
  return {
    subnets: changed(input.subnets, subnets.records),
    virtual: changed(input.virtual, virtual.records),
    without,
    withoutAddress,
    ...(rechecks.length > 0 && { recheckInMs: Math.min(...rechecks) }),
  };
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
  { prefixes, nodes }: AddressInput,
  records: Map<string, SubnetRecord>,
  without: Map<string, string>,
): void {
  const all = parseCidr(prefixes.nodes);
  if (all === undefined) return;
  const count = sizeOf(all) / sizeOf({ bits: prefixes.nodeBits });
  for (const [node, routes] of nodes) {
    const foreign = foreignWithin(all, routes);
    const held = parseCidr(records.get(node)?.subnet ?? '');
    if (held !== undefined && overlap(all, held) && !foreign.some((route) => overlap(held, route))) continue;
    const taken = new Set([...records.values()].map(({ subnet }) => subnet));
    const free = firstSubnet(all, prefixes.nodeBits, count, taken, foreign);
    if (free !== undefined) records.set(node, { subnet: free });
    else {
      records.delete(node);
      without.set(node, noSubnet(prefixes.nodes, count, foreign));
    }
  }
}

function foreignWithin(all: Cidr, routes: readonly string[]): readonly Cidr[] {
  return routes.flatMap((route) => parseCidr(route) ?? []).filter((route) => overlap(all, route));
}

/** Undefined: one is free for a machine with these routes, and it will be given. */
export function whyWithoutSubnet(
  { nodes, nodeBits }: NetworkPrefixes,
  taken: readonly string[],
  routes: readonly string[],
): string | undefined {
  const all = parseCidr(nodes);
  if (all === undefined) return undefined;
  const count = sizeOf(all) / sizeOf({ bits: nodeBits });
  const foreign = foreignWithin(all, routes);
  if (firstSubnet(all, nodeBits, count, new Set(taken), foreign) !== undefined) return undefined;
  return noSubnet(nodes, count, foreign);
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
  { prefixes, deployments }: AddressInput,
  records: Map<string, VirtualAddressRecord>,
): readonly string[] {
  const all = parseCidr(prefixes.virtual);
  if (all === undefined) return [...deployments];
  const taken = new Set([...records.values()].map(({ address }) => address));
  const without: string[] = [];
  // The first and the last address of a network are no hosts, and on the one before the last every node answers names.
  let index = 1;
  for (const name of deployments) {
    if (records.has(name)) continue;
    let address = addressAt(all, index);
    while (address !== undefined && taken.has(address)) address = addressAt(all, ++index);
    if (address === undefined || index >= sizeOf(all) - 2) {
      without.push(name);
      continue;
    }
    taken.add(address);
    records.set(name, { address });
  }
  return without;
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
