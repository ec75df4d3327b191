import autocannon, { type Options } from 'autocannon';
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cpuSeconds } from './process-cost.ts';

/**
 * Systems compared in short turns: a machine that others use is twice as fast one minute as another, but about the same in turns that
 * follow each other. Ratios are taken within a round, and the median of them counts.
 */
export interface Turn {
  readonly perSecond: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly answered: number;
  /** Processor time of one request, in microseconds; 0 where no process was given. */
  readonly cpuMicros: number;
}

export interface TurnOptions extends Options {
  /** Of the system, for its processor time. */
  readonly pid?: number;
  /** Wait until the system is idle again, so that work it put off is counted. */
  readonly isSettled?: boolean;
  /** Of the systems that are compared: those whose turn it is not stand still, and the disk has what they have written. Absent: neither. */
  readonly compared?: readonly number[];
}

/** It ends at a multiple of it. */
const SAMPLE_MS = 20;
const LONGEST_SECONDS = 60;
const IDLE_WINDOW_MS = 100;
const IDLE_SECONDS = 0.02;
/** Nomad looks for nodes for what it accepted in two seconds for more than ten afterwards. */
const SETTLE_MS = 45_000;

async function idle(pid: number): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  for (let before = cpuSeconds(pid); performance.now() < until; ) {
    await delay(IDLE_WINDOW_MS);
    const used = cpuSeconds(pid);
    if (used - before <= IDLE_SECONDS) return;
    before = used;
  }
}

/** Nomad takes a fifth of a core and more for minutes after it was asked for anything, which would be in the turns of the others. */
async function alone(
  compared: readonly number[],
  pid: number | undefined,
  turn: () => Promise<Turn>,
): Promise<Turn> {
  const others = compared.filter((other) => other !== pid);
  const goOn = (): void => others.forEach((other) => signal(other, 'SIGCONT'));
  const end = (): void => {
    goOn();
    process.exit(1);
  };
  for (const reason of ['SIGINT', 'SIGTERM'] as const) process.on(reason, end);
  try {
    others.forEach((other) => signal(other, 'SIGSTOP'));
    // What the one before has written is on its way to the disk, and would be in the way of a sync of this one.
    await promisify(execFile)('sync');
    // It has stood still itself, and has something to catch up with.
    if (pid !== undefined && others.length > 0) await idle(pid);
    const seen = await turn();
    // What it has put off is done in its own time, not while it is stopped or in the turn after the next.
    if (pid !== undefined) await idle(pid);
    return seen;
  } finally {
    goOn();
    for (const reason of ['SIGINT', 'SIGTERM'] as const) process.off(reason, end);
  }
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended; the turn that needs it says so.
  }
}

/**
 * One turn of one system. Of a turn with a duration, what counts begins when every connection has had an answer: a short one would be all
 * handshakes with TLS. A refusal is no request that was served, and is answered sooner.
 */
export const turnOf = ({ compared, ...options }: TurnOptions): Promise<Turn> =>
  compared === undefined ? measured(options) : alone(compared, options.pid, () => measured(options));

async function measured({
  pid,
  isSettled = false,
  ...options
}: Omit<TurnOptions, 'compared'>): Promise<Turn> {
  const { duration, connections = 1 } = options;
  const cpu = (): number => (pid === undefined ? 0 : cpuSeconds(pid));
  const connected = new Set<unknown>();
  let millis: number[] = [];
  let [begun, ended, cpuBefore] = [performance.now(), 0, cpu()];
  const run = autocannon({
    ...options,
    sampleInt: SAMPLE_MS,
    ...(duration === undefined ? {} : { duration: LONGEST_SECONDS }),
  });
  run.on('response', (client, status, _bytes, took) => {
    ended = performance.now();
    if (status >= 200 && status < 300) millis.push(took);
    if (duration === undefined || connected.size === connections) return;
    if (connected.add(client).size < connections) return;
    [begun, cpuBefore, millis] = [performance.now(), cpu(), []];
    setTimeout(() => run.stop(), duration * 1000);
  });
  const result = await run;
  if (pid !== undefined && isSettled) await idle(pid);
  const sorted = millis.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return {
    perSecond: (sorted.length * 1000) / Math.max(ended - begun, 1),
    p50: at(0.5),
    p99: at(0.99),
    errors: result.errors + result.non2xx,
    answered: result['2xx'],
    cpuMicros: ((cpu() - cpuBefore) * 1e6) / Math.max(sorted.length, 1),
  };
}

/** So many rounds of all sides, every second one backwards: whoever is first is so half of the times. */
export async function inTurns<T = Turn>(
  rounds: number,
  sides: readonly (() => Promise<T>)[],
): Promise<readonly (readonly T[])[]> {
  const turns = sides.map((): T[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = [...sides.entries()];
    for (const [at, side] of round % 2 === 0 ? order : order.toReversed()) turns[at]?.push(await side());
  }
  return turns;
}

/** What was compared under one name: of each start, of each side, its turns. */
type Compared<T> = readonly (readonly (readonly T[])[])[];

/**
 * Two processes of the same code differ by 6 to 25 %, by luck of their start: all sides are started so often, and what each start compared is
 * kept apart, by name.
 */
export async function overStarts<T = Turn>(
  starts: number,
  compare: () => Promise<ReadonlyMap<string, readonly (readonly T[])[]>>,
): Promise<ReadonlyMap<string, Compared<T>>> {
  const seen = new Map<string, (readonly (readonly T[])[])[]>();
  for (let start = 0; start < starts; start += 1)
    for (const [name, sides] of await compare()) seen.set(name, [...(seen.get(name) ?? []), sides]);
  return seen;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted.length >> 1;
  const [low = 0, high = low] =
    sorted.length % 2 === 1 ? [sorted[upper]] : sorted.slice(upper - 1, upper + 1);
  return (low + high) / 2;
}

/** The median of the ratios of the rounds. */
export function ratioOf(
  figure: 'perSecond' | 'p99' | 'cpuMicros',
  ours: readonly Turn[],
  theirs: readonly Turn[],
): number {
  return median(ours.map((turn, at) => turn[figure] / (theirs[at]?.[figure] ?? 0)));
}

/** The middle of each figure; answers and errors of all turns. */
export function middleOf(turns: readonly Turn[]): Turn {
  const middle = (figure: keyof Turn): number => median(turns.map((turn) => turn[figure]));
  const sum = (figure: keyof Turn): number => turns.reduce((total, turn) => total + turn[figure], 0);
  return {
    perSecond: middle('perSecond'),
    p50: middle('p50'),
    p99: middle('p99'),
    cpuMicros: middle('cpuMicros'),
    errors: sum('errors'),
    answered: sum('answered'),
  };
}
