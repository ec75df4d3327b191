import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { type Holder, isAlive, type Workspace, readState, writeState, startTimeOf } from './workspace.ts';

const END_MS = 15_000;
const POLL_MS = 50;
const LAST_LINES = 12;

/** A program that `berth up` started. */
export interface Child {
  readonly name: string;
  readonly logFile: string;
  readonly pid: number;
  ended(): boolean;
  /** How it ended: `exit status 1`, `SIGKILL`. */
  ending(): string;
  /** The last lines it wrote, for a message. */
  lastWords(): readonly string[];
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
}

/** In a process group of its own: Ctrl-C reaches `berth up` only, which then stops its programs in order. */
export function startChild(workspace: Workspace, options: ChildOptions): Child {
  const { name, command, args } = options;
  const logFile = join(workspace.logs, `${name}.log`);
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', log, log],
    detached: true,
    env: { ...process.env, ...options.environment },
  });
  closeSync(log);
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  if (options.input !== undefined) {
    child.stdin?.once('error', () => undefined);
    child.stdin?.end(options.input);
  }
  const pid = child.pid ?? 0;
  const holder: Holder = { pid, startTime: startTimeOf(pid) ?? '', name };
  writeState(workspace, { children: [...(readState(workspace).children ?? []), holder] });
  const ended = (): boolean => failed !== undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    name,
    logFile,
    pid,
    ended,
    ending: () => failed?.message ?? child.signalCode ?? `exit status ${child.exitCode ?? 0}`,
    lastWords: () => (failed === undefined ? tail(logFile) : [failed.message]),
    stop: async () => {
      await end(child, ended);
      writeState(workspace, {
        children: (readState(workspace).children ?? []).filter((one) => one.pid !== pid),
      });
    },
  };
}

async function end(child: ChildProcess, ended: () => boolean): Promise<void> {
  if (ended()) return;
  child.kill('SIGTERM');
  for (const deadline = Date.now() + END_MS; !ended(); await pause(POLL_MS)) {
    if (Date.now() > deadline) child.kill('SIGKILL');
  }
}

function tail(logFile: string): readonly string[] {
  const text = readFileSync(logFile, 'utf8').trimEnd();
  return text === '' ? [] : text.split('\n').slice(-LAST_LINES);
}

/** Waits for a condition; ends early, with the program's last output, when the program does. */
export async function awaitChild(
  child: Child,
  ready: () => Promise<boolean>,
  {
    deadlineMs,
    what,
    signal,
  }: { readonly deadlineMs: number; readonly what: string; readonly signal: AbortSignal },
): Promise<void> {
  for (
    const deadline = Date.now() + deadlineMs;
    !(await ready());
    await pause(POLL_MS, undefined, { signal })
  ) {
    if (child.ended())
      throw new Failure(`${what} ended at once`, { advice: [...child.lastWords(), `log: ${child.logFile}`] });
    if (Date.now() > deadline) {
      const lines = child.lastWords();
      const silent =
        'It has written nothing yet: when this machine is busy with something else, try again later.';
      throw new Failure(`${what} did not get ready within ${deadlineMs / 1000} s`, {
        advice: [...(lines.length === 0 ? [silent] : lines), `log: ${child.logFile}`],
      });
    }
  }
}

/** Programs of a run that was killed: only those that are still the same processes. */
export async function stopLeftovers(workspace: Workspace): Promise<number> {
  const left = (readState(workspace).children ?? []).filter(isAlive).toReversed();
  for (const holder of left) {
    signalQuietly(holder, 'SIGTERM');
    for (const deadline = Date.now() + END_MS; isAlive(holder); await pause(POLL_MS)) {
      if (Date.now() > deadline) signalQuietly(holder, 'SIGKILL');
    }
  }
  writeState(workspace, { children: [] });
  return left.length;
}

function signalQuietly({ pid }: Holder, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in the meantime.
  }
}
