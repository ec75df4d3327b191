import type { NodeName } from '../../model/ids.ts';
import type { VolumeRecord, VolumeReplica } from '../../model/volume.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';
import {
  excludedBy,
  exclusion,
  isDown,
  mayHold,
  removedBy,
  seenAs,
  type VolumeFacts,
  type VolumeNode,
  volumeEvent,
} from './volume-facts.ts';

/** A copy that is further behind than this is not live: too much would be lost with the primary. */
const LIVE_WITHIN_MS = 60_000;

/** Of unknown age is not recent: agents of every release say how old what is live is, as soon as they know. */
export function isRecent(ageMs: number | undefined): boolean {
  return ageMs !== undefined && ageMs <= LIVE_WITHIN_MS;
}

/** Nodes that could keep the volume, the least loaded first; the name decides between equals, so the choice is always the same. */
export function candidates(facts: VolumeFacts, fits: (node: VolumeNode) => boolean): readonly VolumeNode[] {
  return facts
    .nodes()
    .filter((node) => node.condition === 'ready' && node.schedulable && mayHold(facts, node) && fits(node))
    .map((node) => ({ node, load: facts.load(node.name) }))
    .sort((a, b) => a.load - b.load || (a.node.name < b.node.name ? -1 : 1))
    .map(({ node }) => node);
}

function copyTargets(facts: VolumeFacts, record: VolumeRecord): readonly VolumeNode[] {
  const primary = record.primaryNodeId === undefined ? undefined : facts.node(record.primaryNodeId);
  const engine = primary?.engines[0];
  if (engine === undefined) return [];
  const taken = new Set([
    record.primaryNodeId,
    ...record.replicas.map(({ nodeId }) => nodeId),
    ...record.leaving,
  ]);
  return candidates(facts, (node) => !taken.has(node.name) && node.engines.includes(engine));
}

/** Live is what the primary says, the node confirms by answering, and the age bears out. */
function stateOf(facts: VolumeFacts, copy: VolumeReplica): VolumeReplica['state'] {
  const { record } = facts;
  if (isDown(facts.node(copy.nodeId))) return 'failed';
  if (seenAs(facts, copy.nodeId, 'replica')?.state === 'failed') return 'failed';
  const primary =
    record.primaryNodeId === undefined ? undefined : seenAs(facts, record.primaryNodeId, 'primary');
  const reported = primary?.copies?.find(({ nodeId }) => nodeId === copy.nodeId);
  // A primary that may be written and names no copy sends it none.
  const isUnsent = copy.state === 'live' && primary?.state === 'ready';
  if (reported === undefined) return copy.state === 'failed' || isUnsent ? 'syncing' : copy.state;
  if (reported.state === 'live' && !isRecent(reported.ageMs)) return 'syncing';
  return reported.state;
}

/** A former primary is like any other copy once it says that it holds nothing that the others lack. */
function formerEpochOf(facts: VolumeFacts, { nodeId, formerEpoch }: VolumeReplica): { formerEpoch?: number } {
  if (formerEpoch === undefined) return {};
  const said = seenAs(facts, nodeId, 'replica');
  const clean = said !== undefined && said.state !== 'preparing' && (said.diverged ?? []).length === 0;
  return clean ? {} : { formerEpoch };
}

/** Kept where it is, and of no use to a promotion for as long as that holds. */
function misplacedIn(facts: VolumeFacts, { nodeId }: VolumeReplica): { misplaced?: string } {
  const node = facts.node(nodeId);
  if (node === undefined) return {};
  const binding = excludedBy(facts, node);
  if (binding !== undefined) return { misplaced: exclusion(binding) };
  return node.reserved === true ? { misplaced: 'the node runs a control plane' } : {};
}

function counts(facts: VolumeFacts, { nodeId, misplaced }: VolumeReplica): boolean {
  if (misplaced !== undefined) return false;
  const node = facts.node(nodeId);
  if (node === undefined || node.condition === 'lost') return false;
  return seenAs(facts, nodeId, 'replica')?.state !== 'failed';
}

const WORTH = { failed: 0, syncing: 1, live: 2 } as const;

function worth({ state, misplaced }: VolumeReplica): number {
  return misplaced === undefined ? WORTH[state] : -1;
}

function leastUsefulFirst(a: VolumeReplica, b: VolumeReplica): number {
  return worth(a) - worth(b) || (a.nodeId < b.nodeId ? 1 : -1);
}

