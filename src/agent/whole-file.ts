import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../core/model/values.ts';
import { errorCode } from './log.ts';

/** Undefined: there is none. What is there and cannot be read fails: it says nothing about what is in it. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Whole or as it was, also after a power cut: on disk when it resolves. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
