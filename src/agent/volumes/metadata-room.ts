import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import { isShortOfRoom } from './copy-room.ts';
import type { Image } from './image.ts';
import { subvolume } from './subvolumes.ts';
import { NoMetadataRoomError } from './volume-engine.ts';

/** A snapshot asks for up to 2.8 MiB before it takes any. */
const LEAST_BYTES = 4 * 2 ** 20;

/**
 * In a volume whose metadata lies apart, data may have taken all room before metadata asked for more: no snapshot is made any more, and no file, however much
 * of the data's room is free. Only more room helps: what moves data together asks for metadata, too.
 */
export class MetadataRoom {
  readonly #image: Image;

  constructor(image: Image) {
    this.#image = image;
  }

  /** Once more, where only this was missing. */
  async snapshot(...args: string[]): Promise<void> {
    await subvolume('snapshot', ...args).catch(async (error: unknown) => {
      if (!(await this.#isMissing(error)) || (await this.#make()) !== 'made') throw error;
      await subvolume('snapshot', ...args);
    });
  }

  /** What cannot be done again at once, since what it read is gone: the room is there for the next one, if it can be had. With all of it there, it is no matter of metadata alone. */
  async judged(error: unknown): Promise<unknown> {
    if (!(await this.#isMissing(error)) || (await this.#make()) === 'had') return error;
    const message = `the file system has no room for metadata: ${messageOf(error)}`;
    return new NoMetadataRoomError(message, { cause: error });
  }

  async #isMissing(failure: unknown): Promise<boolean> {
    if (!isShortOfRoom(messageOf(failure))) return false;
    const left = await this.#image.metadataRoom().catch(() => undefined);
    return left !== undefined && left < LEAST_BYTES;
  }

  /** Or it had more already, or the host has none. */
  async #make(): Promise<'made' | 'had' | 'none'> {
    const probe = join(this.#image.mountPoint, 'probe');
    try {
      if (!(await this.#image.extend())) return 'had';
      // Whoever asks first gets it.
      await subvolume('create', probe);
      await subvolume('delete', probe);
      return 'made';
    } catch {
      return 'none';
    }
  }
}
