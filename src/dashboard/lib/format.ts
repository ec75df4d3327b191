const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(value: number): string {
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const digits = amount >= 100 || unit === 0 || Number.isInteger(amount) ? 0 : 1;
  return `${amount.toFixed(digits)} ${UNITS[unit] ?? ''}`;
}

export function cores(value: number): string {
  const shown = Number(value.toFixed(2));
  return `${shown} ${shown === 1 ? 'core' : 'cores'}`;
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString('en')} ${value === 1 ? one : many}`;
}

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** `3 min ago`; times of the server and of this machine may differ a little, so the future is `now`. */
export function ago(time: string | number | null | undefined, nowMs: number): string {
  if (time === null || time === undefined) return 'never';
  const at = typeof time === 'number' ? time : Date.parse(time);
  if (Number.isNaN(at)) return 'unknown';
  const seconds = Math.floor((nowMs - at) / 1000);
  for (const [size, unit] of STEPS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return seconds < 10 ? 'just now' : `${seconds} s ago`;
}

/** `1.3 s`, `45 s`, `2 min`, `3 h 2 min`. */
export function span(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Made once: it is costly, and a table shows many times. */
const DATE_TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export function dateTime(time: string | number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : DATE_TIME.format(date);
}

const LOG_TIME = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** Short, to the millisecond, for lines that are close to each other. */
export function logTime(time: string): string {
  return LOG_TIME.format(new Date(time)).replace(',', '');
}

/** A value of a description, as one would write it. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function percent(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.round((part / whole) * 100);
}
