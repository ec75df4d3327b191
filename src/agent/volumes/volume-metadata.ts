import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fields, nonEmpty, number } from '../engine/fields.ts';
import { isPlainId } from '../plain-id.ts';
import { writeWhole } from '../whole-file.ts';

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

  async all(): Promise<readonly VolumeMetadata[]> {
    const names = await readdir(this.folder).catch(() => []);
    const records = await Promise.all(names.filter(isPlainId).map((id) => this.read(id)));
    return records.filter((record) => record !== undefined);
  }

  async read(id: string): Promise<VolumeMetadata | undefined> {
    const text = await readFile(join(this.place(id).folder, FILE), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const stored = fields(JSON.parse(text));
    const epoch = number(stored['epoch']);
    if (epoch === undefined) throw new Error(`${join(this.place(id).folder, FILE)} is damaged`);
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
