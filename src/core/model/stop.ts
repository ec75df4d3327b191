import { parseDuration } from './quantity.ts';

/** How a container is told to end, and how long it has for that. */
export interface StopTerms {
  /** Absent: that of the image, or SIGTERM. */
  readonly signal?: string;
  /** Absent: ten seconds. */
  readonly grace?: string;
}

/** Those that ask a program to end, whatever else they mean to some. */
export const STOP_SIGNALS: readonly string[] = [
  'SIGTERM',
  'SIGINT',
  'SIGQUIT',
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGABRT',
  'SIGALRM',
  'SIGPWR',
  'SIGKILL',
  'SIGRTMIN+3',
];

/** What one instance may be sent. None that halts it without ending it: nothing but its health check would say so. */
export const INSTANCE_SIGNALS: readonly string[] = [...STOP_SIGNALS, 'SIGCONT'];

export const STOP_GRACE = { defaultMs: 10_000, minMs: 1_000, maxMs: 3_600_000 } as const;

/** Feature of an agent that knows them: an older one would send SIGTERM, and kill after ten seconds. */
export const STOP_FEATURE = 'stop';

/** Undefined: no duration, or one out of range. */
export function graceMs(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms >= STOP_GRACE.minMs && ms <= STOP_GRACE.maxMs ? ms : undefined;
}
