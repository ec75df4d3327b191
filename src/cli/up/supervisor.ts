import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import { Failure } from '../failure.ts';
import type { Progress } from '../progress.ts';
import type { Child } from './child.ts';

const WATCH_MS = 500;
/** One that ran for so long has not failed at its start. */
const STEADY_MS = 60_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** After the first end at once, later ones further apart: what cannot start is not started a hundred times a minute. */
export function waitBefore(failures: number): number {
  return failures === 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
}

interface Program {
  child: Child;
  /** Starts it again; absent: nothing goes on without it. */
  readonly again?: () => Child;
  startedMs: number;
  failures: number;
  /** When it is started again, once it has ended. */
  dueMs?: number;
}

/** What runs, what has to be stopped (last started first), and what is started again when it ends on its own. */
export class Supervisor {
  readonly #programs: Program[] = [];
  readonly #endings: { readonly label: string; readonly end: () => Promise<void> | void }[] = [];

  add(child: Child, again?: () => Child): void {
    const program: Program = { child, ...(again && { again }), startedMs: performance.now(), failures: 0 };
    this.#programs.push(program);
    this.#endings.push({ label: child.name, end: () => program.child.stop() });
  }

  onStop(label: string, end: () => Promise<void> | void): void {
    this.#endings.push({ label, end });
  }

  /** Until Ctrl-C, or until something ends without which nothing goes on. */
  async watch(interrupted: AbortSignal, progress: Progress): Promise<void> {
    const ended = once(interrupted, 'abort');
    while (!interrupted.aborted) {
      for (const program of this.#programs) await look(program, progress);
      await Promise.race([ended, pause(WATCH_MS)]);
    }
  }

  async stop(progress: Progress): Promise<void> {
    if (this.#endings.length === 0) return;
    const step = progress.step('Stop');
    const problems: string[] = [];
    for (const { label, end } of this.#endings.toReversed()) {
      step.note(label);
      try {
        await end();
      } catch (error) {
        problems.push(`${label}: ${messageOf(error)}`);
      }
    }
    if (problems.length === 0) step.done('everything that was started');
    else step.fail(problems.join('; '));
  }
}

async function look(program: Program, progress: Progress): Promise<void> {
  const { child, again } = program;
  if (!child.ended()) return;
  const now = performance.now();
  if (program.dueMs === undefined) {
    if (again === undefined)
      throw new Failure(`${child.name} ended on its own (${child.ending()})`, {
        advice: [...child.lastWords(), `log: ${child.logFile}`],
      });
    if (now - program.startedMs > STEADY_MS) program.failures = 0;
    const waitMs = waitBefore(program.failures);
    program.dueMs = now + waitMs;
    const when = waitMs === 0 ? 'now' : `in ${waitMs / 1000} s`;
    progress.line(
      `${child.name} ended on its own (${child.ending()}) and is started again ${when}; containers run on. Log: ${child.logFile}`,
    );
    if (program.failures > 0) for (const line of child.lastWords().slice(-3)) progress.line(`  ${line}`);
  }
  if (again === undefined || now < program.dueMs) return;
  await child.stop();
  delete program.dueMs;
  program.failures += 1;
  program.startedMs = now;
  program.child = again();
}
