import { COARSE, COLUMNS, type ColumnName, FINE, type Fold, folded, type Level } from './columns.ts';

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

/** Steps that are known become one; of none, nothing is known. */
export function coarser(fold: Fold, values: readonly number[]): number {
  let sum = Number.NaN;
  for (const [count, value] of known(values).entries()) sum = folded(fold, sum, count, value);
  return sum;
}

/** Parts of a window, each with all columns, as one; null: nobody knows. */
export function figuresOf({ from, to, every }: Window, parts: readonly (readonly number[][])[]): Figures {
  const column = (wanted: ColumnName): readonly (number | null)[] => {
    const which = COLUMNS.findIndex(({ name }) => name === wanted);
    const { fold = 'mean', across: way = 'sum' } = COLUMNS[which] ?? {};
    const figures: (number | null)[] = [];
    for (let start = from; start <= to; start += every) {
      const steps: number[] = [];
      for (let step = start; step < start + every && step <= to; step += 1)
        steps.push(across(way, known(parts.map((part) => part[which]?.[step - from] ?? Number.NaN))));
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
