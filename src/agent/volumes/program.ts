import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ProgramConfinement, confinedCommand } from './confinement.ts';
import { untilAborted } from './interruptible.ts';

const FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Nothing of the agent's own environment, and output that a program can parse. */
const ENVIRONMENT = { PATH: FOLDERS.join(':'), LC_ALL: 'C' };

/** The programs that are called, with the Debian package that brings each. */
export const PROGRAMS = {
  losetup: 'mount',
  mount: 'mount',
  umount: 'mount',
  mknod: 'coreutils',
  cp: 'coreutils',
  rm: 'coreutils',
  sync: 'coreutils',
  find: 'findutils',
  fallocate: 'util-linux',
  fsfreeze: 'util-linux',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  pivot_root: 'util-linux',
  setpriv: 'util-linux',
  btrfs: 'btrfs-progs',
  'mkfs.btrfs': 'btrfs-progs',
  'mkfs.ext4': 'e2fsprogs',
  resize2fs: 'e2fsprogs',
  'mkfs.xfs': 'xfsprogs',
  xfs_growfs: 'xfsprogs',
  rsync: 'rsync',
  nft: 'nftables',
  iptables: 'iptables',
  ip6tables: 'iptables',
  ip: 'iproute2',
  bridge: 'iproute2',
  wg: 'wireguard-tools',
  'wireguard-go': 'wireguard-go',
  caddy: 'caddy',
} as const;

export type Program = keyof typeof PROGRAMS;

/**
 * Each runs in a group of its own: what ends the agent's (Ctrl-C in a terminal) does not cut off a change of a file system in its middle.
 * No other: what goes on in a tree when the agent is gone is in the way of the next one.
 */
const APART: ReadonlySet<Program> = new Set([
  'losetup',
  'mount',
  'umount',
  'fallocate',
  'fsfreeze',
  'btrfs',
  'mkfs.btrfs',
  'mkfs.ext4',
  'resize2fs',
  'mkfs.xfs',
  'xfs_growfs',
]);

export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  readonly exitCode: number | undefined;
  readonly output: string;
  constructor(program: Program, exitCode: number | undefined, output: string) {
    const text = output.trim().split('\n').slice(0, 3).join('; ').slice(0, 500);
    super(`${program}: ${text === '' ? `exit code ${exitCode ?? 'unknown'}` : text}`);
    this.exitCode = exitCode;
    this.output = output;
  }
}

export async function findProgram(program: Program): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const path = join(folder, program);
    const there = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return path;
  }
  return undefined;
}

async function pathOf(program: Program): Promise<string> {
  const path = await findProgram(program);
  if (path === undefined) {
    throw new ProgramError(program, undefined, `not installed; it is in the package ${PROGRAMS[program]}`);
  }
  return path;
}

/**
 * Runs to its end, never through a shell: arguments are ours or ids that were checked. Output is what it printed. `input`: what it
 * reads, of any length; an argument may have 128 KiB. `signal` kills it.
 */
export async function run(
  program: Program,
  args: readonly string[],
  timeoutMs = DEFAULT_TIMEOUT_MS,
  input?: string,
  signal?: AbortSignal,
): Promise<string> {
  const path = await pathOf(program);
  signal?.throwIfAborted();
  // Without streams where the machine has no descriptors left.
  const child: ChildProcess = spawn(path, [...args], { detached: APART.has(program), env: ENVIRONMENT });
  const ended = outcome(program, child);
  let isLate = false;
  let isTooLong = false;
  const stop = (): void => {
    // What it started may hold its output open.
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.kill('SIGKILL');
  };
  const onLate = (): void => {
    isLate = true;
    stop();
  };
  const late = timeoutMs > 0 ? setTimeout(onLate, timeoutMs) : undefined;
  signal?.addEventListener('abort', stop, { once: true });
  const printed: Buffer[] = [];
  let bytes = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    printed.push(chunk);
    bytes += chunk.length;
    if (bytes <= MAX_OUTPUT_BYTES) return;
    isTooLong = true;
    stop();
  });
  // A program that ends before it has read all says why by itself.
  child.stdin?.on('error', () => {});
  if (input !== undefined) child.stdin?.end(input);
  try {
    await ended;
  } catch (error) {
    if (!isTooLong) throw isLate ? new ProgramError(program, undefined, `no end in ${timeoutMs} ms`) : error;
  } finally {
    clearTimeout(late);
    signal?.removeEventListener('abort', stop);
  }
  // Also when it had ended well by itself: what was read is not all.
  if (isTooLong) throw new ProgramError(program, undefined, `it printed more than ${MAX_OUTPUT_BYTES} bytes`);
  return Buffer.concat(printed).toString('utf8');
}

