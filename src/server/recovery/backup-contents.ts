import { createGunzip, createGzip } from 'node:zlib';
import { isRecord, textsIn } from '../../core/model/values.ts';
import type { KvEntry } from '../store/kv.ts';
import { type Contents, ContentsDigest } from './digest.ts';
import { RecoveryError } from './failure.ts';
import type { KeptKey } from './server-keys.ts';

/**
 * What is sealed, as lines of JSON: the keys, if they are in it; then `[key, value, created, changed]` of every record in key order; last
 * how many there were, with their digest. Compressed, since records are alike.
 */
const LINE_BYTES = 64 * 1024;
/** Far above what the store takes. */
const MOST_LINE_BYTES = 64 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;

async function* lines(
  keys: readonly KeptKey[],
  pages: AsyncIterable<readonly KvEntry[]>,
  digest: ContentsDigest,
): AsyncGenerator<Buffer> {
  let text = `${JSON.stringify({ keys })}\n`;
  for await (const page of pages) {
    digest.add(page);
    for (const { key, value, createRevision, modRevision } of page) {
      text += `${JSON.stringify([key, value, createRevision, modRevision])}\n`;
      if (text.length < LINE_BYTES) continue;
      yield Buffer.from(text);
      text = '';
    }
  }
  const { records, sha256 } = digest.result();
  yield Buffer.from(`${text}${JSON.stringify({ end: { records, sha256 } })}\n`);
}

/** Through a stream of zlib, without ever holding more than a few of its chunks. */
async function* through(
  source: AsyncIterable<Buffer>,
  make: typeof createGzip | typeof createGunzip,
): AsyncGenerator<Buffer> {
  const stream = make({ level: 1 });
  const fed = (async () => {
    for await (const chunk of source) {
      if (!stream.write(chunk))
        await new Promise<void>((resolve) => {
          const go = (): void => {
            stream.off('drain', go).off('close', go);
            resolve();
          };
          stream.on('drain', go).on('close', go);
        });
      if (stream.destroyed) return;
    }
    stream.end();
  })();
  // A fault of the source is that of the whole; the stream is only told to end.
  fed.catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    for await (const chunk of stream) yield chunk;
    await fed;
  } finally {
    stream.destroy();
  }
}

export function packed(
  keys: readonly KeptKey[],
  pages: AsyncIterable<readonly KvEntry[]>,
  digest: ContentsDigest,
): AsyncGenerator<Buffer> {
  return through(lines(keys, pages, digest), createGzip);
}

async function* splitLines(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...waiting, chunk.subarray(from, end)]).toString('utf8');
      waiting = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    waiting.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MOST_LINE_BYTES) throw notWritten();
  }
  if (length > 0) throw notWritten();
}

/** It was sealed by this passphrase and is no such content all the same. */
function notWritten(): RecoveryError {
  return new RecoveryError('damaged', 'the backup is damaged: what it holds is not what a backup holds');
}

function keysIn(line: unknown): readonly KeptKey[] {
  const found = isRecord(line) ? line['keys'] : undefined;
  if (!Array.isArray(found)) throw notWritten();
  return found.map((one: unknown): KeptKey => {
    const [setting = '', content = ''] = isRecord(one) ? textsIn([one['setting'], one['content']]) : [];
    if (setting === '') throw notWritten();
    return { setting, content };
  });
}

function entryIn(line: unknown): KvEntry | undefined {
  if (!Array.isArray(line)) return undefined;
  const [key, value, createRevision, modRevision]: readonly unknown[] = line;
  if (
    typeof key !== 'string' ||
    typeof value !== 'string' ||
    typeof createRevision !== 'number' ||
    typeof modRevision !== 'number'
  )
    throw notWritten();
  return { key, value, createRevision, modRevision };
}

export interface Unpacked {
  readonly keys: readonly KeptKey[];
  /** To be read to its end: only then is it known that everything was there. */
  readonly pages: AsyncGenerator<readonly KvEntry[]>;
  /** Of what was read. */
  contents(): Contents;
}

export async function unpacked(source: AsyncIterable<Buffer>): Promise<Unpacked> {
  const read = splitLines(through(source, createGunzip));
  const first = await read.next();
  if (first.done === true) throw notWritten();
  const digest = new ContentsDigest();
  return {
    keys: keysIn(JSON.parse(first.value)),
    pages: pagesIn(read, digest),
    contents: () => digest.result(),
  };
}

async function* pagesIn(
  read: AsyncIterable<string>,
  digest: ContentsDigest,
): AsyncGenerator<readonly KvEntry[]> {
  let page: KvEntry[] = [];
  let bytes = 0;
  let end: unknown;
  for await (const text of read) {
    if (end !== undefined) throw notWritten();
    const line: unknown = JSON.parse(text);
    const entry = entryIn(line);
    if (entry === undefined) {
      end = isRecord(line) ? line['end'] : undefined;
      continue;
    }
    page.push(entry);
    bytes += entry.value.length;
    if (bytes < PAGE_BYTES) continue;
    digest.add(page);
    yield page;
    page = [];
    bytes = 0;
  }
  digest.add(page);
  if (page.length > 0) yield page;
  const { records, sha256 } = digest.result();
  if (!isRecord(end) || end['records'] !== records || end['sha256'] !== sha256) throw notWritten();
}
