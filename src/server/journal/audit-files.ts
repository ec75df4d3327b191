import { chmodSync, renameSync, statSync } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AuditRecord } from '../../core/model/event.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { makeFolder } from '../../shared/folders.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const REFUSALS = 'refusals.jsonl';
/** Two files of it: the current one and the one before. */
const MAX_REFUSALS_BYTES = 32 * 2 ** 20;
/** A flood is counted, not written: its sender would fill the disk. */
const MAX_WAITING = 1000;

/** A request that was refused for who sent it. Not a record of the store: a refused request leaves nothing there. */
export interface AuditedRefusal {
  readonly at: string;
  readonly code: string;
  readonly method: string;
  /** Of the route, not of the request. */
  readonly path: string;
  readonly source?: string;
  readonly forwardedFor?: string;
  readonly tokenId?: string;
  readonly requestId: string;
}

/** What leaves the audit of the store, and what never was in it: lines of JSON in a folder of their own. */
export class AuditFiles {
  readonly #folder: string;
  readonly #log: Logger;
  #waiting: string[] = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /** On disk when it resolves, so that they may be removed then. After a crash in between, lines are there twice, with one id. */
  async export(tenantId: TenantId, records: readonly AuditRecord[]): Promise<void> {
    const folder = join(this.#folder, tenantId);
    makeFolder(folder, 'audit.dir', FOLDER_MODE);
    const byMonth = Map.groupBy(records, ({ at }) => at.slice(0, 7));
    for (const [month, lines] of byMonth) {
      const file = await open(join(folder, `${month}.jsonl`), 'a', FILE_MODE);
      try {
        await file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
        await file.sync();
      } finally {
        await file.close();
      }
    }
  }

  refused(refusal: AuditedRefusal): void {
    if (this.#waiting.length >= MAX_WAITING) this.#dropped += 1;
    else this.#waiting.push(`${JSON.stringify(refusal)}\n`);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      if (this.#dropped > 0)
        lines.push(`${JSON.stringify({ at: new Date().toISOString(), dropped: this.#dropped })}\n`);
      this.#dropped = 0;
      try {
        await appendFile(this.#refusalsFile(), lines.join(''), { mode: FILE_MODE });
      } catch (error) {
        this.#log.warn({ err: error, folder: this.#folder }, 'refusals could not be written down');
      }
    }
  }

  #refusalsFile(): string {
    const path = join(this.#folder, REFUSALS);
    makeFolder(this.#folder, 'audit.dir', FOLDER_MODE);
    chmodSync(this.#folder, FOLDER_MODE);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_REFUSALS_BYTES) renameSync(path, `${path}.1`);
    return path;
  }

  /** What was refused so far is on disk. */
  async close(): Promise<void> {
    await this.#writing;
  }
}
