const MAX_READS_UNDER_WAY = 2;

/**
 * Callers that arrive together share one read. A caller never joins a read that has already started: that one may
 * have been answered from before a commit which the caller knows to be acknowledged.
 */
export function sharedRead<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let waiting: PromiseWithResolvers<Value> | undefined;
  let underWay = 0;

  const start = (): void => {
    if (!waiting || underWay >= MAX_READS_UNDER_WAY) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    underWay += 1;
    read()
      .then(resolve, reject)
      .finally(() => {
        underWay -= 1;
        start();
      });
  };

  return () => {
    if (!waiting) {
      waiting = Promise.withResolvers<Value>();
      // Callers of the same turn of the event loop join before it starts.
      setImmediate(start);
    }
    return waiting.promise;
  };
}