/** Its output as a stream that fails when the program does. `stop` ends both. */
export async function outputOf(
  program: Program,
  args: readonly string[],
): Promise<{ readonly stream: Readable; readonly stop: () => void }> {
  const child = spawn(await pathOf(program), [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: ENVIRONMENT,
  });
  // Taken over at once: what a program that has ended leaves unread is thrown away.
  const stream = child.stdout.pipe(new PassThrough(), { end: false });
  outcome(program, child).then(
    () => stream.end(),
    (error: Error) => stream.destroy(error),
  );
  stream.on('error', () => {});
  const stop = (): void => {
    child.kill('SIGKILL');
    stream.destroy();
  };
  return { stream, stop };
}

export interface FeedOptions {
  /** Absent: for what this machine wrote itself. */
  readonly confinement?: ProgramConfinement;
  /** Without taking a byte that is there, or without an end after the last one, for this long, it is killed. */
  readonly heldMs: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/**
 * Feeds the program; resolves when it has taken all and ended well. When the source fails, the program is killed, and when it
 * does not go on, so that no author of its input can keep the agent waiting. Settles when the program is gone, and a silent
 * source is not waited for then.
 */
export async function feed(
  program: Program,
  args: readonly string[],
  source: AsyncIterable<Uint8Array>,
  { confinement, heldMs, signal }: FeedOptions,
): Promise<void> {
  const path = await pathOf(program);
  const [command, commandArgs] =
    confinement === undefined
      ? [path, args]
      : [await pathOf('unshare'), confinedCommand(path, args, confinement)];
  const child = spawn(command, commandArgs, { stdio: ['pipe', 'ignore', 'pipe'], env: ENVIRONMENT });
  const ended = outcome(program, child);
  const failed = new AbortController();
  ended.catch((error: unknown) => failed.abort(error));
  let failure: unknown;
  let held: NodeJS.Timeout | undefined;
  const stop = (why: string): void => {
    failure = new ProgramError(program, undefined, why);
    child.kill('SIGKILL');
    // Also when it has ended well by itself.
    ended.finally(() => failed.abort(failure)).catch(() => {});
  };
  const watch = (): void => {
    held = setTimeout(() => stop(`it did not go on for ${heldMs} ms`), heldMs);
  };
  const abort = (): void => stop('it was ended');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  async function* guarded(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of untilAborted(source, failed.signal)) {
        watch();
        yield chunk;
        clearTimeout(held);
      }
    } catch (error) {
      // Before its input is closed: an early end must not look like the end.
      failure ??= error;
      child.kill('SIGKILL');
      throw error;
    }
  }
  try {
    await pipeline(guarded(), child.stdin);
    clearTimeout(held);
    watch();
    await ended;
  } catch (error) {
    child.kill('SIGKILL');
    // Its own message says more than that its input was closed.
    await ended.catch((text: unknown) => {
      throw failure ?? text;
    });
    throw failure ?? error;
  } finally {
    clearTimeout(held);
    signal?.removeEventListener('abort', abort);
  }
}

function outcome(program: Program, child: ChildProcess): Promise<void> {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (text.length < MAX_OUTPUT_BYTES) text += chunk.toString('utf8');
  });
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new ProgramError(program, code ?? undefined, text));
    });
  });
}
