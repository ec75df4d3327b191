import { setTimeout as wait } from 'node:timers/promises';
import type { LogFeed } from '../../core/contract/log-feed.ts';
import { messageOf } from '../../core/model/values.ts';
import { MAX_OWN_TAIL } from '../../core/operations/queries.ts';
import type { SystemQuestion } from '../../core/protocol/peer-messages.ts';
import { cpuProfile } from './cpu-profile.ts';
import { heapSummary } from './heap-summary.ts';
import type { StoredValues } from './known-values.ts';
import { streamLog } from './log-stream.ts';
import { PacedScrubber } from './paced-scrubber.ts';
import { type ReportSources, SECTIONS } from './report.ts';
import { dueSamples } from './sample-times.ts';
import { type EventSink, keptAlive, send } from './sink.ts';

/** A file goes in parts, each an event. */
const PART_LENGTH = 262_144;

type DebugQuestion = Extract<SystemQuestion, { readonly kind: 'debug' }>;

export interface DiagnosticsOptions {
  readonly feed: LogFeed;
  readonly sources: ReportSources;
  readonly metrics: () => Promise<string>;
  /** Values of this process that must not leave it. */
  readonly ownValues: () => readonly string[];
  /** Values of the tenants. */
  readonly storedValues: () => Promise<StoredValues>;
}

/** An answer that is under way; it ends when the sink is aborted. */
export type DiagnosticStream = (sink: EventSink) => Promise<void>;

/** What this process says of itself when somebody looks for what is wrong with it. */
export class Diagnostics {
  readonly #options: DiagnosticsOptions;
  #isReporting = false;

  constructor(options: DiagnosticsOptions) {
    this.#options = options;
  }

  /** A text: why not now. */
  open(question: SystemQuestion): DiagnosticStream | string {
    if (question.kind === 'log') {
      const { feed, ownValues } = this.#options;
      const reader = question.follow ? feed.follow(question.level) : undefined;
      if (question.follow && reader === undefined) return 'as many readers follow its log as may at once';
      return (sink) =>
        keptAlive(sink, () => streamLog(feed, question, reader, new PacedScrubber(ownValues()), sink));
    }
    if (this.#isReporting) return 'a report of it is being made';
    this.#isReporting = true;
    return (sink) =>
      keptAlive(sink, () => this.#report(question, sink)).finally(() => {
        this.#isReporting = false;
      });
  }

  async #report(question: DebugQuestion, sink: EventSink): Promise<void> {
    const { ownValues, storedValues, sources, feed } = this.#options;
    const stored = await storedValues();
    const scrubber = new PacedScrubber(ownValues());
    await scrubber.learn(stored.values);
    const report = new ScrubbedFiles(scrubber, sink);
    for (const { name, make } of SECTIONS)
      await report.file(name, async () => `${JSON.stringify(await make(sources), null, 1)}\n`);
    await this.#sampled(question, report);
    await report.file('log.jsonl', () =>
      feed
        .tail(MAX_OWN_TAIL)
        .map((line) => `${line}\n`)
        .join(''),
    );
    if (question.profile)
      await report.file('heap.json', async () => `${JSON.stringify(await heapSummary(), null, 1)}\n`);
    const { unread } = stored;
    await send(sink, 'end', { redactions: report.redactions, ...(unread === undefined ? {} : { unread }) });
  }

  async #sampled({ forMs, profile }: DebugQuestion, report: ScrubbedFiles): Promise<void> {
    const { metrics } = this.#options;
    const { signal } = report.sink;
    const pause = async (ms: number): Promise<void> => {
      await wait(ms, undefined, { signal }).catch(() => undefined);
    };
    const profiling = profile ? cpuProfile(forMs, pause) : undefined;
    // Awaited below; a failure in the meantime is told there.
    profiling?.catch(() => undefined);
    for await (const count of dueSamples(forMs, { nowMs: () => performance.now(), pause })) {
      if (signal.aborted) break;
      const name = `metrics/${String(count).padStart(2, '0')}-${new Date().toISOString()}.txt`;
      await report.file(name, metrics);
    }
    if (profiling !== undefined) await report.file('cpu.cpuprofile', () => profiling);
  }
}

/** Sends files, each after what must not leave was taken out of it. */
class ScrubbedFiles {
  readonly sink: EventSink;
  readonly #scrubber: PacedScrubber;
  redactions = 0;

  constructor(scrubber: PacedScrubber, sink: EventSink) {
    this.#scrubber = scrubber;
    this.sink = sink;
  }

  async file(name: string, make: () => Promise<string> | string): Promise<void> {
    if (this.sink.signal.aborted) return;
    let text: string;
    try {
      text = await make();
    } catch (error) {
      const { text: why } = await this.#scrubber.scrub(messageOf(error));
      await send(this.sink, 'missing', { name, why });
      return;
    }
    const { text: scrubbed, redactions } = await this.#scrubber.scrub(text);
    this.redactions += redactions;
    for (let from = 0; from === 0 || from < scrubbed.length; from += PART_LENGTH)
      await send(this.sink, 'file', { name, text: scrubbed.slice(from, from + PART_LENGTH) });
  }
}
