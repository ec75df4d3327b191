import { createReadStream, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../shared/folders.ts';
import type { Config } from '../config.ts';
import { readWhole } from '../store/whole-store.ts';
import { VERSION } from '../version.ts';
import { packed } from './backup-contents.ts';
import { type Contents, ContentsDigest } from './digest.ts';
import { RecoveryError } from './failure.ts';
import { readHead, seal } from './sealing.ts';
import { type KeptKey, readKeys } from './server-keys.ts';
import { storePlace } from './store-place.ts';
import { isPartial, writeWholeFile } from './whole-file.ts';

const SUFFIX = '.backup';
/** `berth-20261117T021500Z-r1234.backup`: the names sort by the time. */
const NAMED = /^berth-\d{8}T\d{6}Z-r\d+\.backup$/;
/** What was left by a process that was killed is removed when it is surely nobody's any more. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

export interface BackupOrder {
  readonly config: Config;
  readonly to: string;
  /** Where the keys go instead. */
  readonly keysTo?: string;
  readonly passphrase: string;
  readonly signal: AbortSignal;
  /** Of the key; less only in tests. */
  readonly cost?: number;
}

export interface BackupMade {
  readonly path: string;
  readonly bytes: number;
  readonly revision: number;
  readonly contents: Contents;
  readonly keys: readonly KeptKey[];
  /** The file that has them; absent: the backup itself. */
  readonly keysTo?: string;
}

function isFolder(path: string): boolean {
  return path.endsWith('/') || (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}

function fileName(now: Date, revision: number): string {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `berth-${time}-r${revision}${SUFFIX}`;
}

async function* nothing(): AsyncGenerator<never> {}

/** Beside the control plane, which goes on: everything is of one revision. */
export async function makeBackup(order: BackupOrder): Promise<BackupMade> {
  const { config, to, keysTo, passphrase, signal, cost } = order;
  const keys = readKeys(config);
  const store = await readWhole(storePlace(config));
  try {
    const now = new Date();
    const path = isFolder(to) ? join(to, fileName(now, store.revision)) : to;
    makeFolder(dirname(path), '--to');
    for (const one of keysTo === undefined ? [path] : [path, keysTo])
      if (existsSync(one)) throw new RecoveryError('notEmpty', `${one} exists already`);
    const description = {
      berth: VERSION,
      createdAt: now.toISOString(),
      store: store.kind,
      revision: store.revision,
    };
    const sealed = (holds: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> =>
      seal(source, passphrase, { holds, ...description }, cost);
    const digest = new ContentsDigest();
    const inside = keysTo === undefined ? keys : [];
    if (keysTo !== undefined)
      await writeWholeFile(keysTo, sealed('keys', packed(keys, nothing(), new ContentsDigest())), signal);
    const holds = keysTo === undefined ? 'store and keys' : 'store';
    const bytes = await writeWholeFile(path, sealed(holds, packed(inside, store.pages(), digest)), signal);
    return {
      path,
      bytes,
      revision: store.revision,
      contents: digest.result(),
      keys,
      ...(keysTo && { keysTo }),
    };
  } finally {
    await store.close();
  }
}

async function isBackup(path: string): Promise<boolean> {
  const source = createReadStream(path);
  try {
    await readHead(source);
    return true;
  } catch {
    return false;
  } finally {
    source.destroy();
  }
}

/** Of the backups that this command named itself, the newest stay. Answers which went. */
export async function keepNewest(folder: string, keep: number): Promise<readonly string[]> {
  const names = readdirSync(folder).toSorted();
  for (const name of names) {
    const path = join(folder, name);
    if (!isPartial(name) || !name.startsWith('.berth-')) continue;
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > ABANDONED_MS) rmSync(path, { force: true });
  }
  const gone: string[] = [];
  for (const name of names.filter((one) => NAMED.test(one)).slice(0, -keep)) {
    const path = join(folder, name);
    // What only looks like one is not ours to remove.
    if (!(await isBackup(path))) continue;
    rmSync(path);
    gone.push(basename(path));
  }
  return gone;
}
