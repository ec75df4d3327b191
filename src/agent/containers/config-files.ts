import { chmod, mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigFile } from '../../core/model/config-file.ts';
import { UnsafeSpecError } from '../engine/errors.ts';
import { messageOf } from '../../core/model/values.ts';
import type { Log } from '../log.ts';
import { isPlainId } from '../plain-id.ts';
import { writeWhole } from '../whole-file.ts';

export interface WrittenFile {
  readonly source: string;
  readonly target: string;
}

const DEFAULT_MODE = 0o444;

/**
 * Configuration files of containers, below the agent's own folder, which nobody else may enter: a container gets each of them by a
 * mount. Named by number, so that no path of a tenant is ever a path of the machine.
 */
export class ConfigFiles {
  readonly #dataDir: string;
  readonly #log: Log;

  constructor(dataDir: string, log: Log) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  async write(instanceId: string, files: readonly ConfigFile[]): Promise<readonly WrittenFile[]> {
    if (files.length === 0) return [];
    if (!isPlainId(instanceId)) throw new UnsafeSpecError('the id of an instance is not plain');
    const folder = join(await realpath(this.#dataDir), 'files', instanceId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const written: WrittenFile[] = [];
    for (const [index, { path, content, base64 = '', mode }] of files.entries()) {
      const source = join(folder, String(index));
      await writeWhole(source, content ?? Buffer.from(base64, 'base64'));
      await chmod(source, mode === undefined ? DEFAULT_MODE : Number.parseInt(mode, 8) & 0o777);
      written.push({ source, target: path });
    }
    return written;
  }

  /** Its containers are gone. */
  async release(instanceId: string): Promise<void> {
    if (isPlainId(instanceId))
      await rm(join(this.#dataDir, 'files', instanceId), { recursive: true, force: true });
  }

  /** What a killed agent left. */
  async sweep(isWanted: (instanceId: string) => boolean): Promise<void> {
    for (const id of await readdir(join(this.#dataDir, 'files')).catch(() => [])) {
      if (isWanted(id)) continue;
      await this.release(id).catch((error: unknown) => {
        this.#log.warn('files could not be removed', { instance: id, problem: messageOf(error) });
      });
    }
  }
}
