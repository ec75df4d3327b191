import { errorCode } from '../log.ts';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';

export class BindNotAllowedError extends Error {
  override readonly name = 'BindNotAllowedError';
}

/**
 * A path of the host may be mounted only below `<bind root>/<tenant>`. Each part is opened from the one above it and never
 * through a link, so that neither `..` nor a link that the tenant planted leads out. A folder that is
 * missing is made.
 */
export async function checkBindSource(
  source: string,
  bindRoots: readonly string[],
  tenantSlug: string,
): Promise<string> {
  const { path, folder } = await openBindSource(source, bindRoots, tenantSlug);
  await folder.close();
  return path;
}

/** Open: whatever becomes of its name, this is the folder that was checked. To be closed by the caller. */
export interface OpenBind {
  readonly folder: FileHandle;
  /** Without links. */
  readonly path: string;
}

export async function openBindSource(
  source: string,
  bindRoots: readonly string[],
  tenantSlug: string,
): Promise<OpenBind> {
  const root = bindRoots.find((one) => source.startsWith(`${one}/${tenantSlug}/`));
  if (root === undefined) {
    const allowed = bindRoots.map((one) => `${one}/${tenantSlug}/`).join(', ');
    const where = allowed === '' ? 'this node has no bind root' : `allowed below ${allowed}`;
    throw new BindNotAllowedError(`bind of ${source} is not allowed: ${where}`);
  }
  const parts = source.slice(root.length + 1).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
    throw new BindNotAllowedError(`bind of ${source} is not allowed: the path is not plain`);
  }
  const realRoot = await realpath(root).catch(() => {
    throw new BindNotAllowedError(`bind of ${source} is not allowed: bind root ${root} does not exist`);
  });
  return { folder: await openBelow(realRoot, parts, source), path: `${realRoot}/${parts.join('/')}` };
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

async function openBelow(root: string, parts: readonly string[], source: string): Promise<FileHandle> {
  let folder: FileHandle = await open(root, FOLDER);
  for (const part of parts) {
    const above = folder;
    try {
      folder = await openChild(above, part, source);
    } finally {
      await above.close();
    }
  }
  return folder;
}

/** `/proc/self/fd/N/child` is Node's way to openat(2). */
async function openChild(folder: FileHandle, part: string, source: string): Promise<FileHandle> {
  const path = `/proc/self/fd/${folder.fd}/${part}`;
  try {
    await mkdir(path, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    return await open(path, FOLDER);
  } catch (error) {
    const code = errorCode(error) ?? '';
    const why = ['ELOOP', 'ENOTDIR'].includes(code) ? `${part} is a link or no folder` : `${part}: ${code}`;
    throw new BindNotAllowedError(`bind of ${source} is not allowed: ${why}`, { cause: error });
  }
}
