import type { AssignedInstance, Report } from '../../core/protocol/agent-protocol.ts';
import type { Log } from '../log.ts';
import type { RecalledPlan } from './recalled.ts';
import type { InstanceStep } from './step.ts';

/** What waits for a shorter time is not worth a line: a volume is mounted within it. */
const WAITS_MS = 2_000;
/** Of each kind; what the control plane takes. */
const MOST = 500;

interface Waiting {
  readonly deployment: string;
  readonly reason: string;
  readonly message: string;
}

/** What the agent did by old orders after a start without a control plane: in its log at once, and in the first report after it. */
export class OfflineNews {
  readonly #log: Log;
  readonly #started = new Set<string>();
  readonly #stopped = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #logged = new Map<string, string>();
  #recalled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  recalled(instances: number, volumes: number): void {
    this.#recalled = true;
    this.#log.warn('no control plane: going by its last orders', { instances, volumes });
  }

  planned({ id, deployment }: AssignedInstance, plan: RecalledPlan): void {
    if (plan.kind !== 'waits') {
      this.#waiting.delete(id);
      return;
    }
    const { reason, message } = plan;
    this.#waiting.set(id, { deployment, reason, message });
    if (this.#logged.get(id) !== message)
      this.#timer ??= setTimeout(() => this.#logWaiting(), WAITS_MS).unref();
  }

  took(instanceId: string, kind: InstanceStep['kind']): void {
    (kind === 'stop' ? this.#stopped : this.#started).add(instanceId);
    this.#log.info('by the last orders, without a control plane', { step: kind, instance: instanceId });
  }

  /** For the control plane, once; undefined: nothing was done without it. */
  take(): Report['offline'] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#recalled) return undefined;
    const waiting = [...this.#waiting].map(([instanceId, { reason, message }]) => ({
      instanceId,
      reason,
      message,
    }));
    const news = {
      started: [...this.#started].slice(0, MOST),
      stopped: [...this.#stopped].slice(0, MOST),
      waiting: waiting.slice(0, MOST),
    };
    this.#recalled = false;
    for (const one of [this.#started, this.#stopped, this.#waiting, this.#logged]) one.clear();
    return news;
  }

  #logWaiting(): void {
    this.#timer = undefined;
    for (const [instance, { deployment, reason, message }] of this.#waiting) {
      if (this.#logged.get(instance) === message) continue;
      this.#logged.set(instance, message);
      this.#log.warn('not started without the control plane', {
        instance,
        deployment,
        reason,
        problem: message,
      });
    }
  }
}
