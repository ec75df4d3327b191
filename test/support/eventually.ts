const WAIT_MS = 30_000;
const POLL_MS = 20;

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
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (fits(value)) return value;
    if (performance.now() > deadline)
      throw new Error(
        `not within ${withinMs} ms: ${what}; last seen:\n${JSON.stringify(value, undefined, 1)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
