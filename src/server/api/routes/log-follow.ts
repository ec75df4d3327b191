import { setTimeout as pause } from 'node:timers/promises';
import type { StreamOperation } from '../../../core/protocol/agent-protocol.ts';
import type { InstanceObservation, InstanceRecord } from '../../../core/model/instance.ts';
import type { AgentStream } from '../../agents/streams/streams.ts';
import type { StreamSink } from '../route.ts';
import { isLost, type LogForm, pump } from './log-lines.ts';

const LOOK_EVERY_MS = 1000;

/** Which part of a container's log is asked for. */
export type LogRange = Pick<Extract<StreamOperation, { readonly kind: 'logs' }>, 'tail' | 'sinceSeconds'>;

interface FollowedInstance {
  readonly record: InstanceRecord;
  readonly observation?: InstanceObservation | undefined;
}

export interface FollowSource {
  /** The instances as they are now; undefined when what they belong to is gone. */
  readonly instances: () => readonly FollowedInstance[] | undefined;
  /** Undefined: the agent is not connected. */
  readonly open: (instance: InstanceRecord, range: LogRange) => AgentStream | undefined;
  /** What the reader asked for, of the instances that are there at first. */
  readonly range: LogRange;
}

/** One run of a container. Empty: there is none yet that could have printed something. */
function runOf(observation: InstanceObservation | undefined): string {
  const { phase, containerId, startedAt = '' } = observation ?? { phase: 'pending' };
  const started = phase === 'running' || phase === 'exited' || phase === 'failed';
  return containerId === undefined || !started ? '' : `${containerId} ${startedAt}`;
}

const secondsSince = (ms: number): number => Math.ceil((performance.now() - ms) / 1000);

const containerOf = (run: string): string => run.split(' ', 1)[0] ?? '';

class Following {
  /** The run that is read or was read last. */
  run: string;
  stream: AgentStream | undefined;
  /** On the monotonic clock; undefined: nothing of it was read yet. */
  endedMs: number | undefined;
  /** The agent went away; its part goes on when it is back. */
  lost = false;
  /** What is asked for of it at first, and when. */
  readonly #range: LogRange;
  readonly #sinceMs = performance.now();

  constructor(run: string, range: LogRange) {
    this.run = run;
    this.#range = range;
  }

  /** Is there something that was not read? */
  isBehind(run: string): boolean {
    return this.stream === undefined && (this.lost || (run !== '' && run !== this.run));
  }

  /** After a break in the same container: from the break on, a second of it perhaps twice. */
  rangeOf(run: string): LogRange {
    if (containerOf(run) !== containerOf(this.run)) return {};
    if (this.endedMs !== undefined) return { sinceSeconds: secondsSince(this.endedMs) };
    const { sinceSeconds } = this.#range;
    if (sinceSeconds === undefined) return this.#range;
    return { ...this.#range, sinceSeconds: sinceSeconds + secondsSince(this.#sinceMs) };
  }
}

/**
 * Follows the instances of a deployment, whichever there are: new ones join, a container that is started again goes on, and
 * an agent that comes back is asked again. Level-triggered: once a second what is there is compared with what is read.
 */
export class LogFollower {
  readonly #source: FollowSource;
  readonly #form: LogForm;
  readonly #sink: StreamSink;
  readonly #followed = new Map<string, Following>();

  constructor(source: FollowSource, form: LogForm, sink: StreamSink) {
    this.#source = source;
    this.#form = form;
    this.#sink = sink;
  }

  /** Until the reader leaves, or the deployment is gone and everything of it was read. */
  async run(): Promise<void> {
    const { signal } = this.#sink;
    try {
      for (let first = true; !signal.aborted; first = false) {
        const instances = this.#source.instances();
        if (instances === undefined && [...this.#followed.values()].every(({ stream }) => !stream)) {
          this.#sink.write(this.#form.end());
          return;
        }
        this.#look(instances ?? [], first);
        await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      for (const { stream } of this.#followed.values()) stream?.cancel();
    }
  }

  #look(instances: readonly FollowedInstance[], first: boolean): void {
    const present = new Set<string>(instances.map(({ record }) => record.id));
    for (const [id, { stream }] of this.#followed)
      if (!present.has(id) && stream === undefined) this.#followed.delete(id);
    for (const { record, observation } of instances) {
      const run = runOf(observation);
      const known = this.#followed.get(record.id);
      if (known === undefined) {
        if (run === '' && !first) continue;
        const range = first ? this.#source.range : {};
        const following = new Following(run, range);
        this.#followed.set(record.id, following);
        this.#open(record, following, range);
      } else if (known.stream !== undefined) {
        if (known.run === '') known.run = run;
      } else if (known.isBehind(run)) {
        const range = known.rangeOf(run);
        known.run = run;
        this.#open(record, known, range);
      }
    }
  }

  #open(record: InstanceRecord, following: Following, range: LogRange): void {
    const stream = this.#source.open(record, range);
    if (stream === undefined) {
      if (!following.lost) this.#sink.write(this.#form.problem(record, 'its agent is not connected'));
      following.lost = true;
      return;
    }
    following.lost = false;
    following.stream = stream;
    // A failure in here is reported to the reader, or is the reader's leaving.
    void pump({ instance: record, stream }, this.#form, this.#sink).finally(() => {
      following.stream = undefined;
      following.endedMs = performance.now();
      following.lost = isLost(stream);
    });
  }
}
