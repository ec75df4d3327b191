import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import type { Engine, EngineEvent } from '../engine/engine.ts';
import { EngineNotFoundError, EngineUnavailableError } from '../engine/errors.ts';
import { Gate } from './gate.ts';
import { type Log } from '../log.ts';
import type { Ending } from './instance-history.ts';
import { type ObservedContainer, observedContainer } from './observed-container.ts';
import { OWN_LABELS } from './own-labels.ts';

const LIST_DEADLINE_MS = 10_000;
const PASS_MS = 10_000;
const PASS_WITHOUT_ENGINE_MS = 1_000;
const INSPECTS_AT_ONCE = 4;
const EVENTS_BACK_OFF_MS = 500;

/** The container as it was seen last, and when it ended on the engine's clock. */
export interface EndedRun {
  readonly container: ObservedContainer;
  readonly endedMs: number;
}

export interface ObserverHandlers {
  /** Something about the instance's containers is new. */
  onChange(instanceId: string): void;
  onEnding(instanceId: string, ending: Ending, run: EndedRun | undefined): void;
  /** A full observation has ended; when to observe everything again. */
  onPass(pass: { readonly first: boolean }): void;
  /** Undefined: the engine answers again. */
  onProblem(problem: string | undefined): void;
}

/**
 * The containers of this node as last seen: learnt from a list, kept up to date by the engine's events and by what the steps
 * did, and compared with a list again every few seconds, so that nothing that was missed stays missed.
 */
export class Observer {
  readonly byInstance = new Map<string, readonly ObservedContainer[]>();
  /** Name → instance. */
  readonly names = new Map<string, string>();
  readonly #byId = new Map<string, ObservedContainer>();
  /** Raised with each change: an answer of the engine that was asked for before it is out of date. */
  readonly #versions = new Map<string, number>();
  readonly #refreshing = new Map<string, Promise<void>>();
  readonly #outOfMemory = new Set<string>();
  /** Being started from here, with nothing to learn from inspecting it: no port, no health check of the agent. */
  readonly #plainStarts = new Set<string>();
  readonly #inspects = new Gate(INSPECTS_AT_ONCE);
  readonly #engine: Engine;
  readonly #node: string;
  readonly #handlers: ObserverHandlers;
  readonly #log: Log;
  #problem: string | undefined;
  #looked = false;
  #wakePass: (() => void) | undefined;

