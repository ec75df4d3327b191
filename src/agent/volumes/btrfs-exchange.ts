import { mkdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { COPY } from './confinement.ts';
import type { MetadataRoom } from './metadata-room.ts';
import { run } from './program.ts';
import type { Receiving } from './receiving.ts';
import { isReadOnly, isSubvolume, subvolume, SUBVOLUME_INODE } from './subvolumes.ts';

const CLEAR_TIMEOUT_MS = 3_600_000;

/**
 * Where streams of another node are unpacked. A stream says itself which names it makes, links among them, so it gets a folder
 * that holds nothing but the parent it builds on, and what the agent goes on with is a snapshot of what it made.
 */
export class BtrfsExchange {
  readonly #folder: string;
  readonly #place: string;
  readonly #receiving: Receiving;
  readonly #room: MetadataRoom;

  /** `place`: the volume's own folder on the host. */
  constructor(top: string, place: string, receiving: Receiving, room: MetadataRoom) {
    this.#room = room;
    this.#folder = join(top, 'exchange');
    this.#place = place;
    this.#receiving = receiving;
  }

  /** Makes `copy`, a read-only snapshot of what the stream makes under the same name; `parent` is another one. */
  async receive(
    copy: string,
    parent: string | undefined,
    stream: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const names = [copy, ...(parent === undefined ? [] : [parent])].map((path) => basename(path));
    await this.#clear(names);
    await mkdir(this.#folder, { mode: 0o700 });
    try {
      // The kernel names a parent from the top of the file system, of which only this folder is seen.
      for (const name of [basename(this.#folder), 'copies']) await symlink('.', join(this.#folder, name));
      if (parent !== undefined) await this.#room.snapshot('-r', parent, join(this.#folder, basename(parent)));
      const args = ['--quiet', 'receive', '-m', COPY, COPY];
      await this.#receiving.run(args, stream, this.#folder, this.#place, signal);
      const made = join(this.#folder, basename(copy));
      if (!(await isSubvolume(made)) || !(await isReadOnly(made)))
        throw new Error(`copy ${basename(copy)} is incomplete`);
      signal.throwIfAborted();
      await this.#room.snapshot('-r', made, copy);
    } catch (error) {
      throw await this.#room.judged(error);
    } finally {
      await this.#clear(names);
    }
  }

  /** `names`: what is expected there, gone at once; anything else takes longer. */
  async #clear(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.#folder, name);
      if (await isSubvolume(path)) await subvolume('delete', path).catch(() => {});
    }
    await this.#remove().catch(async () => {
      const writable = ['btrfs', 'property', 'set', '-f', '-ts', '{}', 'ro', 'false', ';'];
      const tops = ['-type', 'd', '-inum', String(SUBVOLUME_INODE), '-exec', ...writable];
      await run('find', [this.#folder, ...tops], CLEAR_TIMEOUT_MS);
      await this.#remove();
    });
  }

  async #remove(): Promise<void> {
    await run('rm', ['--recursive', '--force', '--', this.#folder], CLEAR_TIMEOUT_MS);
  }
}
