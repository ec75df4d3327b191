import { mkdir, readdir, realpath, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { AssignedContainer, AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import { type BindRecord, BindRecords, type RecordedBind } from './bind-record.ts';
import { BindNotAllowedError, type OpenBind, openBindSource } from './bind-roots.ts';
import { type Log } from '../log.ts';
import type { Ownership } from './own-labels.ts';
import { isPlainId } from '../plain-id.ts';
import { detachPrivate, mountAt, mountOpen, mountTmpfs } from '../volumes/mounts.ts';

/** Room for names of folders only. */
const TMPFS_BYTES = 4 * 2 ** 20;
/**
 * A folder in memory, and a file on the disk below it: Podman makes a folder that it does not find, which would be an empty one in the
 * place of the host's, and none can be made in a file.
 */
const HELD = 'held';

type Bind = Pick<RecordedBind, 'volumeId' | 'source'>;

export function bindsOf(container: Pick<AssignedContainer, 'mounts'> | undefined): readonly Bind[] {
  return (container?.mounts ?? []).flatMap(({ kind, volumeId, source = '' }) =>
    kind === 'bind' ? [{ volumeId, source }] : [],
  );
}

/** Where the engine finds a folder of the host: never under its own name, which may be given to another folder. */
export function heldPath(folder: string, instanceId: string, volumeId: string): string {
  return join(folder, instanceId, volumeId);
}

/** Every one of its folders is one that the agent checked and holds. One that an older agent made has their names instead. */
export function isHeld(
  folder: string,
  instanceId: string,
  binds: readonly Pick<Bind, 'volumeId'>[],
  container: { readonly binds: readonly string[] },
): boolean {
  return binds.every(({ volumeId }) => container.binds.includes(heldPath(folder, instanceId, volumeId)));
}

export interface BindsOptions {
  readonly dataDir: string;
  readonly bindRoots: readonly string[];
  readonly log: Log;
}

/**
 * Folders of the host that containers mount. Each is opened part by part, never through a link, and mounted by its descriptor at a
 * place of the agent's own, which is what the engine gets: a name that leads elsewhere by then does no harm. That place is in memory,
 * so that an engine which does not see the mount finds nothing, not an empty folder. No folder is in another one that is in use.
 */
export class Binds {
  readonly #options: BindsOptions;
  readonly #store: BindRecords;
  readonly #records = new Map<string, BindRecord>();
  /** In memory. */
  #mountPoint = '';
  #folder = '';
  #preparing: Promise<void> | undefined;

  constructor(options: BindsOptions) {
    this.#options = options;
    this.#store = new BindRecords(options.dataDir);
    this.#setFolder(options.dataDir);
  }

  get folder(): string {
    return this.#folder;
  }

  #setFolder(dataDir: string): void {
    this.#mountPoint = join(dataDir, 'binds');
    this.#folder = join(this.#mountPoint, HELD);
  }

  get instanceIds(): readonly string[] {
    return [...this.#records.keys()];
  }

  async load(): Promise<void> {
    // As the kernel writes it in its table of mounts.
    this.#setFolder(await realpath(this.#options.dataDir));
    for (const record of await this.#store.all()) this.#records.set(record.instanceId, record);
  }

  record(instanceId: string): BindRecord | undefined {
    return this.#records.get(instanceId);
  }

  restartsOf(instanceId: string, containerId: string | undefined): number {
    const record = this.#records.get(instanceId);
    return record !== undefined && record.containerId === containerId ? record.restarts : 0;
  }

  /** Checked, mounted and remembered when it resolves; all that has no binds is left alone. */
  async hold(assigned: AssignedInstance, owner: Ownership): Promise<void> {
    const binds = bindsOf(assigned.container);
    if (binds.length > 0) await this.#hold(recordOf(assigned, owner, binds, this.#records.get(assigned.id)));
  }

  /** Before it is started again, by what was remembered. */
  async holdAgain(instanceId: string): Promise<void> {
    const record = this.#records.get(instanceId);
    if (record !== undefined) await this.#hold(record);
  }

  /** Of a container that an older agent made: its folders are in use, and are checked before the next one is made. */
  async adopt(assigned: AssignedInstance, owner: Ownership): Promise<void> {
    const binds = bindsOf(assigned.container);
    if (binds.length > 0) await this.#keep(recordOf(assigned, owner, binds, this.#records.get(assigned.id)));
  }

  warnOfPolicy(container: string): void {
    this.#options.log.warn(
      'this engine cannot change how a container that is there is started again: redeploy it, so that its binds are checked at each start',
      { container },
    );
  }

  async started(instanceId: string, containerId: string, again: boolean): Promise<void> {
    const record = this.#records.get(instanceId);
    if (record === undefined) return;
    const restarts = this.restartsOf(instanceId, containerId) + (again ? 1 : 0);
    await this.#keep({ ...record, containerId, restarts });
  }

  /** It is to stop: from now on it is not restarted. */
  async forget(instanceId: string): Promise<void> {
    if (!this.#records.has(instanceId)) return;
    await this.#store.remove(instanceId);
    this.#records.delete(instanceId);
  }

  /** Its containers are gone. */
  async release(instanceId: string): Promise<void> {
    await this.forget(instanceId);
    if (isPlainId(instanceId)) await this.#unmount(instanceId);
  }

  /** What a killed agent left: mounts and records of instances that are neither wanted nor there. */
  async sweep(isWanted: (instanceId: string) => boolean): Promise<void> {
    const mounted = await readdir(this.#folder).catch(() => []);
    for (const id of new Set([...mounted, ...this.#records.keys()])) {
      if (isWanted(id)) continue;
      await this.release(id).catch((error: unknown) => {
        this.#options.log.warn('a bind could not be released', { instance: id, problem: messageOf(error) });
      });
    }
  }

  async #hold(wanted: BindRecord): Promise<void> {
    const { instanceId, owner } = wanted;
    const opened: (Bind & OpenBind)[] = [];
    try {
      for (const bind of wanted.binds) {
        if (!isPlainId(instanceId) || !isPlainId(bind.volumeId))
          throw new BindNotAllowedError('the id of an instance or a volume is not plain');
        const open = await openBindSource(bind.source, this.#options.bindRoots, owner.tenantSlug);
        opened.push({ ...bind, ...open });
      }
      const binds = opened.map(({ volumeId, source, path }) => ({ volumeId, source, path }));
      this.#refuseNested(instanceId, binds);
      await this.#keep({ ...wanted, binds });
      for (const one of opened) await this.#mount(instanceId, one);
    } finally {
      await Promise.all(opened.map(({ folder }) => folder.close()));
    }
  }

  /** The owner of the outer folder decides what the name of the inner one leads to. */
  #refuseNested(instanceId: string, binds: readonly RecordedBind[]): void {
    const others = [...this.#records.values()].filter((one) => one.instanceId !== instanceId);
    for (const { path } of binds) {
      for (const record of [...others, { instanceId, binds }]) {
        const other = record.binds.find((one) => isInside(path, one.path) || isInside(one.path, path));
        if (other === undefined) continue;
        const [inner, outer] = isInside(path, other.path) ? [path, other.path] : [other.path, path];
        const whose = record.instanceId === instanceId ? 'the same one' : `instance ${record.instanceId}`;
        throw new BindNotAllowedError(
          `bind of ${path} is not allowed: ${inner} is inside ${outer}, and ${other.path} is a bind of ${whose} on this node; use folders side by side, or one volume for both`,
        );
      }
    }
  }

  async #keep(record: BindRecord): Promise<void> {
    const before = this.#records.get(record.instanceId);
    // At once, before anything is awaited: of two that are nested, one comes second.
    this.#records.set(record.instanceId, record);
    if (JSON.stringify(before) !== JSON.stringify(record)) await this.#store.write(record);
  }

  async #mount(instanceId: string, { volumeId, source, folder }: Bind & OpenBind): Promise<void> {
    const mountPoint = heldPath(this.#folder, instanceId, volumeId);
    try {
      this.#preparing ??= this.#prepare().finally(() => (this.#preparing = undefined));
      await this.#preparing;
      await mkdir(mountPoint, { recursive: true, mode: 0o700 });
      const checked = await folder.stat({ bigint: true });
      const isIt = async (): Promise<boolean> => {
        const there = await stat(mountPoint, { bigint: true });
        return there.dev === checked.dev && there.ino === checked.ino;
      };
      if (await isIt()) return;
      await detachPrivate(mountPoint);
      await mountOpen(folder.fd, mountPoint);
      if (await isIt()) return;
      await detachPrivate(mountPoint);
    } catch (error) {
      throw new BindNotAllowedError(
        `bind of ${source} is not allowed: this agent cannot hold it (${messageOf(error)}); it has to run as root with CAP_SYS_ADMIN, where mount is installed`,
        { cause: error },
      );
    }
    throw new BindNotAllowedError(
      `bind of ${source} is not allowed: another folder was mounted than was checked`,
    );
  }

  async #prepare(): Promise<void> {
    if ((await mountAt(this.#mountPoint)) !== undefined) return;
    await mkdir(this.#mountPoint, { recursive: true, mode: 0o700 });
    await writeFile(this.#folder, 'What an engine finds that does not see the mounts of the agent.\n');
    await mountTmpfs(this.#mountPoint, TMPFS_BYTES);
  }

  async #unmount(instanceId: string): Promise<void> {
    const folder = join(this.#folder, instanceId);
    if ((await mountAt(this.#mountPoint)) === undefined) return;
    for (const name of await readdir(folder).catch(() => [])) await detachPrivate(join(folder, name));
    // Only what is empty goes: a mount that is still there must not be emptied.
    for (const name of await readdir(folder).catch(() => [])) await rmdir(join(folder, name));
    await rmdir(folder).catch(() => {});
  }
}

function isInside(path: string, other: string): boolean {
  return path.startsWith(`${other}/`);
}

function recordOf(
  { id: instanceId, specHash, attempt, once, container }: AssignedInstance,
  owner: Ownership,
  binds: readonly Bind[],
  before: BindRecord | undefined,
): BindRecord {
  const known = before?.specHash === specHash && before.attempt === attempt ? before : undefined;
  return {
    instanceId,
    owner,
    specHash,
    attempt,
    once: once !== undefined,
    binds: binds.map((bind) => ({ ...bind, path: bind.source })),
    volumeIds: (container?.mounts ?? []).flatMap(({ kind, volumeId }) => (kind === 'volume' ? volumeId : [])),
    ...(known?.containerId === undefined ? {} : { containerId: known.containerId }),
    restarts: known?.restarts ?? 0,
  };
}
