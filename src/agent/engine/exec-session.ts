import { bytesOf } from '../bytes.ts';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ExecOptions, ExecSession, OutputChunk } from './engine.ts';
import { EngineUnavailableError, ExecLeftError, ExecTimeoutError } from './errors.ts';
import { FrameDecoder } from './frames.ts';

const PROCESS_TRIES = 100;
const PROCESS_PAUSE_MS = 50;

/** What only the engine knows of a command. */
export interface ExecCalls {
  /** Asked once the output has ended. */
  readonly exitCode: () => Promise<number>;
  readonly resize: ExecSession['resize'];
  /** As this machine numbers it; 0: the engine does not know it yet; undefined: it does not run. */
  readonly processId: () => Promise<number | undefined>;
  readonly containerId: string;
}

/** The command's side of a hijacked connection. */
export function execSession(socket: Socket, options: ExecOptions, calls: ExecCalls): ExecSession {
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    socket.destroy();
  };
  const kill = (signal: NodeJS.Signals): Promise<boolean> => signalCommand(calls, signal);
  // An engine lets a command go on whose reader has left.
  const end = (error: unknown): void => {
    if (failure === undefined) void kill('SIGKILL');
    fail(error);
  };
  const timer = setTimeout(
    () => end(new ExecTimeoutError(`the command did not end in ${options.timeoutMs} ms`)),
    options.timeoutMs,
  );
  const onAbort = (): void => end(options.signal?.reason);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  // The socket may close before anyone reads: the clock must not outlive it, and an error is reported by the reader.
  socket.once('close', () => {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
  });
  socket.on('error', fail);
  if (options.signal?.aborted === true) onAbort();
  if (options.stdin !== undefined) feed(socket, options.stdin, fail);

  return {
    output: output(socket, options.tty !== undefined, () => failure),
    async exitCode() {
      if (failure !== undefined) throw failure;
      return await calls.exitCode();
    },
    resize: calls.resize,
    kill,
    leave: () => fail(new ExecLeftError('the command goes on without a reader')),
  };
}

/** The number may belong to another process by now: it is signalled only while it is in the container. */
async function signalCommand(
  { processId, containerId }: ExecCalls,
  signal: NodeJS.Signals,
): Promise<boolean> {
  try {
    const id = await knownProcess(processId);
    if (id === undefined || id <= 1) return false;
    const groups = await readFile(`/proc/${id}/cgroup`, 'utf8');
    return groups.includes(containerId) && (sent(-id, signal) || sent(id, signal));
  } catch {
    return false;
  }
}

/** A busy engine notes the number of a process a moment after that has begun to print. */
async function knownProcess(processId: ExecCalls['processId']): Promise<number | undefined> {
  let id = await processId();
  for (let tries = 1; id === 0 && tries < PROCESS_TRIES; tries += 1) {
    await pause(PROCESS_PAUSE_MS);
    id = await processId();
  }
  return id;
}

function sent(to: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(to, signal);
  } catch {
    return false;
  }
}

function feed(
  socket: Socket,
  stdin: NonNullable<ExecOptions['stdin']>,
  fail: (error: unknown) => void,
): void {
  // A command may end without reading its input: EPIPE is then no failure, its exit code decides.
  pipeline(Readable.from(stdin), socket).catch((error: NodeJS.ErrnoException) => {
    const closed = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? '');
    if (!closed) fail(error);
  });
}

/** A terminal has one stream, which is not framed. */
async function* output(
  socket: Socket,
  isTerminal: boolean,
  failure: () => unknown,
): AsyncGenerator<OutputChunk> {
  const frames = new FrameDecoder({ whole: false });
  try {
    for await (const bytes of bytesOf(socket)) {
      if (isTerminal) yield { stream: 'stdout', bytes };
      else yield* frames.push(bytes);
    }
  } catch (error) {
    throw failure() ?? new EngineUnavailableError('the connection to the command broke', { cause: error });
  } finally {
    socket.destroy();
  }
  const known = failure();
  if (known !== undefined) throw known;
  if (!frames.atBoundary) throw new EngineUnavailableError('the output of the command was cut');
}

export interface CollectedOutput {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** More was written than is kept; it was read and dropped, so that the command could end. */
  readonly truncated: boolean;
}

/** For commands with little output: the first `maxBytes` of each stream. */
export async function collectOutput(session: ExecSession, maxBytes: number): Promise<CollectedOutput> {
  const kept: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const bytes = { stdout: 0, stderr: 0 };
  let truncated = false;
  for await (const chunk of session.output) {
    const room = maxBytes - bytes[chunk.stream];
    const part = chunk.bytes.subarray(0, Math.max(0, room));
    if (part.length > 0) kept[chunk.stream].push(part);
    bytes[chunk.stream] += part.length;
    truncated ||= part.length < chunk.bytes.length;
  }
  return {
    exitCode: await session.exitCode(),
    stdout: Buffer.concat(kept.stdout).toString('utf8'),
    stderr: Buffer.concat(kept.stderr).toString('utf8'),
    truncated,
  };
}
