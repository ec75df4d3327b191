import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import { errorCode } from '../log.ts';
import { type LeaseEntry, leaseFile, readLeases } from './lease-file.ts';

/**
 * The leases as far as the watchdog knows: read again when the file was replaced. While it cannot be read those that were read last hold on, to
 * their end and no longer: that is the last that anybody is known to have had.
 */
export class KnownLeases {
  readonly #dataDir: string;
  readonly #read: typeof readLeases;
  readonly #onProblem: (message: string) => void;
  #entries: readonly LeaseEntry[] = [];
  #readAt: string | undefined;
  #problem: string | undefined;

  constructor(dataDir: string, onProblem: (message: string) => void, read = readLeases) {
    this.#dataDir = dataDir;
    this.#onProblem = onProblem;
    this.#read = read;
  }

  /** There may be others. */
  get isUnsure(): boolean {
    return this.#problem !== undefined;
  }

  /** Known for certain: on a disk that answers nothing there may be writers still. */
  async isFolderGone(): Promise<boolean> {
    return (await seenAt(dirname(leaseFile(this.#dataDir)))) === '';
  }

  async look(): Promise<readonly LeaseEntry[]> {
    const seen = await seenAt(leaseFile(this.#dataDir));
    if (seen !== undefined && seen === this.#readAt) return this.#entries;
    try {
      this.#entries = await this.#read(this.#dataDir);
      this.#readAt = seen;
      this.#problem = undefined;
    } catch (error) {
      this.#readAt = undefined;
      const problem = messageOf(error);
      if (this.#problem !== problem) this.#onProblem(problem);
      this.#problem = problem;
    }
    return this.#entries;
  }
}

/** Empty: there is none. Undefined: not known. */
async function seenAt(path: string): Promise<string | undefined> {
  try {
    const { mtimeNs, ino } = await stat(path, { bigint: true });
    return `${ino}:${mtimeNs}`;
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? '' : undefined;
  }
}
