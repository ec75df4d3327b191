import { type BackOff, fullJitterMs } from '../back-off.ts';

/** Pauses end, and the queue of those who come back with it, within the 30 s for which a control plane that started fails no node. */
const BACK_OFF: BackOff = { baseMs: 500, capMs: 20_000 };
/** Nobody was there, so nobody is spared by a longer pause; and a node whose network is back is reached again only with its session. */
const UNREACHED: BackOff = { baseMs: 500, capMs: 2_000 };
/** Agents whose retry falls into the same second are spread over it. */
const TURN_MS = 1_000;

export interface Ended {
  readonly retryMs?: number;
  /** It answers, and has given this agent its turn: nothing has failed, and a longer pause would only miss the turn. */
  readonly queued?: boolean;
  /** No machine answered at all. */
  readonly unreached?: boolean;
}

/** How long to wait before the next connection. `rounds`: how often every address has failed. */
export function redialMs({ retryMs = 0, queued, unreached }: Ended, rounds: number, random: () => number) {
  const spreadMs =
    queued === true
      ? random() * TURN_MS
      : fullJitterMs(rounds, unreached === true ? UNREACHED : BACK_OFF, random);
  return Math.round(retryMs + spreadMs);
}

const NOBODY: ReadonlySet<string | undefined> = new Set([
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
]);

/** One that refuses is there. */
export function isUnreached({ code }: NodeJS.ErrnoException): boolean {
  return NOBODY.has(code);
}
