import { type Ending, withEnding, withoutFailure } from './instance-history.ts';
import type { LastWords } from './last-words.ts';
import type { LoopState } from './loop-state.ts';
import { endingTrouble, unhealthyTrouble } from './observation.ts';
import type { EndedRun, Observer } from './observe.ts';
import { currentContainer } from './plan.ts';

/** What was seen of instances, noted in their history, and the last words of those that ended or are not well. */
export class Notes {
  readonly #state: LoopState;
  readonly #observer: Observer;
  readonly #words: LastWords;

  constructor(state: LoopState, observer: Observer, words: LastWords) {
    this.#state = state;
    this.#observer = observer;
    this.#words = words;
  }

  /** Something about its containers has changed. */
  seen(instanceId: string): void {
    this.#readUnwell(instanceId);
    this.ran(instanceId);
    this.#noteHealth(instanceId);
    this.#clearMended(instanceId);
  }

  ended(instanceId: string, ending: Ending, run: EndedRun | undefined): void {
    this.#state.history.set(instanceId, withEnding(this.#state.historyOf(instanceId), ending));
    if (run !== undefined) this.#readEnd(run, ending);
  }

  /**
   * Since when a job's container runs, on the monotonic clock. The engine's times are asked once, when it is first seen: that
   * counts the time before a restart of the agent, and a clock that is set later changes nothing.
   */
  ran(instanceId: string): void {
    const assigned = this.#state.assigned.get(instanceId);
    const history = this.#state.historyOf(instanceId);
    if (assigned?.once === undefined || history.runningSinceMs !== undefined) return;
    const current = currentContainer(assigned, this.#observer.byInstance.get(instanceId) ?? []);
    if (current?.status !== 'running') return;
    const ranMs = current.startedAt === undefined ? 0 : Date.now() - Date.parse(current.startedAt);
    this.#state.history.set(instanceId, {
      ...history,
      runningSinceMs: performance.now() - Math.max(0, ranMs),
    });
  }

  #noteHealth(instanceId: string): void {
    const assigned = this.#state.assigned.get(instanceId);
    if (assigned?.container?.healthCheck === undefined) return;
    const { unhealthySinceMs, ...rest } = this.#state.historyOf(instanceId);
    const current = currentContainer(assigned, this.#observer.byInstance.get(instanceId) ?? []);
    const isUnhealthy = current?.status === 'running' && current.health?.status === 'unhealthy';
    if (isUnhealthy === (unhealthySinceMs !== undefined)) return;
    const since = isUnhealthy ? { unhealthySinceMs: performance.now() } : {};
    this.#state.history.set(instanceId, { ...rest, ...since });
  }

  /** What failed before is no longer of interest once the container runs. */
  #clearMended(instanceId: string): void {
    const assigned = this.#state.assigned.get(instanceId);
    const history = this.#state.historyOf(instanceId);
    if (assigned?.wanted !== 'run' || history.failure === undefined) return;
    const current = currentContainer(assigned, this.#observer.byInstance.get(instanceId) ?? []);
    if (current?.status === 'running') this.#state.history.set(instanceId, withoutFailure(history));
  }

  /** One whose check fails, and one that ended while no agent looked. */
  #readUnwell(instanceId: string): void {
    const assigned = this.#state.assigned.get(instanceId);
    if (assigned?.container === undefined) return;
    const isKept = assigned.once === undefined;
    const container = currentContainer(assigned, this.#observer.byInstance.get(instanceId) ?? []);
    const { status, health, exitCode, finishedAt, oomKilled } = container ?? {};
    if (container === undefined || (!isKept && exitCode === 0)) return;
    const plain = assigned.container.environment;
    if (status === 'running' && health?.status === 'unhealthy')
      void this.#words.read({ container, plain, isKept, told: (words) => unhealthyTrouble(health, words) });
    const isUnseen = this.#state.historyOf(instanceId).endings.length === 0;
    if ((status === 'exited' || status === 'restarting') && finishedAt !== undefined && isUnseen)
      void this.#words.read({
        container,
        plain,
        isKept,
        endedMs: Date.parse(finishedAt),
        ...(exitCode !== undefined && { exitCode }),
        told: (words) => endingTrouble({ exitCode, outOfMemory: oomKilled === true }, words),
      });
  }

  #readEnd({ container, endedMs }: EndedRun, { exitCode, outOfMemory }: Ending): void {
    const assigned = this.#state.assigned.get(container.instanceId);
    if (assigned?.wanted !== 'run') return;
    const isKept = assigned.once === undefined;
    if (!isKept && exitCode === 0) return;
    void this.#words.read({
      container,
      isKept,
      plain: assigned.container.environment,
      endedMs,
      exitCode,
      told: (words) => endingTrouble({ exitCode, outOfMemory }, words),
    });
  }
}
