import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { optional } from '../../core/model/values.ts';
import { fields, list, nonEmpty, number } from '../engine/fields.ts';
import type { Ownership } from './own-labels.ts';
import { isPlainId } from '../plain-id.ts';
import { writeWhole } from '../whole-file.ts';

export interface RecordedBind {
  readonly volumeId: string;
  /** As it was ordered. */
  readonly source: string;
  /** Without links, as it was checked. */
  readonly path: string;
}

/**
 * What an agent must know, without a session and after a restart of the machine, to start a container again that the engine
 * may not start: its folders have to be checked first.
 */
export interface BindRecord {
  readonly instanceId: string;
  readonly owner: Ownership;
  readonly specHash: string;
  readonly attempt: number;
  /** A job's container: never started again. */
  readonly once: boolean;
  readonly binds: readonly RecordedBind[];
  /** Kept by Berth, and to be ready before it is started. */
  readonly volumeIds: readonly string[];
  readonly containerId?: string;
  /** How often the agent started that container again. */
  readonly restarts: number;
}

/** One small file each, whole or absent. */
export class BindRecords {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'bound');
  }

  /** Skips what cannot be read: its container waits for the assignment. */
  async all(): Promise<readonly BindRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.flatMap((name) => (name.endsWith('.json') ? name.slice(0, -'.json'.length) : []));
    const read = ids.filter(isPlainId).map(async (id) => {
      try {
        return parsed(id, JSON.parse(await readFile(this.#path(id), 'utf8')));
      } catch {
        return undefined;
      }
    });
    return (await Promise.all(read)).filter((record) => record !== undefined);
  }

  async write(record: BindRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeWhole(this.#path(record.instanceId), `${JSON.stringify(record)}\n`);
  }

  async remove(instanceId: string): Promise<void> {
    await rm(this.#path(instanceId), { force: true });
  }

  #path(instanceId: string): string {
    return join(this.#folder, `${instanceId}.json`);
  }
}

function parsed(instanceId: string, value: unknown): BindRecord | undefined {
  const stored = fields(value);
  const owner = fields(stored['owner']);
  const [node, installId, tenantId, tenantSlug] = ['node', 'installId', 'tenantId', 'tenantSlug'].map((key) =>
    nonEmpty(owner[key]),
  );
  const specHash = nonEmpty(stored['specHash']);
  const attempt = number(stored['attempt']);
  if (node === undefined || installId === undefined || tenantId === undefined || tenantSlug === undefined)
    return undefined;
  if (specHash === undefined || attempt === undefined) return undefined;
  return {
    instanceId,
    owner: { node, installId, tenantId, tenantSlug },
    specHash,
    attempt,
    once: stored['once'] === true,
    binds: list(stored['binds']).flatMap((one) => {
      const [volumeId, source, path] = ['volumeId', 'source', 'path'].map((key) =>
        nonEmpty(fields(one)[key]),
      );
      const whole = volumeId !== undefined && source !== undefined && path !== undefined;
      return whole ? [{ volumeId, source, path }] : [];
    }),
    volumeIds: list(stored['volumeIds']).flatMap((id) => nonEmpty(id) ?? []),
    ...optional('containerId', nonEmpty(stored['containerId'])),
    restarts: number(stored['restarts']) ?? 0,
  };
}
