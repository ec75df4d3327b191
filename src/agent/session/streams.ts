import { isUtf8 } from 'node:buffer';
import type {
  AgentMessage,
  StreamEnd,
  StreamOperation,
  StreamRequest,
  VolumeMeasurement,
} from '../../core/protocol/agent-protocol.ts';
import {
  budgetUsedUp,
  purposeOf,
  servedByAgent,
  STREAM_BUDGETS,
  type StreamPurpose,
} from '../../core/contract/stream-budgets.ts';
import type { ContainerSummary } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { ExecLeftError, ExecTimeoutError } from '../engine/errors.ts';
import { INSTANCE_SIGNALS } from '../../core/model/stop.ts';
import { messageOf, optional } from '../../core/model/values.ts';
import { type Log } from '../log.ts';
import type { LogFeed } from '../../core/contract/log-feed.ts';
import { sendOwnLog } from './own-log.ts';
import { attach } from './attach.ts';
import { carryBytes } from './carry-bytes.ts';
import type { Channel } from './channel.ts';
import { type Payload, Pipe } from './pipe.ts';
import { cpuPercent } from '../containers/usage.ts';
import { CopyRefusedError } from '../volumes/volumes.ts';

const CONTAINERS_BYTES = 32 * 1024;
const LONGEST_EXEC_MS = 3_600_000;

export interface StreamSource {
  readonly engine: Engine;
  /** The container of an instance that this node was assigned. */
  readonly containerOf: (instanceId: string) => string | undefined;
  /** The part of its environment that was ordered in the open. */
  readonly plainOf: (instanceId: string) => Readonly<Record<string, string>>;
  readonly networkContainers: (name: string) => Promise<readonly string[]>;
  readonly send: (message: AgentMessage) => boolean;
  /** What was sent and has not left the machine. */
  readonly queuedBytes: () => number;
  /** A connection of its own to the control plane, for what one question carries both ways. */
  readonly openChannel: (channelId: string, signal: AbortSignal) => Promise<Channel>;
  readonly measureVolume: (volumeId: string) => Promise<VolumeMeasurement>;
  /** Takes in a copy of a volume. */
  readonly receive: (operation: Operation<'volume-receive'>, signal: AbortSignal) => Promise<void>;
  /** The certificate of a host; throws with why not. */
  readonly revokeCertificate: (host: string) => Promise<object>;
  /** Announces another key for the mesh; throws with why not. */
  readonly renewMeshKey: () => Promise<object>;
  /** Images that nobody needs are removed, or named. */
  readonly clean: (dryRun: boolean) => Promise<object>;
  readonly log: Log;
  /** The log of this agent. */
  readonly feed: LogFeed;
}

/** The questions of people, answered over the session: a bounded number of each purpose at once, none faster than its reader. */
export class Streams {
  readonly #source: StreamSource;
  readonly #open = new Map<string, { readonly pipe: Pipe; readonly purpose: StreamPurpose }>();

  constructor(source: StreamSource) {
    this.#source = source;
  }

