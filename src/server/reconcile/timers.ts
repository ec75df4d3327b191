/** Waiting as a port, so that tests move time instead of sleeping. */
export interface Timers {
  /** Runs the task once after the given time; the answer cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** Longer waits would overflow the runtime's timer and fire at once. */
const MAX_WAIT_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, MAX_WAIT_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
