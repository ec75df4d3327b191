/** What the client needs of `fetch`: the one of the platform, or another way to the control plane. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

export interface FetchInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ByteStream | AsyncIterable<Uint8Array> | null;
}

interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** Not every browser can iterate over a body. */
export async function* piecesOf({ body }: FetchAnswer): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  if (!('getReader' in body)) {
    yield* body;
    return;
  }
  const reader = body.getReader();
  let isRead = false;
  try {
    while (!isRead) {
      const { done, value } = await reader.read();
      isRead = done;
      if (value !== undefined) yield value;
    }
  } finally {
    // A caller that stops early does not want the rest. One that has read all leaves the connection as it is, for the next request.
    if (!isRead) await reader.cancel().catch(() => undefined);
  }
}

/** Answers of a control plane are bounded by its pages; more than this is something else that answers. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

export async function bodyTextOf(answer: FetchAnswer): Promise<string> {
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  for await (const piece of piecesOf(answer)) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) throw new Error(`the answer is larger than ${MAX_BODY_BYTES / 2 ** 20} MiB`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