  open({ streamId, operation }: StreamRequest): void {
    const { send } = this.#source;
    if (this.#open.has(streamId)) return;
    const purpose = purposeOf(operation);
    const most = servedByAgent(purpose);
    if (this.#openFor(purpose) >= most) {
      const message = budgetUsedUp(purpose, most);
      send({ type: 'end', streamId, error: { reason: 'too_many_streams', message } });
      return;
    }
    const { windowBytes, queuedBytes } = STREAM_BUDGETS[purpose];
    const pipe = new Pipe((payload) => void send({ type: 'data', streamId, ...payload }), {
      windowBytes,
      isCrowded: () => this.#source.queuedBytes() > queuedBytes,
    });
    this.#open.set(streamId, { pipe, purpose });
    void this.#answer(streamId, operation, pipe);
  }

  #openFor(purpose: StreamPurpose): number {
    let count = 0;
    for (const one of this.#open.values()) if (one.purpose === purpose) count += 1;
    return count;
  }

  async #answer(streamId: string, operation: StreamOperation, pipe: Pipe): Promise<void> {
    let outcome: Omit<StreamEnd, 'type' | 'streamId'>;
    try {
      outcome = optional('exitCode', await this.#serve(operation, pipe));
    } catch (error) {
      outcome = { error: problem(error) };
    }
    this.#open.delete(streamId);
    if (!pipe.signal.aborted) this.#source.send({ type: 'end', streamId, ...outcome });
  }

  credit(streamId: string, bytes: number): void {
    this.#open.get(streamId)?.pipe.grant(bytes);
  }

  cancel(streamId: string): void {
    this.#open.get(streamId)?.pipe.abort();
  }

  /** The session is gone, and with it every reader. */
  end(): void {
    for (const { pipe } of this.#open.values()) pipe.abort();
  }

  async #receive(operation: Operation<'volume-receive'>, pipe: Pipe): Promise<void> {
    try {
      await this.#source.receive(operation, pipe.signal);
    } catch (error) {
      if (!(error instanceof CopyRefusedError)) throw error;
      if (error.have !== undefined) await pipe.write({ value: { have: error.have } });
      throw new StreamError(error.reason, error.message);
    }
  }

  async #serve(operation: StreamOperation, pipe: Pipe): Promise<number | undefined> {
    const { engine } = this.#source;
    if (operation.kind === 'containers') {
      await sendContainers(engine, pipe);
      return undefined;
    }
    if (operation.kind === 'network-containers') {
      await pipe.write({ value: await this.#source.networkContainers(operation.network) });
      return undefined;
    }
    if (operation.kind === 'volume-measure') {
      await pipe.write({ value: await this.#source.measureVolume(operation.volumeId) });
      return undefined;
    }
    if (operation.kind === 'certificate-revoke') {
      await pipe.write({ value: await this.#source.revokeCertificate(operation.host) });
      return undefined;
    }
    if (operation.kind === 'clean') {
      await pipe.write({ value: await this.#source.clean(operation.dryRun) });
      return undefined;
    }
    if (operation.kind === 'agent-log') {
      await sendOwnLog(this.#source.feed, operation, pipe);
      return undefined;
    }
    if (operation.kind === 'mesh-key-renew') {
      await pipe.write({ value: await this.#source.renewMeshKey() });
      return undefined;
    }
    if (operation.kind === 'volume-receive') {
      await this.#receive(operation, pipe);
      return undefined;
    }
    const id = this.#source.containerOf(operation.instanceId);
    if (id === undefined) throw new StreamError('container_not_found', 'this node has no such container');
    switch (operation.kind) {
      case 'logs':
        await sendLogs(engine, id, operation, pipe, this.#source.plainOf(operation.instanceId));
        return undefined;
      case 'stats':
        await sendStats(engine, id, pipe);
        return undefined;
      case 'signal':
        await engine.kill(id, signalNamed(operation.signal), { signal: pipe.signal });
        return undefined;
      case 'health-checks': {
        const plain = this.#source.plainOf(operation.instanceId);
        await pipe.write({ value: await engine.healthChecks(id, plain, { signal: pipe.signal }) });
        return undefined;
      }
      case 'exec':
        return await sendExec(engine, id, operation, pipe);
      case 'attach': {
        const channel = await this.#source.openChannel(operation.channelId, pipe.signal);
        return await attach(engine, id, operation, channel, pipe.signal);
      }
      case 'copy-out':
      case 'copy-in':
      case 'connect': {
        const channel = await this.#source.openChannel(operation.channelId, pipe.signal);
        await carryBytes(engine, id, operation, channel, pipe.signal);
        return undefined;
      }
    }
  }
}

class StreamError extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Whatever the control plane says: only what is in the list goes to the engine. */
function signalNamed(name: string): string {
  if (INSTANCE_SIGNALS.includes(name)) return name;
  throw new StreamError('signal_unknown', 'the signal is none that may be sent');
}

function problem(error: unknown): { readonly reason: string; readonly message: string } {
  if (error instanceof StreamError) return { reason: error.reason, message: error.message };
  if (error instanceof ExecTimeoutError) return { reason: 'exec_timeout', message: error.message };
  if (error instanceof ExecLeftError) return { reason: 'exec_left', message: error.message };
  return { reason: 'stream_failed', message: messageOf(error) };
}

/** Every container of the machine (spec 5), without its environment: the engine port does not even read it. */
async function sendContainers(engine: Engine, pipe: Pipe): Promise<void> {
  let gathered: ContainerSummary[] = [];
  let bytes = 0;
  for (const one of await engine.list({ all: true }, { signal: pipe.signal })) {
    const size = JSON.stringify(one).length;
    if (bytes + size > CONTAINERS_BYTES && gathered.length > 0) {
      await pipe.write({ value: gathered });
      [gathered, bytes] = [[], 0];
    }
    gathered.push(one);
    bytes += size;
  }
  await pipe.write({ value: gathered });
}

type Operation<K extends StreamOperation['kind']> = Extract<StreamOperation, { readonly kind: K }>;

async function sendLogs(
  engine: Engine,
  id: string,
  operation: Operation<'logs'>,
  pipe: Pipe,
  plain: Readonly<Record<string, string>>,
): Promise<void> {
  const { follow, tail, sinceSeconds, timestamps = false } = operation;
  const lines = engine.logs(id, {
    follow,
    plain,
    signal: pipe.signal,
    ...optional('tail', tail),
    ...optional('sinceMs', sinceSeconds === undefined ? undefined : Date.now() - sinceSeconds * 1000),
  });
  /** In the middle of a line. */
  const within = new Set<string>();
  for await (const { line, partial, stream, timestamp, gap } of lines) {
    if (gap !== undefined) {
      await pipe.flush();
      await pipe.write({ value: { gap } });
      continue;
    }
    const at = timestamps && !within.has(stream) && timestamp !== undefined ? `${timestamp} ` : '';
    if (partial) within.add(stream);
    else within.delete(stream);
    await pipe.writeText(`${at}${line}${partial ? '' : '\n'}`, stream);
  }
  await pipe.flush();
}

async function sendStats(engine: Engine, id: string, pipe: Pipe): Promise<void> {
  let before;
  for await (const sample of engine.stats(id, { signal: pipe.signal })) {
    const { atMs, memoryBytes, memoryLimitBytes } = sample;
    if (before !== undefined) {
      await pipe.write({
        value: { atMs, cpuPercent: cpuPercent(before, sample), memoryBytes, memoryLimitBytes },
      });
    }
    before = sample;
  }
}

async function sendExec(
  engine: Engine,
  id: string,
  operation: Operation<'exec'>,
  pipe: Pipe,
): Promise<number> {
  const timeoutMs = Math.min(operation.timeoutMs, LONGEST_EXEC_MS);
  const session = await engine.exec(id, operation.command, { timeoutMs, signal: pipe.signal });
  for await (const { bytes, stream } of session.output) {
    for (const part of pipe.parts(bytes)) await pipe.write({ ...payloadOf(part), channel: stream });
  }
  return await session.exitCode();
}

function payloadOf(bytes: Buffer): Payload {
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}