export interface CopyPlan {
  readonly record: VolumeRecord;
  readonly events: readonly PlannedEvent[];
}

class Copies {
  readonly #facts: VolumeFacts;
  readonly #record: VolumeRecord;
  readonly #events: PlannedEvent[] = [];
  #replicas: readonly VolumeReplica[];
  #leaving: readonly NodeName[];

  constructor(facts: VolumeFacts, record: VolumeRecord) {
    this.#facts = facts;
    this.#record = record;
    this.#leaving = record.leaving;
    this.#replicas = record.replicas.map((copy) => {
      const { formerEpoch: _before, misplaced: _was, ...rest } = copy;
      return {
        ...rest,
        state: stateOf(facts, copy),
        ...formerEpochOf(facts, copy),
        ...misplacedIn(facts, copy),
      };
    });
    for (const [index, { nodeId, state }] of this.#replicas.entries()) {
      if (state === record.replicas[index]?.state || state === 'syncing') continue;
      this.#publish(
        `copy_${state}`,
        `the copy on ${nodeId} ${state === 'live' ? 'is live' : 'failed'}`,
        nodeId,
      );
    }
  }

  #publish(kind: string, message: string, nodeId: NodeName): void {
    this.#events.push(volumeEvent(this.#record, kind, message, { nodeId }));
  }

  /** Its bytes go when the node says so; those of a node that is gone cannot be reached. */
  #drop(copy: VolumeReplica, why: string): void {
    this.#replicas = this.#replicas.filter(({ nodeId }) => nodeId !== copy.nodeId);
    if (this.#facts.node(copy.nodeId) !== undefined) this.#leaving = [...this.#leaving, copy.nodeId];
    this.#publish('copy_removed', `the copy on ${copy.nodeId} is given up: ${why}`, copy.nodeId);
  }

  dropMisplaced(): void {
    for (const copy of this.#replicas) {
      const node = this.#facts.node(copy.nodeId);
      if (node === undefined) this.#drop(copy, 'the node is no longer enrolled');
      else if (copy.formerEpoch === undefined) {
        const writer = removedBy(this.#facts, node);
        if (writer !== undefined) this.#drop(copy, exclusion(writer));
      }
    }
    for (const { nodeId, misplaced } of this.#replicas) {
      const before = this.#record.replicas.find((copy) => copy.nodeId === nodeId);
      if (misplaced === undefined || before?.misplaced !== undefined) continue;
      const reported = `the copy on ${nodeId} is kept, but cannot take over: ${misplaced}`;
      this.#publish('copy_misplaced', reported, nodeId);
    }
  }

  add(): void {
    const counted = this.#replicas.filter((copy) => counts(this.#facts, copy));
    const targets = copyTargets(this.#facts, {
      ...this.#record,
      replicas: this.#replicas,
      leaving: this.#leaving,
    });
    for (const { name } of targets.slice(0, Math.max(0, this.#record.copies - counted.length))) {
      const failed = this.#replicas.find(
        (copy) =>
          copy.formerEpoch === undefined && copy.misplaced === undefined && !counts(this.#facts, copy),
      );
      if (failed !== undefined) this.#drop(failed, `replaced by one on ${name}`);
      this.#replicas = [...this.#replicas, { nodeId: name, state: 'syncing' }];
      this.#publish('copy_added', `a copy is made on ${name}`, name);
    }
  }

  dropSurplus(): void {
    const spare = this.#replicas.filter((copy) => copy.formerEpoch === undefined);
    const surplus = spare.filter((copy) => counts(this.#facts, copy)).length - this.#record.copies;
    if (surplus <= 0) return;
    for (const copy of spare.toSorted(leastUsefulFirst).slice(0, surplus))
      this.#drop(copy, 'not wanted any more');
  }

  plan(): CopyPlan {
    return {
      record: { ...this.#record, replicas: this.#replicas, leaving: this.#leaving },
      events: this.#events,
    };
  }
}

export function planCopies(facts: VolumeFacts, record: VolumeRecord): CopyPlan {
  if (record.class !== 'replicated' || record.primaryNodeId === undefined) return { record, events: [] };
  const copies = new Copies(facts, record);
  // While the primary moves, copies stay where they are: one of them is about to take over.
  if (record.switchover !== undefined) return copies.plan();
  copies.dropMisplaced();
  copies.dropSurplus();
  // A copy is made from a primary that answers.
  if (!isDown(facts.node(record.primaryNodeId))) copies.add();
  return copies.plan();
}
