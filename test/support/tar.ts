export interface TarEntry {
  readonly path: string;
  readonly mode?: number;
  readonly data?: Buffer;
  readonly link?: string;
  readonly type?: 'file' | 'dir' | 'symlink';
}

const BLOCK = 512;
const TYPE_FLAG = { file: '0', symlink: '2', dir: '5' } as const;

/**
 * A ustar archive owned by root, with times at zero so that the same entries give the same bytes. Of several entries of one
 * path the last counts: Docker refuses an archive that holds both.
 */
export function tar(entries: readonly TarEntry[]): Buffer {
  const unique = new Map(entries.map((entry) => [entry.path, entry]));
  const blocks = [...unique.values()].flatMap((entry) => {
    const data = entry.data ?? Buffer.alloc(0);
    return [header(entry, data.length), data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(entry: TarEntry, size: number): Buffer {
  const type = entry.type ?? (entry.link === undefined ? 'file' : 'symlink');
  const block = Buffer.alloc(BLOCK);
  text(block, 0, 100, type === 'dir' && !entry.path.endsWith('/') ? `${entry.path}/` : entry.path);
  octal(block, 100, 8, entry.mode ?? (type === 'file' ? 0o644 : 0o755));
  octal(block, 108, 8, 0);
  octal(block, 116, 8, 0);
  octal(block, 124, 12, size);
  octal(block, 136, 12, 0);
  block.fill(' ', 148, 156);
  text(block, 156, 1, TYPE_FLAG[type]);
  text(block, 157, 100, entry.link ?? '');
  text(block, 257, 8, 'ustar\u000000');
  octal(
    block,
    148,
    7,
    block.reduce((sum, byte) => sum + byte, 0),
  );
  return block;
}

function text(block: Buffer, offset: number, length: number, value: string): void {
  if (Buffer.byteLength(value) > length) throw new Error(`too long for a ustar header: ${value}`);
  block.write(value, offset, length, 'utf8');
}

function octal(block: Buffer, offset: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, length, 'latin1');
}
