const WAIT_MS = 30_000;
/** What takes long is looked at less often: a look may cost an engine more than the thing that is waited for. */
const FIRST_POLL_MS = 20;
const LAST_POLL_MS = 200;
const SHARE_OF_WAIT = 20;

type Read<T> = () => Promise<T> | T;
type Fits<T> = (value: T) => boolean;

/** Waits until `fits` holds of what `read` answers, and answers it; without a name the condition itself is printed when it never does. */
export function eventually<T>(what: string, read: Read<T>, fits: Fits<T>, withinMs?: number): Promise<T>;
export function eventually<T>(read: Read<T>, fits: Fits<T>, withinMs?: number): Promise<T>;
export function eventually<T>(
  ...args:
    | readonly [string, Read<T>, Fits<T>, (number | undefined)?]
    | readonly [Read<T>, Fits<T>, (number | undefined)?]
): Promise<T> {
  if (typeof args[0] !== 'string') {
    const [read, fits, withinMs] = args as readonly [Read<T>, Fits<T>, number?];
    return poll(String(fits), read, fits, withinMs);
  }
  const [what, read, fits, withinMs] = args as readonly [string, Read<T>, Fits<T>, number?];
  return poll(what, read, fits, withinMs);
}

async function poll<T>(what: string, read: Read<T>, fits: Fits<T>, withinMs = WAIT_MS): Promise<T> {
  const began = performance.now();
  for (;;) {
    const value = await read();
    if (fits(value)) return value;
    const waitedMs = performance.now() - began;
    if (waitedMs > withinMs)
      throw new Error(
        `not within ${withinMs} ms: ${what}; last seen:\n${JSON.stringify(value, undefined, 1)}`,
      );
    const pauseMs = Math.min(LAST_POLL_MS, Math.max(FIRST_POLL_MS, waitedMs / SHARE_OF_WAIT));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
