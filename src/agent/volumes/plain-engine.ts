import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { commonImage } from './image.ts';
import { missingParts } from './missing.ts';
import type { OpenVolume, VolumeEngine, VolumePlace } from './volume-engine.ts';

/** A volume that lives on one node: an image whose size holds, and no copies. */
export class PlainEngine implements VolumeEngine {
  readonly name = 'plain';
  readonly leastIntervalMs = 0;

  async missing(): Promise<string | undefined> {
    return await missingParts(['mkfs.ext4', 'resize2fs'], 'ext4');
  }

  async open({ id, folder }: VolumePlace, sizeBytes: number): Promise<OpenVolume> {
    const image = await commonImage(folder, sizeBytes);
    const mount = await image.open(sizeBytes, id);
    const data = join(image.mountPoint, 'data');
    return {
      mount,
      image: image.file,
      measure: () => image.measure(),
      shrinks: image.shrinks,
      resize: (bytes) => image.resize(bytes),
      writable: async () => {
        await mkdir(data, { recursive: true });
        await chmod(data, 0o777);
        return data;
      },
      copies: undefined,
    };
  }

  async close({ folder }: VolumePlace): Promise<boolean> {
    return await (await commonImage(folder, 0)).close();
  }
}
