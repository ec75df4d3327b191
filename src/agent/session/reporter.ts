import type {
  AgentMessage,
  InstanceUsage,
  MeshPath,
  Report,
  ReportedFailure,
  VolumeObservation,
  Welcome,
} from '../../core/protocol/agent-protocol.ts';
import type { ContainerPhase, InstanceObservation } from '../../core/model/instance.ts';
import { optional } from '../../core/model/values.ts';
import type { RouteReport, RouteTraffic } from '../ingress/route.ts';
import type { NetworkObservation } from '../../core/model/network.ts';

const COALESCE_MS = 50;
/** A transient state is reported only when it lasts. */
const PASSING_MS = 500;
const PASSING: ReadonlySet<ContainerPhase> = new Set(['pending', 'creating', 'starting']);
const FULL_EVERY_MS = 60_000;
const HEARTBEAT_JITTER = 0.1;
/** As many in a row say nothing before pulses take their place: what the control plane could not store of an earlier one is made good by then. */
const SAID_NOTHING = 2;

export interface ReportSource {
  observation(instanceId: string): InstanceObservation;
  observations(): readonly InstanceObservation[];
  /** False until the engine was observed: a full report would say that there is nothing. */
  isWhole(): boolean;
  generation(): number;
  /** More is known of it in a moment. */
  isReading(instanceId: string): boolean;
  /** Runs that failed, each once in a session. */
  failures(): readonly ReportedFailure[];
  hasFailures(): boolean;
  engineProblem(): string | undefined;
  networks(): readonly NetworkObservation[];
  mesh(): readonly MeshPath[];
  /** Undefined: it serves none. The same list as long as nothing of it changes. */
  ingress(): readonly RouteReport[] | undefined;
  /** Through it, since it was last asked for. */
  traffic(): readonly RouteTraffic[];
  /** Undefined: as the session's `hello` said. */
  facts(): Report['facts'];
  /** What was done by old orders before the session; once. */
  offline(): Report['offline'];
  /** Images that were removed since the last report. */
  cleaned(): Report['cleaned'];
  discarded(): Report['discarded'];
  /** The session has ended: they go with a report of the next one. */
  notSent(news: Pick<Report, 'cleaned' | 'discarded'>): void;
  volumes(): readonly VolumeObservation[];
  /** This report is about to be sent. */
  onBeat(beat: number): void;
}

export interface ReportWay {
  /** False: it was not sent. */
  send(message: AgentMessage): boolean;
  /** A heartbeat without content. */
  pulse(): void;
}

/**
 * Tells the control plane what is seen: a change at once, further ones together at most every 50 ms, everything once a
 * minute and after each welcome. The report is the heartbeat, so one is due even if there is nothing to say; where the control plane
 * takes it, a pulse is sent in place of one that would repeat that there is nothing.
 */
