import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { type Mount, parseMountInfo } from './mounts.ts';

type Filesystem = Pick<Mount, 'device' | 'source'>;

/**
 * Processes in containers that have this file system mounted, whatever engine runs them, and whether it still answers.
 * A process of the host is none: it shares our mounts, or (a service with private mounts) has a copy of them but our root.
 */
export async function holdersOf({ device, source }: Filesystem): Promise<readonly number[]> {
  const [ownNamespace, ownRoot] = await Promise.all([namespaceOf('self'), rootOf('self')]);
  if (ownNamespace === undefined || ownRoot === undefined) throw new Error('/proc is not readable');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const seen = new Map<string, boolean>();
  const found: number[] = [];
  for (const pid of pids) {
    const namespace = await namespaceOf(pid);
    if (namespace === undefined || namespace === ownNamespace || (await rootOf(pid)) === ownRoot) continue;
    let holds = seen.get(namespace);
    if (holds === undefined) {
      holds = await mounts(pid, { device, source });
      if (holds !== undefined) seen.set(namespace, holds);
    }
    if (holds === true) found.push(Number(pid));
  }
  return found;
}

/** Undefined: the process is gone, or a kernel thread. */
async function namespaceOf(pid: string): Promise<string | undefined> {
  return await readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
}

async function rootOf(pid: string): Promise<string | undefined> {
  return await stat(`/proc/${pid}/root`).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  );
}

async function mounts(pid: string, { device, source }: Filesystem): Promise<boolean | undefined> {
  const text = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
  // Of a process that is ending it is empty.
  if (text === '') return undefined;
  return parseMountInfo(text).some((one) => one.device === device && one.source === source);
}
