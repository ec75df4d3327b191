import type { Style } from './style.ts';
import { clipped, displayWidth, printable } from './style.ts';

const GAP = 3;

/** Columns as wide as their widest cell; the last one is cut on a terminal rather than wrapped into the next row. */
export function tableText(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  style: Style,
  columns: number | undefined,
): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\t\n]+/g, ' ')));
  const widths = headers.map((header, at) =>
    Math.max(header.length, ...safe.map((row) => displayWidth(row[at] ?? ''))),
  );
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, at) =>
      at === cells.length - 1 ? cell : cell + ' '.repeat((widths[at] ?? 0) - displayWidth(cell) + GAP),
    );
    return padded.join('').trimEnd();
  };
  const cut = (text: string): string => (columns === undefined ? text : clipped(text, columns));
  return [style.bold(cut(line(headers))), ...safe.map((row) => cut(line(row)))]
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
