import type { Style } from './style.ts';
import { clipped, displayWidth } from './display-width.ts';
import { printable } from './style.ts';

const GAP = 3;

/** So much of a column is left where there is not room for all of it. */
const LEAST = 8;
const LEAST_OF_LAST = 16;

/** How narrow each column may become. */
function leastOf(widths: readonly number[], headers: readonly string[]): readonly number[] {
  const last = widths.length - 1;
  return widths.map((width, at) =>
    at === 0 && last > 0
      ? width
      : Math.min(width, Math.max(headers[at]?.length ?? 0, at === last ? LEAST_OF_LAST : LEAST)),
  );
}

const lineWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width + GAP, -GAP);

/** What a record says of itself, and the reason why somebody looks. */
const SAYINGS: ReadonlySet<string | undefined> = new Set(['MESSAGE', 'WHY', 'REASON', 'NOTE']);

/** Stands where columns are left out. */
const LEFT_OUT = -1;

/** Which columns there is room for. Where the last one is what a record says, those before it go first, from the right, and leave a mark. */
function roomFor(widths: readonly number[], headers: readonly string[], columns: number): readonly number[] {
  const least = leastOf(widths, headers);
  const all = widths.map((_width, at) => at);
  const needed = (kept: readonly number[]): number =>
    lineWidth(kept.map((at) => (at === LEFT_OUT ? 1 : (least[at] ?? 0))));
  if (needed(all) <= columns || !SAYINGS.has(headers.at(-1))) return all;
  const last = all.length - 1;
  for (let first = last - 1; first > 1; first -= 1) {
    const kept = [...all.slice(0, first), LEFT_OUT, last];
    if (needed(kept) <= columns) return kept;
  }
  return last > 2 ? [0, LEFT_OUT, last] : all;
}

/** What a terminal has room for: first the last column gives way, then the widest of the others, the first one never. */
function fitted(
  widths: readonly number[],
  headers: readonly string[],
  columns: number | undefined,
): readonly number[] {
  const last = widths.length - 1;
  const least = leastOf(widths, headers);
  const left = [...widths];
  let over = lineWidth(widths) - (columns ?? Number.POSITIVE_INFINITY);
  const cut = (at: number, by: number): void => {
    left[at] = (left[at] ?? 0) - by;
    over -= by;
  };
  if (over > 0) cut(last, Math.min(over, (left[last] ?? 0) - (least[last] ?? 0)));
  while (over > 0) {
    const widest = left
      .map((width, at) => ({ at, width }))
      .filter(({ at, width }) => width > (least[at] ?? 0))
      .toSorted((one, other) => other.width - one.width)[0];
    if (widest === undefined) break;
    cut(widest.at, 1);
  }
  return left;
}

/** Columns as wide as their widest cell; on a terminal cells are cut rather than wrapped into the next row. */
export function tableText(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  style: Style,
  columns: number | undefined,
  /** Where a cell leads to. */
  linkOf: (row: number, column: number) => string | undefined = () => undefined,
): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\t\n]+/g, ' ')));
  const whole = headers.map((header, at) =>
    safe.reduce((most, row) => Math.max(most, displayWidth(row[at] ?? '')), header.length),
  );
  const kept = columns === undefined ? whole.map((_width, at) => at) : roomFor(whole, headers, columns);
  const titles = kept.map((at) => headers[at] ?? '…');
  const widths = fitted(
    kept.map((at) => whole[at] ?? 1),
    titles,
    columns,
  );
  const line = (cells: readonly string[], row?: number): string => {
    const padded = kept.map((from, at) => {
      const text = cells[from] ?? (row === undefined ? '…' : '');
      const cell = columns === undefined ? text : clipped(text, widths[at] ?? 0);
      const shown = style.link(cell, (row === undefined ? undefined : linkOf(row, from)) ?? '');
      return at === kept.length - 1
        ? shown
        : shown + ' '.repeat((widths[at] ?? 0) - displayWidth(cell) + GAP);
    });
    return padded.join('').trimEnd();
  };
  const cut = (text: string): string => (columns === undefined ? text : clipped(text, columns));
  return [style.bold(cut(line(headers))), ...safe.map((row, at) => cut(line(row, at)))]
    .map((text) => `${text}\n`)
    .join('');
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** `3d4h`, `12m`, `8s`: two units below ten of the larger one, so that it stays short and still tells. */
export function age(at: unknown, now: number): string {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(time)) return '';
  return spanText(Math.max(0, now - time));
}

/** `in 89d`, or `2h ago` of what is over. */
export function expiry(at: unknown, now: number): string {
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(time)) return '';
  return time > now ? `in ${spanText(time - now)}` : `${spanText(now - time)} ago`;
}

export function spanText(ms: number): string {
  for (const [index, [size, unit]] of UNITS.entries()) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const finer = UNITS[index + 1];
    const rest = finer === undefined || whole >= 10 ? 0 : Math.floor((ms % size) / finer[0]);
    return `${whole}${unit}${rest === 0 || finer === undefined ? '' : `${rest}${finer[1]}`}`;
  }
  return '0s';
}
