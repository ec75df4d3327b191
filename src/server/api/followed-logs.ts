import { STOPPING } from '../../core/contract/log-end.ts';
import type { Reply, Route, StreamReply, StreamSink } from './route.ts';

const EVENTS = 'text/event-stream';

/** Logs that are followed here. Like streams of events they have no end of their own, and whoever reads one goes on elsewhere or later. */
export class FollowedLogs {
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** Each of them ends with the reason, before anything that it is read from does. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#open) stop.abort();
  }

  /** Of all routes those that can be followed end with this. */
  of(routes: readonly Route[]): readonly Route[] {
    return routes.map((route) =>
      route.query !== undefined && 'follow' in route.query ? this.#ending(route) : route,
    );
  }

  #ending(route: Route): Route {
    return {
      ...route,
      handle: async (request) => {
        const reply: Reply = await route.handle(request);
        return 'stream' in reply && reply.contentType.startsWith(EVENTS) ? this.#untilStop(reply) : reply;
      },
    };
  }

  #untilStop(reply: StreamReply): StreamReply {
    return { ...reply, stream: (sink) => this.#run(reply, sink) };
  }

  async #run({ stream }: StreamReply, sink: StreamSink): Promise<void> {
    const stop = new AbortController();
    const { signal } = stop;
    const leave = (): void => stop.abort();
    sink.signal.addEventListener('abort', leave, { once: true });
    if (this.#isClosed || sink.signal.aborted) leave();
    this.#open.add(stop);
    try {
      await stream({
        // What it is read from ends meanwhile, which says nothing about what is read.
        write: (piece) => !signal.aborted && sink.write(piece),
        writeShared: (piece) => !signal.aborted && sink.writeShared(piece),
        drained: () => sink.drained(),
        hold: (bytes) => sink.hold(bytes),
        signal,
      });
    } finally {
      this.#open.delete(stop);
      sink.signal.removeEventListener('abort', leave);
      if (this.#isClosed) sink.write(`event: end\ndata: ${JSON.stringify(STOPPING)}\n\n`);
    }
  }
}
