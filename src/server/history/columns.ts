/** How samples of one step become its figure, and steps a longer one. */
export type Fold = 'mean' | 'max' | 'min' | 'sum' | 'either';

export type ColumnName =
  | 'cpuCores'
  | 'cpuCoresMax'
  | 'memoryBytes'
  | 'memoryBytesMax'
  | 'receivedBytesPerSecond'
  | 'sentBytesPerSecond'
  | 'measured'
  | 'running'
  | 'wanted'
  | 'failures';

export interface Column {
  readonly name: ColumnName;
  readonly fold: Fold;
  /** How the figures of several control planes become one: each has those of the agents that are connected to it. */
  readonly across: 'max' | 'sum';
}

/** What agents measured: kept where they are connected, and missing where nobody measured. */
export const USAGE: readonly Column[] = [
  { name: 'cpuCores', fold: 'mean', across: 'sum' },
  { name: 'cpuCoresMax', fold: 'max', across: 'sum' },
  { name: 'memoryBytes', fold: 'mean', across: 'sum' },
  { name: 'memoryBytesMax', fold: 'max', across: 'sum' },
  { name: 'receivedBytesPerSecond', fold: 'mean', across: 'sum' },
  { name: 'sentBytesPerSecond', fold: 'mean', across: 'sum' },
  { name: 'measured', fold: 'mean', across: 'sum' },
];

/** What the records say: kept by the control plane that decides for the tenant. */
export const STATE: readonly Column[] = [
  { name: 'running', fold: 'min', across: 'max' },
  { name: 'wanted', fold: 'max', across: 'max' },
  { name: 'failures', fold: 'sum', across: 'sum' },
];

export const COLUMNS: readonly Column[] = [...USAGE, ...STATE];

export interface Level {
  readonly stepMs: number;
  /** Steps that are kept. */
  readonly length: number;
}

/** The last hour closely, the last day roughly. */
export const FINE: Level = { stepMs: 30_000, length: 120 };
export const COARSE: Level = { stepMs: 300_000, length: 288 };

/** So often a figure is taken, or as often as agents measure: at least twice in the shortest step. */
export const ROUND_MS = 15_000;

/** Which rounds of a step something was measured in: a bit for each of them. Behind all columns, and nobody's to see. */
export const ROUNDS: readonly Fold[] = ['either'];

export function roundAt({ stepMs }: Level, atMs: number): number {
  return 2 ** Math.floor((atMs % stepMs) / ROUND_MS);
}

export function allRounds({ stepMs }: Level): number {
  return 2 ** Math.ceil(stepMs / ROUND_MS) - 1;
}

/** One figure more of a step that has `count` so far. */
export function folded(fold: Fold, before: number, count: number, value: number): number {
  if (count === 0) return value;
  switch (fold) {
    case 'mean':
      return before + (value - before) / (count + 1);
    case 'max':
      return Math.max(before, value);
    case 'min':
      return Math.min(before, value);
    case 'sum':
      return before + value;
    case 'either':
      return before | value;
  }
}
