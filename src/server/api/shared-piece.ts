/** A piece of a streamed answer that goes to many readers. */
export interface SharedPiece {
  readonly bytes: Uint8Array;
  /** The same as a chunk of HTTP/1.1: its length before it, made once and not for each reader. */
  readonly chunk: Uint8Array;
}

const CHUNK_END = '\r\n';

/** Of a text that is not empty: an empty chunk would end the answer. */
export function sharedPiece(text: string): SharedPiece {
  const length = Buffer.byteLength(text);
  const head = `${length.toString(16)}\r\n`;
  const chunk = Buffer.from(head + text + CHUNK_END);
  return { bytes: chunk.subarray(head.length, head.length + length), chunk };
}

export function joinedPieces(pieces: readonly SharedPiece[]): SharedPiece {
  const [only, ...others] = pieces;
  if (only !== undefined && others.length === 0) return only;
  return {
    bytes: Buffer.concat(pieces.map(({ bytes }) => bytes)),
    chunk: Buffer.concat(pieces.map(({ chunk }) => chunk)),
  };
}
