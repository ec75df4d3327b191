import { open } from 'node:fs/promises';
import { fieldsIn, nonEmpty } from '../engine/fields.ts';

const MAX_READ = 256 * 1024;
const MAX_PROBLEM = 500;
/** Of what obtains and renews certificates, and of what the authority said to it. */
const LOGGERS = ['http.acme_client', 'tls.obtain', 'tls.renew'];
/** Follows the authority's own words, and says less. */
const EMPTY_WORDS = 'no solvers available for remaining challenges';

export interface CertificateTrouble {
  readonly host: string;
  readonly problem: string;
}

/** Of a line of Caddy's log: that the authority refused, in its words. */
export function troubleIn(line: string): CertificateTrouble | undefined {
  const entry = fieldsIn(line);
  const logger = nonEmpty(entry['logger']);
  const host = nonEmpty(entry['identifier']);
  const error = nonEmpty(entry['error']);
  if (entry['level'] !== 'error' || host === undefined || error === undefined) return undefined;
  if (!LOGGERS.includes(logger ?? '') || error.includes(EMPTY_WORDS)) return undefined;
  return { host, problem: error.slice(0, MAX_PROBLEM) };
}

/** Reads what was added to a file since the last time; its last part at first. */
export class LogTail {
  readonly #path: string;
  #inode = 0;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async lines(): Promise<readonly string[]> {
    const file = await open(this.#path, 'r').catch(() => undefined);
    if (file === undefined) return [];
    try {
      const { ino, size } = await file.stat();
      // Another file of the same name: the earlier one is full and was put aside.
      if (ino !== this.#inode || size < this.#offset) this.#offset = 0;
      this.#inode = ino;
      const from = Math.max(this.#offset, size - MAX_READ);
      const buffer = Buffer.alloc(Math.max(0, size - from));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
      const text = buffer.toString('utf8', 0, bytesRead);
      const end = text.lastIndexOf('\n') + 1;
      this.#offset = from + Buffer.byteLength(text.slice(0, end));
      return text.slice(0, end).split('\n').filter(Boolean);
    } finally {
      await file.close();
    }
  }
}
