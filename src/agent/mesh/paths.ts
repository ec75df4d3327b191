/** How packets to a peer go. `none`: no path is known to work, and there is no relay. */
export type Path =
  | { readonly kind: 'direct'; readonly address: string }
  | { readonly kind: 'relay' }
  | { readonly kind: 'none' };

/** Without an answer for this long a path does not work. */
export const DEAD_MS = 5_000;
/** An agent asks every second: one that has not for so long is away. Less than `DEAD_MS`, so that its silence is known before it is judged. */
const AWAY_MS = 3_000;
/** A direct address that answered pings and then carried nothing is not tried again for so long, and longer each time. */
const REPENT_MS = { first: 5_000, most: 40_000 } as const;

export function distrustMs(times: number): number {
  return Math.min(REPENT_MS.most, REPENT_MS.first * 2 ** times);
}

/** What is known of the ways to one peer; times are monotonic. */
export interface PeerSigns {
  /** Addresses that the peer may be reached by, most likely first. */
  readonly candidates: readonly string[];
  /** When each last answered a ping outside of the tunnel. */
  readonly answeredMs: ReadonlyMap<string, number>;
  /** When the tunnel to the peer last carried an answer, whichever way it went. */
  readonly carriedMs: number | undefined;
  /** Since when packets go as they do. */
  readonly sinceMs: number;
  readonly path: Path;
  /** By address: until when it is not trusted. */
  readonly distrustedMs: ReadonlyMap<string, number>;
  readonly relayed: boolean;
  /** Where the interface last heard the peer from, if not from the relay: a peer behind NAT finds us, and not we it. */
  readonly heardFrom: string | undefined;
  /** Since when it hears the peer from the relay alone, although packets to it are to go directly. */
  readonly answeredByRelayMs: number | undefined;
  /** When the interface last took anything from the peer that did not come from the relay. */
  readonly heardMs: number | undefined;
  /** When the peer's agent last asked through the tunnel, and since when it does without a pause. */
  readonly askedMs: number | undefined;
  readonly askingMs: number | undefined;
}

/** Whether a question that comes now is the first one after a pause. */
export function asksAgain(askedMs: number | undefined, nowMs: number): boolean {
  return nowMs - (askedMs ?? -Infinity) >= AWAY_MS;
}

/**
 * The tunnel works, and nobody at its other end answers for the agent: it is stopped, upgraded or has died. WireGuard needs no agent,
 * and the relay does. One that is back has a moment to answer, too.
 */
export function isAgentAway(
  { heardMs, askedMs, askingMs }: Pick<PeerSigns, 'heardMs' | 'askedMs' | 'askingMs'>,
  nowMs: number,
): boolean {
  const isHeard = heardMs !== undefined && nowMs - heardMs < DEAD_MS;
  return isHeard && (asksAgain(askedMs, nowMs) || nowMs - (askingMs ?? -Infinity) < AWAY_MS);
}

/**
 * The way that packets to the peer should take from now on. A direct address is taken when it answers; it is left when neither it
 * nor the tunnel has answered for five seconds, or when it answers and the tunnel is silent: then something lets pings through
 * and drops the rest. A tunnel that carries because the peer uses the relay is no proof of a direct address: WireGuard answers the
 * peer by the way it came, and every packet that goes directly is lost. A peer whose agent is away stays where it is.
 */
export function nextPath(
  signs: PeerSigns,
  nowMs: number,
): { readonly path: Path; readonly distrust?: string } {
  const { path, candidates, answeredMs, carriedMs, sinceMs, distrustedMs, relayed, heardFrom } = signs;
  const { answeredByRelayMs = nowMs } = signs;
  const answers = (address: string): boolean => nowMs - (answeredMs.get(address) ?? -Infinity) < DEAD_MS;
  const carries = carriedMs !== undefined && nowMs - carriedMs < DEAD_MS;
  const isNew = nowMs - sinceMs < DEAD_MS;
  const other: Path = relayed ? { kind: 'relay' } : { kind: 'none' };
  const isKnown = path.kind === 'direct' && (path.address === heardFrom || candidates.includes(path.address));
  const isLeft = nowMs - answeredByRelayMs >= DEAD_MS;
  if (isKnown && (isNew || ((carries || isAgentAway(signs, nowMs)) && !isLeft))) return { path };
  if (carries && heardFrom !== undefined) return { path: { kind: 'direct', address: heardFrom } };
  const distrust = path.kind === 'direct' && answers(path.address) ? path.address : undefined;
  const best = candidates.find(
    (address) =>
      answers(address) && address !== distrust && nowMs >= (distrustedMs.get(address) ?? -Infinity),
  );
  const next: Path = best === undefined ? other : { kind: 'direct', address: best };
  return { path: next, ...(distrust !== undefined && { distrust }) };
}
