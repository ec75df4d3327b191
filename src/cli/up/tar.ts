export interface TarEntry {
  readonly path: string;
  readonly mode?: number;
  readonly content?: Buffer;
  readonly linkTo?: string;
}

export const BLOCK = 512;

/** A ustar archive owned by root, with all times at zero: the same entries give the same bytes, and so the same digest. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = entry.content ?? Buffer.alloc(0);
    return [header(entry, content.length), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

type Kind = 'file' | 'link' | 'folder';
const TYPE_FLAGS: Readonly<Record<Kind, string>> = { file: '0', link: '2', folder: '5' };

function kindOf(entry: TarEntry): Kind {
  if (entry.linkTo !== undefined) return 'link';
  return entry.path.endsWith('/') ? 'folder' : 'file';
}

/** Of one entry; what follows is its content, filled up to whole blocks. */
export function header(entry: TarEntry, size: number): Buffer {
  const kind = kindOf(entry);
  const block = Buffer.alloc(BLOCK);
  writeText(block, 0, 100, entry.path);
  writeOctal(block, 100, 8, entry.mode ?? (kind === 'file' ? 0o644 : 0o755));
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeOctal(block, 124, 12, size);
  writeOctal(block, 136, 12, 0);
  writeText(block, 156, 1, TYPE_FLAGS[kind]);
  writeText(block, 157, 100, entry.linkTo ?? '');
  writeText(block, 257, 8, 'ustar\u000000');
  // The sum is taken with spaces in its own place.
  block.fill(' ', 148, 156);
  writeOctal(
    block,
    148,
    7,
    block.reduce((sum, byte) => sum + byte, 0),
  );
  return block;
}

function writeText(block: Buffer, at: number, room: number, text: string): void {
  if (Buffer.byteLength(text) > room) throw new Error(`too long for a tar header: ${text}`);
  block.write(text, at, room, 'utf8');
}

function writeOctal(block: Buffer, at: number, room: number, value: number): void {
  block.write(`${value.toString(8).padStart(room - 1, '0')}\0`, at, room, 'latin1');
}
