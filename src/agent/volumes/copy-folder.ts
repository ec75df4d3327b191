import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fields, nonEmpty } from '../engine/fields.ts';
import { errorCode } from '../log.ts';
import { type CopyName, copyText, type Diverged } from './volume-engine.ts';

/**
 * Names at the top of a volume's file system, the same for every engine; what they say is all the state there is:
 *
 *   data-<epoch>         what the primary's containers write
 *   copies/<e>.<s>       states at a moment, taken or received; `<e>.<s>.json` beside them holds the time, written last
 *   aside-<epoch>        what was written here under an earlier epoch, not compared yet with what was promoted elsewhere
 *   diverged-<epoch>     the same, found to hold bytes that the present primary's volume does not have
 *   discarded-<any>      no longer anything, being deleted (an engine that cannot do that at once)
 */
export async function numbered(folder: string, prefix: string): Promise<readonly number[]> {
  const pattern = new RegExp(`^${prefix}-(\\d{1,15})$`);
  return (await readdir(folder))
    .flatMap((name) => {
      const epoch = pattern.exec(name)?.[1];
      return epoch === undefined ? [] : [Number(epoch)];
    })
    .toSorted((a, b) => a - b);
}

export async function divergedIn(folder: string): Promise<readonly Diverged[]> {
  return (await readdir(folder)).flatMap((name) => {
    const epoch = /^diverged-(\d{1,15})(\.\d+)?$/.exec(name)?.[1];
    return epoch === undefined ? [] : [{ epoch: Number(epoch), path: join(folder, name) }];
  });
}

/** Gives it a name that nothing has yet: bytes that were kept are never overwritten. */
export async function renameAside(folder: string, from: string, to: string): Promise<void> {
  const taken = new Set(await readdir(folder));
  let name = to;
  for (let count = 2; taken.has(name); count += 1) name = `${to}.${count}`;
  await rename(join(folder, from), join(folder, name));
}

/** Written last: a copy without it is not complete. */
export async function writeTakenAt(copies: string, copy: CopyName, takenAt: string): Promise<void> {
  const file = await open(timeFile(copies, copy), 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify({ takenAt }));
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function readTakenAt(copies: string, copy: CopyName): Promise<string | undefined> {
  try {
    return nonEmpty(fields(JSON.parse(await readFile(timeFile(copies, copy), 'utf8')))['takenAt']);
  } catch (error) {
    // Half written, or never. Where it cannot be read, nothing is known of the copy.
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export async function removeTakenAt(copies: string, copy: CopyName): Promise<void> {
  await rm(timeFile(copies, copy), { force: true });
}

function timeFile(copies: string, copy: CopyName): string {
  return join(copies, `${copyText(copy)}.json`);
}
