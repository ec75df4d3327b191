/** A small writer of tar archives (ustar), enough for the root file system of a test image. */
export type TarEntry =
  | {
      readonly path: string;
      readonly kind: 'file';
      readonly content: Buffer | string;
      readonly mode?: number;
    }
  | { readonly path: string; readonly kind: 'directory'; readonly mode?: number }
  | { readonly path: string; readonly kind: 'symlink'; readonly target: string };

const BLOCK = 512;
const TYPE = { file: '0', symlink: '2', directory: '5' } as const;

export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = entry.kind === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(entry: TarEntry, size: number): Buffer {
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`path too long for this archive: ${entry.path}`);
  const block = Buffer.alloc(BLOCK);
  const mode =
    entry.kind === 'symlink' ? 0o777 : (entry.mode ?? (entry.kind === 'directory' ? 0o755 : 0o644));
  block.write(entry.path, 0);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write('        ', 148);
  block.write(TYPE[entry.kind], 156);
  if (entry.kind === 'symlink') block.write(entry.target, 157);
  block.write('ustar', 257);
  block.write('00', 263);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
