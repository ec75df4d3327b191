import { Failure } from '../failure.ts';
import { BLOCK } from '../up/tar.ts';

/** Names and sizes that have no room in a header. */
const MAX_EXTENDED_BYTES = 64 * 1024;

export type EntryKind = 'file' | 'folder' | 'link' | 'hard-link' | 'other';

export interface ReadEntry {
  readonly path: string;
  readonly kind: EntryKind;
  readonly mode: number;
  readonly size: number;
  readonly linkTo: string;
  /** To be read before the next entry; what is not read is passed over. */
  readonly content: AsyncIterable<Buffer>;
}

const KINDS: Readonly<Record<string, EntryKind>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hard-link',
  '2': 'link',
  '5': 'folder',
};

/** The entries of a tar archive as they come; memory is that of one piece. */
export async function* entriesIn(archive: AsyncIterable<Buffer>): AsyncGenerator<ReadEntry> {
  const source = new Pieces(archive);
  let extended: Readonly<Record<string, string>> = {};
  for (;;) {
    const block = await source.exactly(BLOCK);
    if (block === undefined || block.every((byte) => byte === 0)) return;
    const type = String.fromCharCode(block[156] ?? 0);
    const size = Number(extended['size'] ?? numberIn(block, 124, 12));
    if (!Number.isSafeInteger(size) || size < 0) throw damaged();
    if (type === 'x' || type === 'g' || type === 'L' || type === 'K') {
      const told = await extension(source, type, size);
      if (type !== 'g') extended = { ...extended, ...told };
      continue;
    }
    const prefix = textIn(block, 345, 155);
    const name = textIn(block, 0, 100);
    const content = source.content(size);
    yield {
      path: extended['path'] ?? (prefix === '' ? name : `${prefix}/${name}`),
      kind: KINDS[type] ?? 'other',
      mode: numberIn(block, 100, 8) & 0o777,
      size,
      linkTo: extended['linkpath'] ?? textIn(block, 157, 100),
      content,
    };
    for await (const _rest of content);
    await source.skip((BLOCK - (size % BLOCK)) % BLOCK);
    extended = {};
  }
}

async function extension(source: Pieces, type: string, size: number): Promise<Record<string, string>> {
  if (size > MAX_EXTENDED_BYTES) throw damaged();
  const bytes = (await source.exactly(size)) ?? Buffer.alloc(0);
  await source.skip((BLOCK - (size % BLOCK)) % BLOCK);
  const text = bytes.toString('utf8');
  if (type === 'L') return { path: withoutEnd(text) };
  if (type === 'K') return { linkpath: withoutEnd(text) };
  const records: Record<string, string> = {};
  for (let rest = bytes; rest.length > 0; ) {
    const length = Number.parseInt(rest.toString('latin1', 0, 20), 10);
    if (!(length > 0 && length <= rest.length)) throw damaged();
    const record = rest.toString('utf8', 0, length - 1);
    const [, key = '', value = ''] = /^\d+ ([^=]*)=([\s\S]*)$/.exec(record) ?? [];
    if (['path', 'linkpath', 'size'].includes(key)) records[key] = value;
    rest = rest.subarray(length);
  }
  return records;
}

function withoutEnd(text: string): string {
  return text.split('\0', 1)[0] ?? '';
}

function textIn(block: Buffer, at: number, room: number): string {
  return withoutEnd(block.toString('utf8', at, at + room));
}

/** Octal digits, or binary where the first bit is set. */
function numberIn(block: Buffer, at: number, room: number): number {
  if (((block[at] ?? 0) & 0x80) !== 0) return block.readUIntBE(at + room - 6, 6);
  const digits = withoutEnd(block.toString('latin1', at, at + room)).trim();
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function damaged(): Failure {
  return new Failure('what came is no tar archive');
}

/** Bytes by count out of pieces of any size. */
class Pieces {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** At most that many; undefined: there is nothing more. */
  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next();
      if (done === true) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  async exactly(count: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const piece = await this.#next(left);
      if (piece === undefined) return undefined;
      pieces.push(piece);
      left -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  async skip(count: number): Promise<void> {
    await this.exactly(count);
  }

  async *content(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      const piece = await this.#next(left);
      if (piece === undefined) throw damaged();
      left -= piece.length;
      yield piece;
    }
  }
}
