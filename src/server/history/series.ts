import { COARSE, type Column, FINE, type Level, STATE, USAGE } from './columns.ts';
import { Ring } from './ring.ts';

const LEVELS: readonly Level[] = [FINE, COARSE];
const GROUPS: Readonly<Record<GroupName, readonly Column[]>> = {
  usage: USAGE,
  state: STATE,
};
const BYTES_OF_A_FIGURE = 4;
/** Of the objects around the figures: estimated, rather too much. */
const OVERHEAD = 2048;

/** What a series takes when everything of it is kept: 16,320 bytes of figures and what is around them. */
export const SERIES_BYTES =
  OVERHEAD +
  BYTES_OF_A_FIGURE * (USAGE.length + STATE.length) * LEVELS.reduce((sum, { length }) => sum + length, 0);

export type GroupName = 'usage' | 'state';

/** The history of one deployment or node, as far as this process knows it. */
export class Series {
  /** In the order of the levels; absent: this process never had such a figure. */
  readonly groups: Partial<Record<GroupName, readonly Ring[]>> = {};
  /** Since the last sample. */
  failures = 0;

  add(group: GroupName, atMs: number, values: readonly number[]): void {
    for (const ring of this.rings(group)) ring.add(atMs, values);
  }

  rings(group: GroupName): readonly Ring[] {
    const folds = GROUPS[group].map(({ fold }) => fold);
    return (this.groups[group] ??= LEVELS.map((level) => new Ring(level, folds)));
  }

  /** All columns, those of `usage` first; not a number where nothing is known. */
  read(level: Level, from: number, to: number): number[][] {
    const at = LEVELS.indexOf(level);
    return (['usage', 'state'] as const).flatMap(
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
