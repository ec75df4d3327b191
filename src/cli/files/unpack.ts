import { constants } from 'node:fs';
import { chmod, link, lstat, open, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { makeFolder } from '../../shared/folders.ts';
import { Failure } from '../failure.ts';
import { entriesIn, type ReadEntry } from './tar-reader.ts';

/** Where a person has chosen the place. */
const TARGET = 'the target of berth cp';

export interface Unpacking {
  /** Where the first entry goes, whatever it is called in the archive. */
  readonly target: string;
  readonly maxBytes: number;
  readonly onFile: (bytes: number) => void;
  /** Left out, with why. */
  readonly onSkipped: (path: string, why: string) => void;
}

interface LaterLink {
  readonly at: string;
  readonly to: string;
  readonly path: string;
}

/**
 * Writes what an archive of somebody else holds below one place, and nowhere else. Links are made last, so that nothing is written
 * through one; those that lead out of the place are left out, as is what is neither file, folder nor link.
 */
export async function unpack(archive: AsyncIterable<Buffer>, unpacking: Unpacking): Promise<void> {
  const { target, maxBytes, onFile, onSkipped } = unpacking;
  const links: LaterLink[] = [];
  let bytes = 0;
  for await (const entry of entriesIn(archive)) {
    const inside = placeOf(entry.path);
    const at = join(target, ...inside);
    bytes += entry.size;
    if (bytes > maxBytes) throw new Failure(`more than ${maxBytes} bytes come; --max-size allows more`);
    await noLinkAbove(target, inside);
    switch (entry.kind) {
      case 'folder':
        await folder(at, entry.mode);
        break;
      case 'file':
        await file(at, entry, onFile);
        break;
      case 'link':
        links.push({ at, to: entry.linkTo, path: entry.path });
        break;
      case 'hard-link':
        await hardLink(join(target, ...placeOf(entry.linkTo)), at, () =>
          onSkipped(entry.path, 'its other name is not there'),
        );
        break;
      case 'other':
        onSkipped(entry.path, 'it is a device, a pipe or a socket');
        break;
    }
  }
  for (const { at, to, path } of links) {
    if (!leadsInside(target, at, to)) onSkipped(path, `it is a link out of the copy, to ${to}`);
    else {
      await rm(at, { force: true });
      await symlink(to, at);
      onFile(0);
    }
  }
}

/** Without the first name, which is that of what was asked for. */
function placeOf(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (path.startsWith('/') || names.includes('..') || path.includes('\0'))
    throw new Failure(
      `the archive names ${JSON.stringify(path)}, which is outside of what was asked for; nothing of that was written`,
    );
  return names.slice(1);
}

/** A link that was here before would be followed. */
async function noLinkAbove(target: string, inside: readonly string[]): Promise<void> {
  for (let depth = 1; depth < inside.length; depth += 1) {
    const at = join(target, ...inside.slice(0, depth));
    const found = await lstat(at).catch(() => undefined);
    if (found?.isSymbolicLink() === true) throw new Failure(`${at} is a link; nothing is written through it`);
  }
}

async function folder(at: string, mode: number): Promise<void> {
  const found = await lstat(at).catch(() => undefined);
  if (found !== undefined && !found.isDirectory()) await rm(at, { force: true });
  makeFolder(at, TARGET, 0o777);
  // What is below it has to be written.
  await chmod(at, mode | 0o700);
}

async function file(at: string, entry: ReadEntry, onFile: (bytes: number) => void): Promise<void> {
  makeFolder(dirname(at), TARGET, 0o777);
  await rm(at, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    for await (const piece of entry.content) {
      await handle.write(piece);
      onFile(piece.length);
    }
    await handle.chmod(entry.mode);
  } finally {
    await handle.close();
  }
}

async function hardLink(from: string, at: string, onMissing: () => void): Promise<void> {
  const found = await lstat(from).catch(() => undefined);
  if (found?.isFile() !== true) return onMissing();
  await rm(at, { force: true });
  await link(from, at);
}

function leadsInside(target: string, at: string, to: string): boolean {
  if (to.startsWith('/')) return false;
  const way = relative(target, resolve(dirname(at), to));
  return way !== '..' && !way.startsWith(`..${sep}`);
}
