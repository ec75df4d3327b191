import {
  allRounds,
  COARSE,
  COLUMNS,
  type ColumnName,
  FINE,
  type Fold,
  folded,
  type Level,
  USAGE,
} from './columns.ts';

/** Which steps are asked for: from one to another of a level, each `every` of them as one. */
export interface Window {
  readonly level: Level;
  readonly from: number;
  readonly to: number;
  readonly every: number;
}

export function windowOf(nowMs: number, sinceMs: number, stepMs: number | undefined): Window {
  const level = sinceMs <= FINE.stepMs * FINE.length ? FINE : COARSE;
  const every = Math.max(1, Math.ceil((stepMs ?? 0) / level.stepMs));
  const to = Math.floor(nowMs / level.stepMs);
  const first = Math.floor((nowMs - sinceMs) / level.stepMs) + 1;
  // Whole steps of the answer, the same whenever it is asked for.
  return { level, from: Math.floor(first / every) * every, to, every };
}

export type Figures = Readonly<Record<ColumnName, readonly (number | null)[]>>;

function known(values: Iterable<number>): number[] {
  return [...values].filter((value) => !Number.isNaN(value));
}

/** Of one step, what several control planes have. */
function across(way: 'max' | 'sum', values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  return way === 'max' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

interface Measured {
  readonly value: number;
  readonly rounds: number;
}

function bits(rounds: number): number {
  let count = 0;
  for (let left = rounds; left > 0; left >>>= 1) count += left & 1;
  return count;
}

/**
 * Of one step, what agents measured that were connected to several control planes: each counts for the rounds that it was measured in, so that an
 * agent which moved within the step is counted once.
 */
function measuredAcross(fold: Fold, parts: readonly Measured[]): number {
  const all = parts.reduce((either, { rounds }) => either | rounds, 0);
  if (all === 0) return Number.NaN;
  const sum = (share: (rounds: number) => number): number =>
    parts.reduce((total, { value, rounds }) => total + value * share(rounds), 0);
  if (fold === 'mean') return sum((rounds) => bits(rounds) / bits(all));
  let most = 0;
  for (let round = 1; round <= all; round *= 2)
    most = Math.max(
      most,
      sum((rounds) => ((rounds & round) === 0 ? 0 : 1)),
    );
  return most;
}

/** Steps that are known become one; of none, nothing is known. */
export function coarser(fold: Fold, values: readonly number[]): number {
  let sum = Number.NaN;
  for (const [count, value] of known(values).entries()) sum = folded(fold, sum, count, value);
  return sum;
}

/** Parts of a window, each with all columns, as one; null: nobody knows. */
export function figuresOf(
  { level, from, to, every }: Window,
  parts: readonly (readonly number[][])[],
): Figures {
  const figure = (part: readonly number[][], column: number, step: number): number =>
    part[column]?.[step - from] ?? Number.NaN;
  /** Of a control plane that does not say it: all of them. */
  const roundsOf = (part: readonly number[][], step: number): number =>
    figure(part, COLUMNS.length, step) || allRounds(level);
  const column = (wanted: ColumnName): readonly (number | null)[] => {
    const which = COLUMNS.findIndex(({ name }) => name === wanted);
    const { fold = 'mean', across: way = 'sum' } = COLUMNS[which] ?? {};
    const figures: (number | null)[] = [];
    for (let start = from; start <= to; start += every) {
      const steps: number[] = [];
      for (let step = start; step < start + every && step <= to; step += 1) {
        const said = parts
          .map((part) => ({ value: figure(part, which, step), rounds: roundsOf(part, step) }))
          .filter(({ value }) => !Number.isNaN(value));
        steps.push(
          which < USAGE.length
            ? measuredAcross(fold, said)
            : across(
                way,
                said.map(({ value }) => value),
              ),
        );
      }
      const value = coarser(fold, steps);
      figures.push(Number.isNaN(value) ? null : value);
    }
    return figures;
  };
  return {
    cpuCores: column('cpuCores'),
    cpuCoresMax: column('cpuCoresMax'),
    memoryBytes: column('memoryBytes'),
    memoryBytesMax: column('memoryBytesMax'),
    receivedBytesPerSecond: column('receivedBytesPerSecond'),
    sentBytesPerSecond: column('sentBytesPerSecond'),
    measured: column('measured'),
    running: column('running'),
    wanted: column('wanted'),
    failures: column('failures'),
  };
}
