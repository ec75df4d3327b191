export interface GateBounds {
  readonly perKey: number;
  readonly total: number;
  /** Callers that may wait in all; one more is turned away at once. */
  readonly waiting: number;
}

export interface DialGate {
  /** The function that leaves again; undefined if too many wait already or the signal ended the wait. */
  enter(key: string, signal: AbortSignal): Promise<(() => void) | undefined>;
}

interface Waiter {
  readonly key: string;
  readonly admit: () => void;
}

/** Bounds what runs at once, per key and in all. First come first served, but a full key holds up no other. */
export function createGate(bounds: GateBounds): DialGate {
  const running = new Map<string, number>();
  const waiters: Waiter[] = [];
  let total = 0;

  const free = (key: string): boolean => total < bounds.total && (running.get(key) ?? 0) < bounds.perKey;

  function occupy(key: string): () => void {
    total += 1;
    running.set(key, (running.get(key) ?? 0) + 1);
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      total -= 1;
      const left = (running.get(key) ?? 1) - 1;
      if (left === 0) running.delete(key);
      else running.set(key, left);
      admitNext();
    };
  }

  function admitNext(): void {
    const index = waiters.findIndex((waiter) => free(waiter.key));
    if (index !== -1) waiters.splice(index, 1)[0]?.admit();
  }

  return {
    async enter(key, signal) {
      if (signal.aborted) return undefined;
      if (free(key)) return occupy(key);
      if (waiters.length >= bounds.waiting) return undefined;
      return new Promise((resolve) => {
        const giveUp = (): void => {
          const index = waiters.indexOf(waiter);
          if (index !== -1) waiters.splice(index, 1);
          resolve(undefined);
        };
        const waiter: Waiter = {
          key,
          admit: () => {
            signal.removeEventListener('abort', giveUp);
            resolve(occupy(key));
          },
        };
        waiters.push(waiter);
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
