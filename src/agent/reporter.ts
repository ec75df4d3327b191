import type { AgentMessage, InstanceUsage } from '../core/contract/agent-protocol.ts';
import type { InstanceObservation } from '../core/model/instance.ts';
import type { NetworkObservation } from '../core/model/network.ts';

const COALESCE_MS = 50;
const FULL_EVERY_MS = 60_000;
const HEARTBEAT_JITTER = 0.1;

export interface ReportSource {
  observation(instanceId: string): InstanceObservation;
  observations(): readonly InstanceObservation[];
  /** False until the engine was looked at: a full report would say that there is nothing. */
  isWhole(): boolean;
  generation(): number;
  engineProblem(): string | undefined;
  networks(): readonly NetworkObservation[];
}

/**
 * Tells the control plane what is seen: a change at once, further ones together at most every 50 ms, everything once a
 * minute and after each welcome. The report is the heartbeat, so one is due even if there is nothing to say.
 */
export class Reporter {
  readonly #source: ReportSource;
  readonly #send: (message: AgentMessage) => boolean;
  readonly #changed = new Set<string>();
  /** JSON text of what was last sent, by instance: an equal observation is not sent again. */
  readonly #sent = new Map<string, string>();
  #usage: readonly InstanceUsage[] = [];
  #epoch: number | undefined;
  #heartbeatMs = 0;
  #flushedMs = -Infinity;
  #fullMs = -Infinity;
  #flushTimer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(source: ReportSource, send: (message: AgentMessage) => boolean) {
    this.#source = source;
    this.#send = send;
  }

  begin(epoch: number, heartbeatMs: number): void {
    this.#epoch = epoch;
    this.#heartbeatMs = heartbeatMs;
    this.#sent.clear();
    this.#report(true);
  }

  end(): void {
    this.#epoch = undefined;
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#heartbeat);
    this.#flushTimer = undefined;
  }

  changed(instanceId: string): void {
    if (this.#epoch === undefined) return;
    this.#changed.add(instanceId);
    this.#flushSoon();
  }

  becameWhole(): void {
    if (this.#epoch !== undefined) this.#report(true);
  }

  /** The state of the engine and of networks goes with any report. */
  nodeChanged(): void {
    if (this.#epoch !== undefined) this.#report(false);
  }

  measured(usage: readonly InstanceUsage[]): void {
    this.#usage = usage;
  }

  #flushSoon(): void {
    if (this.#flushTimer !== undefined) return;
    const waitMs = Math.max(0, this.#flushedMs + COALESCE_MS - performance.now());
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = undefined;
      this.#flush();
    }, waitMs);
  }

  #flush(): void {
    const news = [...this.#changed]
      .map((id) => this.#source.observation(id))
      .filter((one) => this.#isNew(one));
    this.#changed.clear();
    if (news.length > 0) this.#report(false, news);
  }

  #isNew(observation: InstanceObservation): boolean {
    return this.#sent.get(observation.id) !== JSON.stringify(observation);
  }

  #report(wholly: boolean, news: readonly InstanceObservation[] = []): void {
    if (this.#epoch === undefined) return;
    const full = wholly && this.#source.isWhole();
    const observations = full ? this.#source.observations() : news;
    if (full) {
      this.#sent.clear();
      this.#changed.clear();
      this.#fullMs = performance.now();
    }
    for (const one of observations) this.#sent.set(one.id, JSON.stringify(one));
    const problem = this.#source.engineProblem();
    const networks = this.#source.networks();
    this.#flushedMs = performance.now();
    this.#send({
      type: 'report',
      epoch: this.#epoch,
      generation: this.#source.generation(),
      full,
      observations,
      ...(problem === undefined ? {} : { engineProblem: problem }),
      ...(this.#usage.length === 0 ? {} : { usage: this.#usage }),
      ...(networks.length === 0 ? {} : { networks }),
    });
    this.#usage = [];
    this.#scheduleHeartbeat();
  }

  #scheduleHeartbeat(): void {
    clearTimeout(this.#heartbeat);
    const jitter = 1 + HEARTBEAT_JITTER * (2 * Math.random() - 1);
    const beat = (): void => this.#report(performance.now() - this.#fullMs >= FULL_EVERY_MS);
    this.#heartbeat = setTimeout(beat, this.#heartbeatMs * jitter);
  }
}
