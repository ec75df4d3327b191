import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../core/model/values.ts';
import type { AssignedInstance, Assignment, MeshMap } from '../core/protocol/agent-protocol.ts';
import type { Ownership } from './containers/own-labels.ts';
import { fields, nonEmpty } from './engine/fields.ts';
import type { Log } from './log.ts';
import { decodeServerMessage } from './session/server-message.ts';
import { writeWhole } from './whole-file.ts';

/** A map changes with the health of every instance of the tenant: it is written no more often. */
const MAP_EVERY_MS = 2_000;

export interface RecalledOrders {
  readonly owner: Ownership;
  readonly assignment: Assignment;
  /** Absent: this node had no part in the tenant's network. */
  readonly map?: MeshMap;
}

/**
 * What the control plane last ordered, for a machine that starts while it is away. Names, images, mounts and addresses, as containers and
 * rules show them to anybody on the machine; no environment: it is only needed to create a container, which nobody does by this.
 */
export class LastOrders {
  readonly #orders: FileOfLast;
  readonly #map: FileOfLast;

  constructor(dataDir: string, log: Log) {
    this.#orders = new FileOfLast(join(dataDir, 'orders.json'), 0, log);
    this.#map = new FileOfLast(join(dataDir, 'mesh-map.json'), MAP_EVERY_MS, log);
  }

  keep(owner: Ownership, assignment: Assignment): void {
    this.#orders.write(() =>
      JSON.stringify({
        owner,
        assignment: { ...assignment, instances: assignment.instances.map(withoutValues) },
      }),
    );
  }

  keepMap(map: MeshMap): void {
    this.#map.write(() => JSON.stringify(map));
  }

  /** What was given to `keep` is on disk, or could not be written. */
  async settled(): Promise<void> {
    await this.#orders.settled();
  }

  /** Undefined: there are none, or they cannot be read; the control plane has them. */
  async read(): Promise<RecalledOrders | undefined> {
    try {
      const stored = fields(JSON.parse((await this.#orders.read()) ?? '{}'));
      const kept = fields(stored['owner']);
      const [node, installId, tenantId, tenantSlug] = ['node', 'installId', 'tenantId', 'tenantSlug'].map(
        (key) => nonEmpty(kept[key]),
      );
      if (node === undefined || installId === undefined || tenantId === undefined || tenantSlug === undefined)
        return undefined;
      const assignment = decodeServerMessage(JSON.stringify(stored['assignment']));
      if (assignment?.type !== 'assignment') return undefined;
      const map = decodeServerMessage((await this.#map.read()) ?? '');
      return {
        owner: { node, installId, tenantId, tenantSlug },
        assignment,
        ...(map?.type === 'mesh' && { map }),
      };
    } catch {
      return undefined;
    }
  }

  /** The control plane sent this node away: nothing is started by what it said before. */
  async forget(): Promise<void> {
    await Promise.all([this.#orders.remove(), this.#map.remove()]);
  }
}

function withoutValues(instance: AssignedInstance): AssignedInstance {
  return instance.wanted === 'stop'
    ? instance
    : { ...instance, container: { ...instance.container, environment: {}, labels: {} } };
}

/** The last of what it is given, whole or as it was before; one write at a time. */
class FileOfLast {
  readonly #path: string;
  readonly #everyMs: number;
  readonly #log: Log;
  #next: (() => string) | undefined;
  #writing: Promise<void> | undefined;
  #writtenMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, everyMs: number, log: Log) {
    this.#path = path;
    this.#everyMs = everyMs;
    this.#log = log;
  }

  write(content: () => string): void {
    this.#next = content;
    const waitMs = this.#writtenMs + this.#everyMs - performance.now();
    if (waitMs <= 0) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), waitMs).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const content = this.#next;
      this.#next = undefined;
      this.#writtenMs = performance.now();
      await writeWhole(this.#path, `${content()}\n`).catch((error: unknown) =>
        this.#log.warn('the last orders could not be saved', { file: this.#path, reason: messageOf(error) }),
      );
    }
  }

  async settled(): Promise<void> {
    await this.#writing;
  }

  async read(): Promise<string | undefined> {
    return await readFile(this.#path, 'utf8').catch(() => undefined);
  }

  async remove(): Promise<void> {
    clearTimeout(this.#timer);
    this.#next = undefined;
    await this.#writing;
    await rm(this.#path, { force: true });
  }
}
