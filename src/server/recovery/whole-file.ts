import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RecoveryError } from './failure.ts';

/** Ends with `.partial`: a process that was killed leaves it, and nobody takes it for a backup. */
const PARTIAL = /^\..+\.[0-9a-f]{12}\.partial$/;

export function isPartial(name: string): boolean {
  return PARTIAL.test(name);
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file is there under its name when all of it is on the disk, or it is not there. Only its owner can read it. */
export async function writeWholeFile(
  path: string,
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const folder = dirname(path);
  const draft = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}.partial`);
  const handle = await open(draft, 'wx', 0o600);
  try {
    let bytes = 0;
    for await (const chunk of source) {
      if (signal.aborted) throw new RecoveryError('interrupted', 'interrupted; nothing was written');
      await handle.writeFile(chunk);
      bytes += chunk.length;
    }
    await handle.sync();
    await handle.close();
    if (existsSync(path)) throw new RecoveryError('notEmpty', `${path} exists already`);
    await rename(draft, path);
    await sync(folder);
    return bytes;
  } catch (error) {
    await handle.close().catch(() => undefined);
    rmSync(draft, { force: true });
    throw error;
  }
}
