export const DEFAULT_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 15_000;
/** A control plane that wants more patience than this is obeyed by giving up: its refusal says when to come back. */
const LONGEST_RETRY_AFTER_SECONDS = 10;

/** Doubles from attempt to attempt; scattered, so that those who were cut off together do not come back together. */
export function pauseMs(attempt: number, firstMs = FIRST_PAUSE_MS): number {
  return Math.min(LONGEST_PAUSE_MS, firstMs * 2 ** (attempt - 1)) * (0.75 + Math.random() / 2);
}

export function retryAfterSeconds(headers: { get(name: string): string | null }): number | undefined {
  const text = headers.get('retry-after');
  const seconds = text === null || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** How long to wait before this refusal is asked about again; undefined: it stands. */
export function pauseAfter(
  status: number,
  afterSeconds: number | undefined,
  attempt: number,
  isRepeatable: boolean,
): number | undefined {
  // 429 says that nothing was done. After 503 something may have been.
  const again = status === 429 || (status === 503 && afterSeconds !== undefined && isRepeatable);
  if (!again || (afterSeconds ?? 0) > LONGEST_RETRY_AFTER_SECONDS) return undefined;
  return Math.max((afterSeconds ?? 0) * 1000, afterSeconds === 0 ? 0 : pauseMs(attempt));
}

const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** The request cannot have reached the control plane, so that sending it again does nothing twice. */
export function neverSent(error: unknown): boolean {
  return NEVER_SENT.has(codeOf(error));
}

/** Waiting changes nothing: a certificate, a protocol. */
export function isPermanent(error: unknown): boolean {
  return /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO|HPE_)/.test(codeOf(error));
}

/** The system's error code, however deep `fetch` wrapped it; empty where there is none, as in a browser. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
