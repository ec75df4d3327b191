import { userInfo } from 'node:os';
import type { TenantId } from '../../core/model/ids.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import { PLATFORM_SLUG } from '../../core/model/tenant.ts';
import { makeFolder } from '../../shared/folders.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { createIds } from '../ids.ts';
import { Journal } from '../journal/journal.ts';
import { globalKey, parseHotKey } from '../store/keys.ts';
import type { KvEntry } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import { Transaction } from '../store/transaction.ts';
import { isEmptyStore, placeName, writeWhole } from '../store/whole-store.ts';
import type { Contents } from './digest.ts';
import { RecoveryError } from './failure.ts';
import { type OpenedBackup, openBackup, requireStore } from './opened-backup.ts';
import { Mounting, type Raise, raisedEntry, raisedHead } from './raised.ts';
import { type KeptKey, planKeys, writeKeys } from './server-keys.ts';
import { storePlace } from './store-place.ts';

export interface RestoreOrder {
  readonly config: Config;
  readonly from: string;
  readonly keysFrom?: string;
  readonly passphrase: string;
  readonly signal: AbortSignal;
}

export interface Restored {
  readonly createdAt: string;
  readonly revision: number;
  readonly contents: Contents;
  readonly nodes: readonly string[];
  readonly told: readonly string[];
}

/** The nodes and the platform's tenant, as they come by. */
interface Noted {
  readonly nodes: { readonly tenantId: TenantId; readonly name: string }[];
  platform: TenantId | undefined;
}

function note(noted: Noted, { key, value }: KvEntry): void {
  const hot = parseHotKey(key);
  if (hot?.tenantId !== undefined && hot.kind === 'nodes')
    noted.nodes.push({ tenantId: hot.tenantId, name: decodeRecord<NodeRecord>(key, value).name });
  if (key === globalKey('tenant-slugs', PLATFORM_SLUG))
    noted.platform = decodeRecord<{ readonly tenantId: TenantId }>(key, value).tenantId;
}

/** Who is at the keyboard, for the audit. */
export function localActor(requestId: string): { readonly requestId: string; readonly source: string } {
  return { requestId, source: `this machine, user ${localUser()}` };
}

/** In a container the user often has a number only. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** Told in the store itself: to the owners of nodes, and to the platform's administrators. */
function tellings(noted: Noted, { createdAt, revision }: OpenedBackup, head: number): readonly KvEntry[] {
  const journal = new Journal(systemClock, createIds(systemClock));
  const parts = noted.nodes.map(({ tenantId, name }) => {
    const transaction = new Transaction(tenantId);
    journal.event(transaction, tenantId, {
      kind: 'node.orders_held',
      subject: { kind: 'Node', name },
      message:
        `the store was restored from a backup of ${createdAt} (revision ${revision}): what was accepted since is lost. ${name} keeps what it runs, ` +
        'and is given no orders until it is uncordoned; then what this store does not know of is removed there, and what has changed since goes back',
      details: { backupOf: createdAt, revision },
    });
    return transaction;
  });
  if (noted.platform !== undefined) {
    const transaction = new Transaction(noted.platform);
    const subject = { kind: 'Tenant', name: PLATFORM_SLUG } as const;
    const details = { backupOf: createdAt, revision };
    journal.audit(transaction, noted.platform, localActor('restore'), 'store.restored', subject, details);
    parts.push(transaction);
  }
  return parts.flatMap((part) =>
    (part.toCommit().puts ?? []).map(({ key, value }) => ({
      key,
      value,
      createRevision: head,
      modRevision: head,
    })),
  );
}

async function* raisedPages(
  backup: OpenedBackup,
  raise: Raise,
  noted: Noted,
  mounting: ReadonlySet<string>,
): AsyncGenerator<readonly KvEntry[]> {
  for await (const page of backup.pages) {
    for (const entry of page) note(noted, entry);
    yield page.flatMap((entry) => raisedEntry(entry, raise, mounting) ?? []);
  }
  yield tellings(noted, backup, raise.head);
}

async function surveyed(
  path: string,
  { passphrase, signal }: Pick<RestoreOrder, 'passphrase' | 'signal'>,
): Promise<{ readonly keys: readonly KeptKey[]; readonly mounting: ReadonlySet<string> }> {
  const backup = await openBackup(path, passphrase, signal);
  const mounting = new Mounting();
  try {
    for await (const page of backup.pages) for (const entry of page) mounting.add(entry);
    return { keys: backup.keys, mounting: mounting.owners() };
  } finally {
    backup.close();
  }
}

/** Into an empty store: all of it, or nothing that a control plane would start on. */
export async function restoreBackup(order: RestoreOrder): Promise<Restored> {
  const { config, from, keysFrom, passphrase, signal } = order;
  const place = storePlace(config);
  if (!(await isEmptyStore(place)))
    throw new RecoveryError(
      'notEmpty',
      `there is a store already: ${placeName(place)}. Move it away, or name another data folder or prefix; nothing was changed.`,
    );
  const apart = keysFrom === undefined ? [] : (await surveyed(keysFrom, order)).keys;
  // To its end, before anything is written: only then is it known that nothing of it is missing.
  const { mounting } = await surveyed(from, order);
  const backup = await openBackup(from, passphrase, signal);
  try {
    requireStore(backup, from);
    const plan = planKeys(config, [...backup.keys, ...apart]);
    makeFolder(config.dataDir, '--data-dir');
    const nowMs = Date.now();
    const head = raisedHead(backup.revision, nowMs);
    const raise: Raise = { revision: backup.revision, head, nowMs };
    const noted: Noted = { nodes: [], platform: undefined };
    // Before the store: keys without one are found to be the same when this is run once more.
    writeKeys(plan);
    await writeWhole(place, head, raisedPages(backup, raise, noted, mounting));
    return {
      createdAt: backup.createdAt,
      revision: backup.revision,
      contents: backup.contents(),
      nodes: noted.nodes.map(({ name }) => name),
      told: plan.told,
    };
  } finally {
    backup.close();
  }
}
