/** Where a stream of server-sent events goes; `write` answers false when the reader is slow, and then `drained` is awaited. */
export interface EventSink {
  write(piece: string): boolean;
  drained(): Promise<void>;
  readonly signal: AbortSignal;
}

const KEEP_ALIVE_MS = 15_000;

export async function send(sink: EventSink, event: string, data: object): Promise<void> {
  if (sink.signal.aborted) return;
  if (!sink.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) await sink.drained();
}

/** While nothing comes, the reader is told that somebody is there. */
export async function keptAlive(sink: EventSink, sending: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => sink.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  try {
    await sending();
  } finally {
    clearInterval(timer);
  }
}
