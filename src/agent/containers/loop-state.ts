import type { AssignedInstance, Assignment } from '../../core/protocol/agent-protocol.ts';
import { type InstanceHistory, NO_HISTORY } from './instance-history.ts';
import type { ContainerNetwork } from './container-spec.ts';
import type { Observer } from './observe.ts';
import type { Ownership } from './own-labels.ts';
import type { NodeView } from './plan.ts';
import type { InstanceStep } from './step.ts';

type Given = Pick<
  NodeView,
  'nowMs' | 'engineKind' | 'installId' | 'volume' | 'heldFolder' | 'drainsUntilMs' | 'nameAnswers'
>;

/** State of the loop beside the containers: the assignment, and the history of carrying it out. */
export class LoopState {
  readonly assigned = new Map<string, AssignedInstance>();
  readonly history = new Map<string, InstanceHistory>();
  readonly condemned = new Set<string>();
  readonly askedAtMs = new Map<string, number>();
  readonly images = new Set<string>();
  /** Names of foreign containers, found when creating one. */
  readonly foreignNames = new Set<string>();
  /** Names of containers that are being created. */
  readonly reservedNames = new Map<string, string>();
  readonly activity = new Map<string, InstanceStep['kind']>();
  /** Undefined: it has to be made, or looked at again. */
  network: ContainerNetwork | undefined;
  generation = 0;
  owner: Ownership | undefined;
  /** An assignment of this session has arrived: the agent knows what is wanted. */
  synced = false;
  /** What is assigned is of an earlier run of the agent, and no session has confirmed it. */
  recalled = false;

  historyOf(instanceId: string): InstanceHistory {
    return this.history.get(instanceId) ?? NO_HISTORY;
  }

  /** A new session: what was assigned in an older one is no order any more. */
  begin(owner: Ownership): void {
    if (this.owner?.installId !== owner.installId) this.assigned.clear();
    this.owner = owner;
    this.synced = false;
    this.generation = 0;
    this.condemned.clear();
    this.askedAtMs.clear();
  }

  end(): void {
    this.synced = false;
  }

  /** No session has come: it goes by what an earlier run of the agent was told. */
  recall(owner: Ownership, { instances }: Assignment): void {
    this.owner = owner;
    this.recalled = true;
    for (const instance of instances) this.assigned.set(instance.id, instance);
  }

  /** False: an older one than that which is in force. */
  assign({ generation, instances }: Assignment, nowMs = performance.now()): boolean {
    if (this.synced && generation < this.generation) return false;
    const before = new Map(this.assigned);
    this.assigned.clear();
    for (const instance of instances) {
      this.assigned.set(instance.id, instance);
      this.condemned.delete(instance.id);
      const same = isSameOrder(before.get(instance.id), instance);
      if (!same) this.history.delete(instance.id);
      if (!same && instance.wanted === 'stop')
        this.history.set(instance.id, { ...NO_HISTORY, stopOrderedAtMs: nowMs });
    }
    for (const id of this.history.keys()) if (!this.assigned.has(id)) this.history.delete(id);
    this.generation = generation;
    this.synced = true;
    this.recalled = false;
    return true;
  }

  view(observer: Observer, given: Given): NodeView {
    const { foreignNames, reservedNames } = this;
    return {
      ...given,
      assigned: this.assigned,
      containers: observer.byInstance,
      history: this.history,
      condemned: this.condemned,
      askedAtMs: this.askedAtMs,
      networkReady: this.network !== undefined,
      images: this.images,
      // Joined only when a name is chosen.
      get takenNames() {
        const foreign = [...foreignNames].map((name) => [name, ''] as const);
        return new Map([...foreign, ...observer.names, ...reservedNames]);
      },
    };
  }
}

function isSameOrder(before: AssignedInstance | undefined, now: AssignedInstance): boolean {
  return before?.specHash === now.specHash && before.attempt === now.attempt && before.wanted === now.wanted;
}
