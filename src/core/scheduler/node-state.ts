import type { NodeName } from '../model/ids.ts';
import type { NodeLiveness, NodeRecord } from '../model/node.ts';
import { type Amounts, amountsOf, NOTHING } from './amounts.ts';
import type { PlacementRequest } from './request.ts';

/** What placement reads of a node: its record, its liveness, and whether its agent has a session now. */
export interface ClusterNode {
  readonly record: Pick<
    NodeRecord,
    | 'name'
    | 'tenantId'
    | 'schedulable'
    | 'draining'
    | 'labels'
    | 'capacity'
    | 'platform'
    | 'features'
    | 'hostPorts'
    | 'notReady'
    | 'conditions'
    | 'disk'
  >;
  /** Absent: the node was enrolled and has never reported. */
  readonly liveness?: Pick<NodeLiveness, 'status' | 'reason' | 'lost'>;
  readonly connected: boolean;
}

/** A node together with what is placed on it, as filters and score see it. */
export interface NodeState {
  readonly slot: number;
  readonly name: NodeName;
  readonly node: ClusterNode;
  readonly capacity: Amounts;
  readonly usedCpuMicros: number;
  readonly usedMemoryBytes: number;
  readonly usedDiskBytes: number;
  /** Instances that its agent was ordered to remove and that may still be there. */
  readonly stopping: number;
  /** Which deployments hold each fixed host port. */
  readonly hostPorts: ReadonlyMap<number, readonly string[]>;
}

type Usage = Pick<NodeState, 'capacity' | 'usedCpuMicros' | 'usedMemoryBytes'>;

/** A node whose requests exceed a capacity that shrank has nothing free, not less: a request for nothing still fits. */
export function freeCpuMicros(state: Usage): number {
  return Math.max(0, state.capacity.cpuMicros - state.usedCpuMicros);
}

export function freeMemoryBytes(state: Usage): number {
  return Math.max(0, state.capacity.memoryBytes - state.usedMemoryBytes);
}

/**
 * Undefined: its agent does not say, since it is older or its engine's disk is on another machine. What has to be where its volume is goes
 * by the size of the disk, as by that of memory: that somebody else filled it meanwhile does not keep a database down.
 */
export function freeDiskBytes(
  { name, node, usedDiskBytes }: Pick<NodeState, 'name' | 'node' | 'usedDiskBytes'>,
  { volumes = [] }: Pick<PlacementRequest, 'volumes'>,
): number | undefined {
  const { disk } = node.record;
  if (disk === undefined) return undefined;
  const isBound = volumes.some(({ nodes }) => nodes.includes(name));
  return Math.max(0, (isBound ? disk.totalBytes : disk.roomBytes) - usedDiskBytes);
}

const NO_PORTS: ReadonlyMap<number, readonly string[]> = new Map();

/**
 * The mutable side of `NodeState`. It outlives its node's record: instances may be loaded before their node, and stay
 * counted when the node is removed under them.
 */
export class NodeLedger {
  readonly slot: number;
  readonly name: NodeName;
  node: ClusterNode | undefined;
  capacity: Amounts = NOTHING;
  usedCpuMicros = 0;
  usedMemoryBytes = 0;
  usedDiskBytes = 0;
  instances = 0;
  stopping = 0;
  /** New whenever the node's own description changes, and never used twice in a cluster, slots being reused. */
  revision = 0;
  /** Absent before the first: most nodes have none, and an empty map takes 400 bytes. */
  #hostPorts: Map<number, string[]> | undefined;

  constructor(slot: number, name: NodeName) {
    this.slot = slot;
    this.name = name;
  }

  get hostPorts(): ReadonlyMap<number, readonly string[]> {
    return this.#hostPorts ?? NO_PORTS;
  }

  describe(node: ClusterNode | undefined, revision: number): void {
    this.node = node;
    this.revision = revision;
    this.capacity = node ? amountsOf(node.record.capacity.cpu, node.record.capacity.memoryBytes) : NOTHING;
  }

  take(amounts: Amounts, deployment: string, hostPorts: readonly number[]): void {
    this.usedCpuMicros += amounts.cpuMicros;
    this.usedMemoryBytes += amounts.memoryBytes;
    this.usedDiskBytes += amounts.diskBytes;
    this.instances++;
    for (const port of hostPorts) {
      const held = (this.#hostPorts ??= new Map());
      const holders = held.get(port);
      if (holders) holders.push(deployment);
      else held.set(port, [deployment]);
    }
  }

  release(amounts: Amounts, deployment: string, hostPorts: readonly number[]): void {
    this.usedCpuMicros -= amounts.cpuMicros;
    this.usedMemoryBytes -= amounts.memoryBytes;
    this.usedDiskBytes -= amounts.diskBytes;
    this.instances--;
    for (const port of hostPorts) {
      const holders = this.#hostPorts?.get(port) ?? [];
      const at = holders.indexOf(deployment);
      if (at >= 0) holders.splice(at, 1);
      if (holders.length === 0) this.#hostPorts?.delete(port);
    }
  }
}

/** A ledger whose node is enrolled is a node state; the check is the only place where the two types meet. */
export function isEnrolled(ledger: NodeLedger): ledger is NodeLedger & NodeState {
  return ledger.node !== undefined;
}
