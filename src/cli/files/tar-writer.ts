import { createReadStream } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOCK, header, type TarEntry } from '../up/tar.ts';

const MODE_BITS = 0o7777;
const LONGEST_NAME = 100;
const LARGEST = 8 ** 11;

export interface Packed {
  readonly bytes: Buffer;
  /** How many files this one begins. */
  readonly files: number;
}

/** A file or folder of this machine as a tar archive, under another name. Links stay links; devices and sockets are left out. */
export async function* packed(
  source: string,
  name: string,
  onSkipped: (path: string) => void,
): AsyncGenerator<Packed> {
  yield* entriesOf(source, name, onSkipped);
  yield { bytes: Buffer.alloc(2 * BLOCK), files: 0 };
}

async function* entriesOf(
  source: string,
  path: string,
  onSkipped: (path: string) => void,
): AsyncGenerator<Packed> {
  const found = await lstat(source);
  const mode = found.mode & MODE_BITS;
  if (found.isSymbolicLink()) {
    yield { bytes: headed({ path, mode, linkTo: await readlink(source) }, 0), files: 1 };
  } else if (found.isDirectory()) {
    yield { bytes: headed({ path: `${path}/`, mode }, 0), files: 0 };
    for await (const { name } of await opendir(source))
      yield* entriesOf(join(source, name), `${path}/${name}`, onSkipped);
  } else if (found.isFile()) {
    yield { bytes: headed({ path, mode }, found.size), files: 1 };
    yield* contentOf(source, found.size);
  } else {
    onSkipped(source);
  }
}

/** As many bytes as were announced, whatever the file has become meanwhile. */
async function* contentOf(source: string, size: number): AsyncGenerator<Packed> {
  let left = size;
  if (size > 0) {
    const content: AsyncIterable<Buffer> = createReadStream(source, { end: size - 1 });
    for await (const bytes of content) {
      left -= bytes.length;
      yield { bytes, files: 0 };
    }
  }
  if (left > 0) throw new Error(`${source} became shorter while it was read`);
  const fill = (BLOCK - (size % BLOCK)) % BLOCK;
  if (fill > 0) yield { bytes: Buffer.alloc(fill), files: 0 };
}

/** What has no room in a header stands before it in a record of its own. */
function headed(entry: TarEntry, size: number): Buffer {
  const records = [
    ...(Buffer.byteLength(entry.path) > LONGEST_NAME ? [['path', entry.path]] : []),
    ...(Buffer.byteLength(entry.linkTo ?? '') > LONGEST_NAME ? [['linkpath', entry.linkTo ?? '']] : []),
    ...(size >= LARGEST ? [['size', String(size)]] : []),
  ];
  if (records.length === 0) return header(entry, size);
  const text = Buffer.from(records.map(([key = '', value = '']) => paxRecord(key, value)).join(''));
  const extended = header({ path: 'extended' }, text.length);
  extended.write('x', 156, 'latin1');
  resum(extended);
  const short = entry.path.endsWith('/') ? 'long/' : 'long';
  const plain = { ...entry, path: short, ...(entry.linkTo === undefined ? {} : { linkTo: 'long' }) };
  return Buffer.concat([
    extended,
    text,
    Buffer.alloc((BLOCK - (text.length % BLOCK)) % BLOCK),
    header(plain, Math.min(size, LARGEST - 1)),
  ]);
}

function resum(block: Buffer): void {
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0`, 148, 'latin1');
}

/** Its length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (bytes + String(length).length > length) length = bytes + String(length).length;
  return `${length}${rest}`;
}