export class Reporter {
  readonly #source: ReportSource;
  readonly #way: ReportWay;
  /** By instance: since when there is something to tell. */
  readonly #changed = new Map<string, number>();
  /** JSON text of what was last sent, by instance: an equal observation is not sent again. */
  readonly #sent = new Map<string, string>();
  #usage: readonly InstanceUsage[] = [];
  /** What was last sent of the ingress: another list only when something of it is another. */
  #routesSent: readonly RouteReport[] | undefined;
  #epoch: number | undefined;
  #heartbeatMs = 0;
  #mayPulse = false;
  /** Reports in a row that said nothing new, all of one generation. */
  #saidNothing = 0;
  #generation = 0;
  /** JSON of the last report's. */
  #facts: string | undefined;
  #beat = 0;
  #volumesDue = false;
  #flushedMs = -Infinity;
  #fullMs = -Infinity;
  #flushTimer: NodeJS.Timeout | undefined;
  #flushDueMs = 0;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(source: ReportSource, way: ReportWay) {
    this.#source = source;
    this.#way = way;
  }

  begin({
    epoch,
    heartbeatMs,
    hearsPulses = false,
  }: Pick<Welcome, 'epoch' | 'heartbeatMs' | 'hearsPulses'>): void {
    this.#epoch = epoch;
    this.#heartbeatMs = heartbeatMs;
    this.#mayPulse = hearsPulses;
    this.#saidNothing = 0;
    this.#sent.clear();
    this.#routesSent = undefined;
    this.#beat = 0;
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
    const nowMs = performance.now();
    if (!this.#changed.has(instanceId)) this.#changed.set(instanceId, nowMs);
    this.#flushAt(this.#flushedMs + COALESCE_MS);
  }

  becameWhole(): void {
    if (this.#epoch !== undefined) this.#report(true);
  }

  /** The state of the engine and of networks goes with any report. */
  nodeChanged(): void {
    if (this.#epoch !== undefined) this.#report(false);
  }

  /** Volumes are reported in full each time. */
  volumesChanged(): void {
    if (this.#epoch === undefined) return;
    this.#volumesDue = true;
    this.#flushAt(this.#flushedMs + COALESCE_MS);
  }

  measured(usage: readonly InstanceUsage[]): void {
    this.#usage = usage;
  }

  #flushAt(dueMs: number): void {
    if (this.#flushTimer !== undefined && this.#flushDueMs <= dueMs) return;
    clearTimeout(this.#flushTimer);
    this.#flushDueMs = dueMs;
    this.#flushTimer = setTimeout(
      () => {
        this.#flushTimer = undefined;
        this.#flush();
      },
      Math.max(0, dueMs - performance.now()),
    );
  }

  #flush(): void {
    const nowMs = performance.now();
    const news: InstanceObservation[] = [];
    let laterMs = Infinity;
    for (const [id, sinceMs] of this.#changed) {
      if (this.#source.isReading(id)) {
        laterMs = Math.min(laterMs, nowMs + COALESCE_MS);
        continue;
      }
      const observation = this.#source.observation(id);
      if (PASSING.has(observation.phase) && nowMs < sinceMs + PASSING_MS) {
        laterMs = Math.min(laterMs, sinceMs + PASSING_MS);
        continue;
      }
      this.#changed.delete(id);
      if (this.#isNew(observation)) news.push(observation);
    }
    if (news.length > 0 || this.#volumesDue || this.#source.hasFailures()) this.#report(false, news);
    if (laterMs < Infinity) this.#flushAt(laterMs);
  }

  #isNew(observation: InstanceObservation): boolean {
    return this.#sent.get(observation.id) !== JSON.stringify(observation);
  }

  #report(wholly: boolean, changes: readonly InstanceObservation[] = []): void {
    if (this.#epoch === undefined) return;
    const full = wholly && this.#source.isWhole();
    const observations = full ? this.#source.observations() : changes;
    if (full) {
      this.#sent.clear();
      this.#changed.clear();
      this.#fullMs = performance.now();
    }
    for (const one of observations) this.#sent.set(one.id, JSON.stringify(one));
    const problem = this.#source.engineProblem();
    const networks = this.#source.networks();
    const mesh = this.#source.mesh();
    const routes = this.#source.ingress();
    const routesDue = routes !== undefined && (full || routes !== this.#routesSent);
    this.#routesSent = routes;
    const traffic = this.#source.traffic();
    const facts = this.#source.facts();
    const offline = this.#source.offline();
    const cleaned = this.#source.cleaned();
    const discarded = this.#source.discarded();
    const failures = this.#source.failures();
    const volumes = this.#source.volumes();
    this.#flushedMs = performance.now();
    this.#volumesDue = false;
    const cleaning = { ...optional('cleaned', cleaned), ...optional('discarded', discarded) };
    const usage = this.#usage;
    this.#usage = [];
    const news = {
      ...(problem === undefined ? {} : { engineProblem: problem }),
      ...(failures.length === 0 ? {} : { failures }),
      ...(networks.length === 0 ? {} : { networks }),
      ...(mesh.length === 0 ? {} : { mesh }),
      ...(routesDue && { ingress: { routes } }),
      ...(traffic.length === 0 ? {} : { traffic }),
      ...(offline === undefined ? {} : { offline }),
      ...cleaning,
    };
    this.#scheduleHeartbeat();
    // Measurements are of the moment: they are sent, and do not mean that more comes. Who serves the ingress is asked again by its reports.
    const isNothing =
      observations.length + volumes.length + Object.keys(news).length === 0 && routes === undefined;
    if (this.#isRepeated(isNothing, facts) && usage.length === 0 && !wholly) {
      this.#way.pulse();
      return;
    }
    this.#beat += 1;
    this.#source.onBeat(this.#beat);
    const isSent = this.#way.send({
      type: 'report',
      epoch: this.#epoch,
      generation: this.#generation,
      full,
      observations,
      ...news,
      ...(usage.length === 0 ? {} : { usage }),
      ...(facts === undefined ? {} : { facts }),
      beat: this.#beat,
      volumes,
    });
    if (!isSent) this.#source.notSent(cleaning);
  }

  /** Whether the control plane knows by several reports that there is nothing but these facts, at this generation of its orders. */
  #isRepeated(isNothing: boolean, facts: Report['facts']): boolean {
    const generation = this.#source.generation();
    const factsText = facts && JSON.stringify(facts);
    if (!isNothing || generation !== this.#generation || factsText !== this.#facts) this.#saidNothing = 0;
    this.#generation = generation;
    this.#facts = factsText;
    if (!isNothing || !this.#mayPulse) return false;
    this.#saidNothing += 1;
    return this.#saidNothing > SAID_NOTHING;
  }

  #scheduleHeartbeat(): void {
    clearTimeout(this.#heartbeat);
    const jitter = 1 + HEARTBEAT_JITTER * (2 * Math.random() - 1);
    const beat = (): void => this.#report(performance.now() - this.#fullMs >= FULL_EVERY_MS);
    this.#heartbeat = setTimeout(beat, this.#heartbeatMs * jitter);
  }
}
