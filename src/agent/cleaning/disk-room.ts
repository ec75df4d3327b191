import type { NodeDisk } from '../../core/model/node.ts';
import type { Engine } from '../engine/engine.ts';
import { type Disk, readDisk } from './disk.ts';

const LOOK_MS = 15_000;
/** The engine walks the files of a container for it. */
const MEASURE_MS = 5 * 60_000;
const CALL = { deadlineMs: 30_000 };
const LEAST_STEP = 64 * 2 ** 20;
const STEPS = 100;

/** A container that asked for disk. */
export interface DiskUser {
  readonly containerId: string;
  readonly askedBytes: number;
}

/**
 * What all containers together may ask for: what is free, and what those that asked have written already, each up to what it asked for;
 * anything else on the disk is somebody else's. In steps, and one of them to and fro is no change: every change is stored.
 * Whole numbers of at least 0, whatever a file system says (8 EiB, of those that grow by themselves): a message with others is refused.
 */
export function diskRoom(
  disk: Disk,
  users: readonly (DiskUser & { readonly writtenBytes: number })[],
  before: NodeDisk | undefined,
): NodeDisk {
  const theirs = users.reduce(
    (sum, { askedBytes, writtenBytes }) => sum + Math.min(askedBytes, writtenBytes),
    0,
  );
  const totalBytes = Math.min(disk.totalBytes, Number.MAX_SAFE_INTEGER);
  const room = Math.max(0, Math.min(totalBytes, disk.totalBytes - disk.usedBytes + theirs));
  const step = Math.max(LEAST_STEP, Math.ceil(totalBytes / STEPS));
  if (before?.totalBytes === totalBytes && Math.abs(room - before.roomBytes) < step) return before;
  return { totalBytes, roomBytes: Math.floor(room / step) * step };
}

export interface DiskRoomOptions {
  readonly engine: Pick<Engine, 'writtenBytes'>;
  /** A folder on the engine's disk. */
  readonly rootDir: () => string;
  readonly users: () => readonly DiskUser[];
  readonly onChange: () => void;
  /** Absent: as the machine says. */
  readonly read?: (folder: string) => Promise<Disk | undefined>;
}

/** Room on the engine's disk, looked at steadily. */
export class DiskRoom {
  readonly #options: DiskRoomOptions;
  readonly #written = new Map<string, { readonly bytes: number; readonly atMs: number }>();
  #room: NodeDisk | undefined;
  #reading = false;
  #measuring = false;

  constructor(options: DiskRoomOptions) {
    this.#options = options;
  }

  /** As of the last look; undefined: the engine's disk is not of this machine. */
  get room(): NodeDisk | undefined {
    return this.#room;
  }

  run(signal: AbortSignal): void {
    const timer = setInterval(() => void this.look(), LOOK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  async look(): Promise<void> {
    const users = await this.read();
    if (users !== undefined) await this.#measure(users);
  }

  /** By what was measured before. Undefined: an earlier one still waits for a disk that hangs, and a second would take one more thread from everything else. */
  async read(): Promise<readonly DiskUser[] | undefined> {
    if (this.#reading) return undefined;
    this.#reading = true;
    const { read = readDisk, rootDir } = this.#options;
    const disk = await read(rootDir()).finally(() => {
      this.#reading = false;
    });
    const users = this.#options.users().map((user) => ({
      ...user,
      writtenBytes: this.#written.get(user.containerId)?.bytes ?? 0,
    }));
    const before = this.#room;
    this.#room = disk && diskRoom(disk, users, before);
    if (this.#room !== before) this.#options.onChange();
    return users;
  }

  /** One after the other; what cannot be measured counts as somebody else's, and is tried with the next look. */
  async #measure(users: readonly DiskUser[]): Promise<void> {
    const { engine } = this.#options;
    const present = new Set(users.map(({ containerId }) => containerId));
    for (const id of this.#written.keys()) if (!present.has(id)) this.#written.delete(id);
    if (this.#measuring) return;
    this.#measuring = true;
    try {
      for (const { containerId } of users) {
        const known = this.#written.get(containerId);
        if (known !== undefined && performance.now() - known.atMs < MEASURE_MS) continue;
        const bytes = await engine.writtenBytes(containerId, CALL).catch(() => undefined);
        if (bytes !== undefined) this.#written.set(containerId, { bytes, atMs: performance.now() });
      }
    } finally {
      this.#measuring = false;
    }
  }
}
