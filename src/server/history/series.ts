import { COARSE, FINE, type Fold, type Level, roundAt, ROUNDS, STATE, USAGE } from './columns.ts';
import { Ring } from './ring.ts';

const LEVELS: readonly Level[] = [FINE, COARSE];
const GROUPS: Readonly<Record<GroupName, readonly Fold[]>> = {
  usage: USAGE.map(({ fold }) => fold),
  state: STATE.map(({ fold }) => fold),
  rounds: ROUNDS,
};
const BYTES_OF_A_FIGURE = 4;
/** Of the objects around the figures: estimated, rather too much. */
const OVERHEAD = 2048;

/** What a series takes when everything of it is kept: 17,952 bytes of figures and what is around them. */
export const SERIES_BYTES =
  OVERHEAD +
  BYTES_OF_A_FIGURE *
    (USAGE.length + STATE.length + ROUNDS.length) *
    LEVELS.reduce((sum, { length }) => sum + length, 0);

export type GroupName = 'usage' | 'state' | 'rounds';

/** The history of one deployment or node, as far as this process knows it. */
export class Series {
  /** In the order of the levels; absent: this process never had such a figure. */
  readonly groups: Partial<Record<GroupName, readonly Ring[]>> = {};
  /** Since the last sample. */
  failures = 0;

  add(group: 'usage' | 'state', atMs: number, values: readonly number[]): void {
    for (const ring of this.rings(group)) ring.add(atMs, values);
    if (group === 'state') return;
    for (const [at, ring] of this.rings('rounds').entries())
      ring.add(atMs, [roundAt(LEVELS[at] ?? FINE, atMs)]);
  }

  rings(group: GroupName): readonly Ring[] {
    return (this.groups[group] ??= LEVELS.map((level) => new Ring(level, GROUPS[group])));
  }

  /** All columns, those of `usage` first, and the rounds behind them; not a number where nothing is known. */
  read(level: Level, from: number, to: number): number[][] {
    const at = LEVELS.indexOf(level);
    return (['usage', 'state', 'rounds'] as const).flatMap(
      (group) =>
        this.groups[group]?.[at]?.read(from, to) ??
        GROUPS[group].map(() => Array.from({ length: to - from + 1 }, () => Number.NaN)),
    );
  }

  /** Nothing of it is of the last day. */
  isOver(nowMs: number): boolean {
    const oldest = Math.floor(nowMs / COARSE.stepMs) - COARSE.length;
    return Object.values(this.groups).every((rings) => (rings.at(-1)?.newest ?? 0) <= oldest);
  }
}
