import { type BackOff, fullJitterMs } from '../back-off.ts';

/** Pauses end, and the queue of those who come back with it, within the 30 s for which a control plane that started fails no node. */
const BACK_OFF: BackOff = { baseMs: 500, capMs: 20_000 };
/** Nobody was there, so nobody is spared by a longer pause; and a node whose network is back is reached again only with its session. */
const UNREACHED: BackOff = { baseMs: 500, capMs: 2_000 };
/** Nobody listens: a control plane that starts again does so within a second or two, and a connection that is refused costs it nothing. */
const REFUSED: BackOff = { baseMs: 250, capMs: 500 };
/** Rounds of those, some five seconds; then it is no restart, and thousands need not hurry. */
const REFUSED_ROUNDS = 20;
/** Agents whose retry falls into the same second are spread over it. */
const TURN_MS = 1_000;

export interface Ended {
  readonly retryMs?: number;
  /** It answers, and has given this agent its turn: nothing has failed, and a longer pause would only miss the turn. */
  readonly queued?: boolean;
  /** No machine answered at all. */
  readonly unreached?: boolean;
  /** The machine is there, and nobody listens on it. */
  readonly refused?: boolean;
}

/** How long to wait before the next connection. `rounds`: how often every address has failed. */
export function redialMs(ended: Ended, rounds: number, random: () => number): number {
  const { retryMs = 0, queued, unreached, refused } = ended;
  const jitter = (): number => {
    if (unreached === true) return fullJitterMs(rounds, UNREACHED, random);
    if (refused !== true) return fullJitterMs(rounds, BACK_OFF, random);
    return rounds <= REFUSED_ROUNDS
      ? fullJitterMs(rounds, REFUSED, random)
      : fullJitterMs(rounds - REFUSED_ROUNDS, BACK_OFF, random);
  };
  return Math.round(retryMs + (queued === true ? random() * TURN_MS : jitter()));
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

export function isRefused({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNREFUSED';
}