  constructor(engine: Engine, node: string, handlers: ObserverHandlers, log: Log) {
    this.#engine = engine;
    this.#node = node;
    this.#handlers = handlers;
    this.#log = log;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** The containers of this node have been seen once. Before that, that there is none means nothing. */
  get looked(): boolean {
    return this.#looked;
  }

  get(containerId: string): ObservedContainer | undefined {
    return this.#byId.get(containerId);
  }

  all(): Iterable<ObservedContainer> {
    return this.#byId.values();
  }

  put(container: ObservedContainer): void {
    this.#byId.set(container.id, container);
    this.#versions.set(container.id, (this.#versions.get(container.id) ?? 0) + 1);
    this.#index(container);
    this.#handlers.onChange(container.instanceId);
  }

  /** Its next start event is the one the agent caused; a later one may be a restart, which counts. */
  expectStart(containerId: string): void {
    this.#plainStarts.add(containerId);
  }

  drop(containerId: string): void {
    const container = this.#byId.get(containerId);
    this.#versions.delete(containerId);
    this.#plainStarts.delete(containerId);
    this.#outOfMemory.delete(containerId);
    if (container === undefined) return;
    this.#byId.delete(containerId);
    if (this.names.get(container.name) === container.instanceId) this.names.delete(container.name);
    this.#index(container);
    this.#handlers.onChange(container.instanceId);
  }

  /** After a call whose outcome is unknown: look again before anything else is done. */
  suspect(problem: string): void {
    this.#setProblem(problem);
    this.#wakePass?.();
  }

  /** Runs until `signal`. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#followEvents(signal), this.#passes(signal)]);
  }

  async #passes(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#problem === undefined ? PASS_MS : PASS_WITHOUT_ENGINE_MS;
      const woken = new Promise<void>((resolve) => (this.#wakePass = resolve));
      await Promise.race([pause(waitMs, undefined, { signal, ref: false }).catch(() => {}), woken]);
      if (this.#problem !== undefined)
        await pause(PASS_WITHOUT_ENGINE_MS, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#look({ closely: this.#problem !== undefined });
    }
  }

  async #followEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ended = Promise.withResolvers<Error | undefined>();
      const subscription = this.#engine.events(
        { labels: { [OWN_LABELS.node]: this.#node } },
        { onEvent: (event) => this.#take(event), onEnd: (error) => ended.resolve(error) },
      );
      const close = (): void => subscription.close();
      signal.addEventListener('abort', close, { once: true });
      await subscription.ready;
      // Subscribed first, listed second: nothing that happens in between is missed.
      await this.#look({ closely: true });
      const error = await ended.promise;
      signal.removeEventListener('abort', close);
      if (signal.aborted) return;
      this.#log.warn('the engine ended its events', { reason: messageOf(error) });
      await pause(EVENTS_BACK_OFF_MS, undefined, { signal }).catch(() => {});
    }
  }

  #take(event: EngineEvent): void {
    const known = this.#byId.get(event.containerId);
    const instanceId = known?.instanceId ?? event.labels[OWN_LABELS.instance] ?? '';
    if (event.kind === 'destroy') return this.drop(event.containerId);
    if (event.kind === 'oom') this.#outOfMemory.add(event.containerId);
    if (event.kind === 'die' && instanceId !== '') {
      const outOfMemory = this.#outOfMemory.delete(event.containerId);
      const ending = { atMs: performance.now(), exitCode: event.exitCode ?? 0, outOfMemory };
      this.#handlers.onEnding(instanceId, ending, known && { container: known, endedMs: event.atMs });
    }
    if (event.kind === 'create' && known !== undefined) return;
    if (event.kind === 'start' && this.#plainStarts.delete(event.containerId)) return;
    void this.refresh(event.containerId);
  }

  /** Asks the engine about one container; calls that come while one is under way share one more. */
  refresh(containerId: string): Promise<void> {
    const version = this.#versions.get(containerId) ?? 0;
    this.#versions.set(containerId, version + 1);
    const running = this.#refreshing.get(containerId);
    if (running !== undefined) return running;
    const refreshing = this.#inspects
      .pass(() => this.#inspectUntilCurrent(containerId))
      .finally(() => this.#refreshing.delete(containerId));
    this.#refreshing.set(containerId, refreshing);
    return refreshing;
  }

  async #inspectUntilCurrent(containerId: string): Promise<void> {
    for (let round = 0; round < 5; round += 1) {
      const version = this.#versions.get(containerId);
      try {
        const state = await this.#engine.inspect(containerId, { deadlineMs: LIST_DEADLINE_MS });
        if (this.#versions.get(containerId) !== version) continue;
        const seen = observedContainer(state, this.#byId.get(containerId), new Date());
        if (seen !== undefined) this.put(seen);
        return;
      } catch (error) {
        if (error instanceof EngineNotFoundError) return this.drop(containerId);
        if (error instanceof EngineUnavailableError) return this.suspect(error.message);
        this.#log.warn('a container could not be inspected', { containerId, reason: messageOf(error) });
        return;
      }
    }
  }

  async #look({ closely }: { readonly closely: boolean }): Promise<void> {
    const versions = new Map(this.#versions);
    try {
      const labels = { [OWN_LABELS.node]: this.#node };
      const listed = await this.#engine.list({ labels, all: true }, { deadlineMs: LIST_DEADLINE_MS });
      const ids = new Set(listed.map(({ id }) => id));
      for (const id of this.#byId.keys()) {
        if (!ids.has(id) && this.#versions.get(id) === versions.get(id) && versions.has(id)) this.drop(id);
      }
      const news = listed.filter(({ id, status }) => closely || this.#byId.get(id)?.status !== status);
      await Promise.all(news.map(({ id }) => this.refresh(id)));
      this.#setProblem(undefined);
      const first = !this.#looked;
      this.#looked = true;
      this.#handlers.onPass({ first });
    } catch (error) {
      this.#setProblem(messageOf(error));
    }
  }

  #setProblem(problem: string | undefined): void {
    if (this.#problem === problem) return;
    const changed = (this.#problem === undefined) !== (problem === undefined);
    this.#problem = problem;
    if (!changed) return;
    if (problem === undefined) this.#log.info('the engine answers again');
    else this.#log.error('the engine does not answer', { reason: problem });
    this.#handlers.onProblem(problem);
  }

  #index({ id, instanceId }: ObservedContainer): void {
    const others = (this.byInstance.get(instanceId) ?? []).filter((one) => one.id !== id);
    const now = this.#byId.get(id);
    const containers = now === undefined ? others : [...others, now];
    if (containers.length === 0) this.byInstance.delete(instanceId);
    else this.byInstance.set(instanceId, containers);
    for (const { name } of containers) this.names.set(name, instanceId);
  }
}
