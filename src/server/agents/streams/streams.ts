import type {
  ServerMessage,
  StreamData,
  StreamEnd,
  StreamOperation,
} from '../../../core/protocol/agent-protocol.ts';
import {
  budgetUsedUp,
  purposeOf,
  STREAM_BUDGETS,
  type StreamPurpose,
} from '../../../core/contract/stream-budgets.ts';

/** The largest that any agent starts with, whatever it is granted. */
const WINDOW_BYTES = 256 * 1024;
/** Credit is given back in this many pieces, not per line. */
const CREDIT_STEPS = 4;
/** Beyond it the agent does not honour the window, and the stream is cut rather than buffered for. */
const MAX_QUEUED_BYTES = 4 * WINDOW_BYTES;
/** What a piece takes beside its bytes, so that very many small ones are not free. */
const PIECE_BYTES = 16;

/** Reason for an exhausted budget, here and at the agent. */
export const TOO_MANY_STREAMS = 'too_many_streams';

export type StreamItem = Omit<StreamData, 'type' | 'streamId'>;

export function sizeOf({ text, base64, value }: StreamItem): number {
  if (text !== undefined) return Buffer.byteLength(text);
  if (base64 !== undefined) return Math.ceil((base64.length * 3) / 4);
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function failed(reason: string, message: string): Omit<StreamEnd, 'type' | 'streamId'> {
  return { error: { reason, message } };
}

/** One answer of an agent, read piece by piece. Reading slowly holds the agent back; leaving off cancels. */
export class AgentStream {
  readonly #id: string;
  readonly #send: (message: ServerMessage) => boolean;
  readonly #forget: () => void;
  readonly #windowBytes: number;
  readonly #queue: StreamItem[] = [];
  #queuedBytes = 0;
  #owedBytes = 0;
  #end: Omit<StreamEnd, 'type' | 'streamId'> | undefined;
  #wake: () => void = () => undefined;

  constructor(
    id: string,
    send: (message: ServerMessage) => boolean,
    forget: () => void,
    windowBytes = WINDOW_BYTES,
  ) {
    this.#id = id;
    this.#windowBytes = windowBytes;
    this.#send = send;
    this.#forget = forget;
  }

  begin(operation: StreamOperation): void {
    const sent = this.#send({ type: 'request', streamId: this.#id, operation });
    if (sent) this.#send({ type: 'credit', streamId: this.#id, bytes: this.#windowBytes });
    else this.finish(failed('agent_unreachable', 'the agent is not connected'));
  }

  take(item: StreamItem): void {
    const bytes = sizeOf(item);
    if (this.#end !== undefined || bytes === 0) return;
    this.#queue.push(item);
    this.#queuedBytes += bytes + PIECE_BYTES;
    if (this.#queuedBytes > MAX_QUEUED_BYTES)
      this.cancel('protocol_violated', 'the agent sent more than it was granted');
    this.#wake();
  }

  finish(end: Omit<StreamEnd, 'type' | 'streamId'>): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#forget();
    this.#wake();
  }

  cancel(reason = 'cancelled', message = 'the reader left'): void {
    if (this.#end !== undefined) return;
    this.#send({ type: 'cancel', streamId: this.#id });
    this.finish(failed(reason, message));
  }

  /** How it ended; undefined while it goes on. */
  get end(): Omit<StreamEnd, 'type' | 'streamId'> | undefined {
    return this.#end;
  }

  #giveCredit(bytes: number): void {
    this.#owedBytes += bytes;
    if (this.#owedBytes < this.#windowBytes / CREDIT_STEPS || this.#end !== undefined) return;
    this.#send({ type: 'credit', streamId: this.#id, bytes: this.#owedBytes });
    this.#owedBytes = 0;
  }

  /** Everything that arrived is read even after the end; then `end` says how it went. */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamItem> {
    try {
      for (;;) {
        const item = this.#queue.shift();
        if (item !== undefined) {
          const bytes = sizeOf(item);
          this.#queuedBytes -= bytes + PIECE_BYTES;
          yield item;
          this.#giveCredit(bytes);
        } else if (this.#end !== undefined) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.cancel();
    }
  }
}

/** The open streams of one session: each purpose has its own budget, so that followed logs stop neither copies nor commands. */
export class AgentStreams {
  /** Absent before the first of them: most sessions never have any. */
  #open: Map<string, AgentStream> | undefined;
  #openFor: Map<StreamPurpose, number> | undefined;
  #count = 0;

  open(
    operation: StreamOperation,
    send: (message: ServerMessage) => boolean,
    purpose = purposeOf(operation),
  ): AgentStream {
    this.#count += 1;
    const id = `s${this.#count}`;
    const { streams, windowBytes } = STREAM_BUDGETS[purpose];
    const forget = (): void => {
      if (this.#open?.delete(id) === true) this.#add(purpose, -1);
    };
    const stream = new AgentStream(id, send, forget, windowBytes);
    if (this.openFor(purpose) >= streams) {
      stream.finish(failed(TOO_MANY_STREAMS, budgetUsedUp(purpose, streams)));
      return stream;
    }
    (this.#open ??= new Map()).set(id, stream);
    this.#add(purpose, 1);
    stream.begin(operation);
    return stream;
  }

  get size(): number {
    return this.#open?.size ?? 0;
  }

  openFor(purpose: StreamPurpose): number {
    return this.#openFor?.get(purpose) ?? 0;
  }

  #add(purpose: StreamPurpose, by: 1 | -1): void {
    (this.#openFor ??= new Map()).set(purpose, this.openFor(purpose) + by);
  }

  /** False: it belongs to no open stream, was cancelled a moment ago, and is dropped. */
  data({ streamId, type: _type, ...item }: StreamData): boolean {
    const stream = this.#open?.get(streamId);
    stream?.take(item);
    return stream !== undefined;
  }

  end({ streamId, type: _type, ...end }: StreamEnd): void {
    this.#open?.get(streamId)?.finish(end);
  }

  closeAll(): void {
    for (const stream of this.#open?.values() ?? [])
      stream.finish(failed('agent_unreachable', 'the session of the agent ended'));
  }
}
