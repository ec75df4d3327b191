import { instanceId as idOfInstance } from '../../core/model/ids.ts';
import { type PrintedLine, tellingLine } from '../../core/model/kept-failure.ts';
import { messageOf, optional } from '../../core/model/values.ts';
import type { ReportedFailure } from '../../core/protocol/agent-protocol.ts';
import type { Engine, LastWordsOptions } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import type { ObservedContainer } from './observed-container.ts';

/** Held until they are told, and for a while longer: a session that breaks may have lost them. */
const HELD = 32;
const HELD_BYTES = 512 * 1024;
const TOLD_FOR_MS = 10_000;
const PER_REPORT = 8;
const READ_MS = 2_000;
const REMEMBERED = 1_000;

/** What is said of an instance that failed, beside how its container ended. */
export interface Words {
  /** What the health check of a run that goes on printed; else of one that ended. */
  readonly unwell?: true;
  readonly cause?: string;
  readonly ranMs?: number;
}

export interface FailedRun {
  readonly container: ObservedContainer;
  readonly plain: LastWordsOptions['plain'];
  /** When it ended, on the engine's clock; absent: it still runs. */
  readonly endedMs?: number;
  readonly exitCode?: number;
  /** False: only its words are of interest. What a job printed is fetched whole by the control plane. */
  readonly isKept: boolean;
  /** With what is known of it by then. */
  readonly told: (words: Words) => { readonly reason: string; readonly message: string };
}

interface Held {
  readonly failure: ReportedFailure;
  readonly bytes: number;
  toldAtMs?: number;
}

export interface LastWordsSource {
  readonly engine: Pick<Engine, 'lastWords'>;
  /** The words of an instance are known, or cannot be. */
  readonly onWords: (instanceId: string) => void;
  readonly log: Log;
  readonly nowMs?: () => number;
}

/**
 * Reads what a run that failed has printed, before its container is started again or removed, and holds it until it was told. In
 * memory, within bounds: the newest stay.
 */
export class LastWords {
  readonly #source: LastWordsSource;
  readonly #held = new Map<string, Held>();
  readonly #words = new Map<string, Words>();
  readonly #seen = new Set<string>();
  /** By container: when its run before ended. What was printed until then belongs to that one. */
  readonly #ends = new Map<string, number>();
  readonly #reading = new Map<string, number>();

  constructor(source: LastWordsSource) {
    this.#source = source;
  }

  of(instanceId: string): Words | undefined {
    return this.#words.get(instanceId);
  }

  /** Its words are about to be known: what is reported then says more. */
  isReading(instanceId: string): boolean {
    return this.#reading.has(instanceId);
  }

  async read(run: FailedRun): Promise<void> {
    const { container, endedMs } = run;
    const { id, instanceId, startedAt } = container;
    const key = `${id.slice(0, 12)}-${Date.parse(startedAt ?? '') || 0}${endedMs === undefined ? '-u' : ''}`;
    if (this.#seen.has(key)) return;
    remember(this.#seen, key);
    const afterMs = this.#ends.get(id);
    if (endedMs !== undefined) note(this.#ends, id, endedMs);
    this.#reading.set(instanceId, (this.#reading.get(instanceId) ?? 0) + 1);
    try {
      await this.#take(run, key, afterMs);
    } catch (error) {
      this.#source.log.warn('what a container printed could not be read', {
        container: id,
        problem: messageOf(error),
      });
    } finally {
      const left = (this.#reading.get(instanceId) ?? 1) - 1;
      if (left > 0) this.#reading.set(instanceId, left);
      else this.#reading.delete(instanceId);
      this.#source.onWords(instanceId);
    }
  }

  async #take(run: FailedRun, key: string, afterMs?: number) {
    const { container, plain, endedMs, exitCode, isKept, told } = run;
    const startedMs = Date.parse(container.startedAt ?? '');
    const ranMs =
      endedMs === undefined || Number.isNaN(startedMs)
        ? undefined
        : Math.max(0, Math.round(endedMs - startedMs));
    const log = await this.#source.engine.lastWords(container.id, {
      plain,
      deadlineMs: READ_MS,
      ...optional('afterMs', afterMs),
      ...optional('untilMs', endedMs),
    });
    const words: Words =
      endedMs === undefined
        ? { unwell: true, ...optional('cause', tellingLine(linesOf(log.health))) }
        : { ...optional('cause', tellingLine(log.lines)), ...optional('ranMs', ranMs) };
    note(this.#words, container.instanceId, words);
    if (!isKept) return;
    const failure: ReportedFailure = {
      instanceId: idOfInstance(container.instanceId),
      key,
      ...told(words),
      ...optional('exitCode', exitCode),
      ...optional('ranMs', ranMs),
      ...log,
      lines: [...log.lines],
    };
    this.#hold(key, { failure, bytes: JSON.stringify(failure).length });
  }

  #hold(key: string, held: Held): void {
    this.#held.set(key, held);
    let bytes = 0;
    let count = 0;
    for (const [one, { bytes: size }] of [...this.#held].toReversed()) {
      bytes += size;
      count += 1;
      if (count > HELD || bytes > HELD_BYTES) this.#held.delete(one);
    }
  }

  get isUntold(): boolean {
    return [...this.#held.values()].some(({ toldAtMs }) => toldAtMs === undefined);
  }

  /** Some of those that were not told in this session. */
  toTell(): readonly ReportedFailure[] {
    const due = [...this.#held.values()]
      .filter(({ toldAtMs }) => toldAtMs === undefined)
      .slice(0, PER_REPORT);
    for (const one of due) one.toldAtMs = this.#nowMs();
    return due.map(({ failure }) => failure);
  }

  /** A new session: what was told long before the other one ended has arrived. */
  begin(): void {
    const sinceMs = this.#nowMs() - TOLD_FOR_MS;
    for (const [key, held] of this.#held) {
      if (held.toldAtMs !== undefined && held.toldAtMs < sinceMs) this.#held.delete(key);
      else delete held.toldAtMs;
    }
  }

  #nowMs(): number {
    return this.#source.nowMs?.() ?? performance.now();
  }
}

function linesOf(text = ''): readonly PrintedLine[] {
  return text.split('\n').map((line) => ({ text: line }));
}

function remember(seen: Set<string>, key: string): void {
  seen.add(key);
  for (const oldest of seen) {
    if (seen.size <= REMEMBERED) return;
    seen.delete(oldest);
  }
}

/** The newest last: the oldest go first. */
function note<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= REMEMBERED) return;
    map.delete(oldest);
  }
}
