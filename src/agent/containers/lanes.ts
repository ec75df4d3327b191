import { Gate } from './gate.ts';
import type { InstanceStep, StepKind } from './step.ts';

/** Steps of one instance without a pause in between: more means that plan and engine disagree. */
const MAX_STEPS_IN_A_ROW = 40;
const PULLS_AT_ONCE = 3;

export interface LaneOptions {
  readonly cpus: number;
  readonly next: (instanceId: string) => InstanceStep | undefined;
  /** Carries the step out, if it is still the next one: orders may have changed while it waited. */
  readonly take: (instanceId: string, kind: InstanceStep['kind']) => Promise<void>;
  readonly onStuck: (instanceId: string, kind: InstanceStep['kind'], problem: Error) => void;
  /** Nothing more is to be done for it now. */
  readonly onRest: (instanceId: string) => void;
  /** When the next step comes with time, not with a change. */
  readonly dueMs: (instanceId: string) => number | undefined;
}

/** Each instance goes its own way, one step after the other; all share the gates. */
export class Lanes {
  readonly #options: LaneOptions;
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #gates: Readonly<Record<StepKind, Gate>>;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#gates = gates(options.cpus);
  }

  isBusy(instanceId: string): boolean {
    return this.#busy.has(instanceId);
  }

  wake(instanceId: string): void {
    if (this.#busy.has(instanceId)) {
      this.#again.add(instanceId);
      return;
    }
    const step = this.#options.next(instanceId);
    if (step === undefined) {
      this.#wakeWhenDue(instanceId);
      return;
    }
    this.#busy.add(instanceId);
    void this.#walk(instanceId, step).finally(() => {
      this.#busy.delete(instanceId);
      if (this.#again.delete(instanceId)) this.wake(instanceId);
    });
  }

  wakeAt(instanceId: string, atMs: number): void {
    clearTimeout(this.#timers.get(instanceId));
    const wake = (): void => {
      this.#timers.delete(instanceId);
      this.wake(instanceId);
    };
    // One millisecond late: timers may fire a little early, and the plan would then wait for the next pass.
    this.#timers.set(instanceId, setTimeout(wake, Math.max(0, atMs - performance.now()) + 1));
  }

  /** What was due by old orders is due no more. */
  forgetTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  async #walk(instanceId: string, first: InstanceStep): Promise<void> {
    const { next, take, onStuck, onRest } = this.#options;
    let step: InstanceStep | undefined = first;
    for (let count = 1; step !== undefined; count += 1) {
      this.#again.delete(instanceId);
      if (count > MAX_STEPS_IN_A_ROW) {
        onStuck(instanceId, step.kind, new Error(stuckText(step)));
        break;
      }
      const gate = this.#gates[step.kind];
      await gate.enter();
      try {
        await take(instanceId, step.kind);
      } finally {
        gate.leave();
      }
      step = next(instanceId);
    }
    onRest(instanceId);
    this.#wakeWhenDue(instanceId);
  }

  #wakeWhenDue(instanceId: string): void {
    const dueMs = this.#options.dueMs(instanceId);
    if (dueMs !== undefined) this.wakeAt(instanceId, dueMs);
  }
}

/**
 * Work that loads the engine is bounded by the machine: beyond twice its cores only tail latency grows. Waiting for a
 * container to stop, for the network or for the control plane is no load and must not hold up the rest.
 */
function gates(cpus: number): Readonly<Record<StepKind, Gate>> {
  const work = new Gate(2 * cpus);
  const stops = new Gate(16 * cpus);
  const pulls = new Gate(PULLS_AT_ONCE);
  const questions = new Gate(64);
  return {
    ensureNetwork: work,
    pull: pulls,
    resolve: questions,
    create: work,
    start: work,
    takeOver: work,
    stop: stops,
    end: stops,
    restart: stops,
    remove: work,
    healthcheckNow: work,
    ask: questions,
  };
}

/** For people: what it would do next, and where to look. */
function stuckText({ kind }: InstanceStep): string {
  return `${MAX_STEPS_IN_A_ROW} steps in a row brought it no further, and the next would be ${kind} once more: the engine confirms steps that are not to be seen afterwards; look at the engine of this node and its log`;
}
