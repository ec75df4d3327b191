import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fieldsIn, nonEmpty, number } from '../engine/fields.ts';
import { isPlainId } from '../plain-id.ts';
import { readIfThere, writeWhole } from '../whole-file.ts';

/** What must outlive the agent: under which epoch this node acts on a volume, and by which engine its bytes are kept. */
export interface VolumeMetadata {
  readonly id: string;
  /** The highest ever assigned: on disk before anything is done under it. */
  readonly epoch: number;
  readonly role: 'primary' | 'replica';
  /** Absent: nothing is kept here yet, or nothing needs to be (`bind`, `tmpfs`). */
  readonly engine?: string;
}

const FILE = 'volume.json';

export class VolumeMetadataFiles {
  readonly folder: string;

  constructor(dataDir: string) {
    this.folder = join(dataDir, 'volumes');
  }

  place(id: string): { readonly id: string; readonly folder: string } {
    if (!isPlainId(id)) throw new Error('the id of a volume is not plain');
    return { id, folder: join(this.folder, id) };
  }

  /** Undefined: nothing of it was ever kept here. Fails where that is not known: a primary without its record would begin with nothing. */
  async read(id: string): Promise<VolumeMetadata | undefined> {
    const path = join(this.place(id).folder, FILE);
    const text = await readIfThere(path);
    if (text === undefined) return undefined;
    const stored = fieldsIn(text);
    const epoch = number(stored['epoch']);
    if (epoch === undefined) throw new Error(`${path} is damaged`);
    const engine = nonEmpty(stored['engine']);
    const role = stored['role'] === 'primary' ? 'primary' : 'replica';
    return { id, epoch, role, ...(engine === undefined ? {} : { engine }) };
  }

  async write(record: VolumeMetadata): Promise<void> {
    const { folder } = this.place(record.id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeWhole(join(folder, FILE), `${JSON.stringify(record)}\n`);
  }
}
