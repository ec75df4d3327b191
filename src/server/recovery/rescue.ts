import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenId } from '../../core/model/ids.ts';
import { PLATFORM_SLUG, type TokenRecord } from '../../core/model/tenant.ts';
import { hashSecret, mintToken } from '../access/token.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { createIds } from '../ids.ts';
import { Journal } from '../journal/journal.ts';
import { StoreFormat } from '../store/format.ts';
import { VERSION } from '../version.ts';
import { globalKey } from '../store/keys.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { openKv } from '../store/open.ts';
import { decodeRecord } from '../store/records.ts';
import { Transaction } from '../store/transaction.ts';
import { RecoveryError } from './failure.ts';
import { localActor } from './restore.ts';
import { storePlace } from './store-place.ts';

const LIFETIME_MS = 24 * 60 * 60 * 1000;

export interface Rescued {
  readonly path: string;
  readonly id: string;
  readonly expiresAt: string;
}

function tokenKeyOf({ tokenKeyFile }: Config): Buffer {
  if (!existsSync(tokenKeyFile))
    throw new RecoveryError(
      'usage',
      `there is no ${tokenKeyFile}: tokens of this store are made by that key. Name the data folder of the control plane (--data-dir), or put the key back from a backup.`,
    );
  return Buffer.from(readFileSync(tokenKeyFile, 'utf8').trim(), 'hex');
}

/**
 * A platform administrator's token for whoever can read the keys and write the store of the control plane, which is all there is to prove.
 * It is good for a day, and the audit says where it came from. The embedded store has one process at a time: the control plane is stopped.
 */
export async function rescue(config: Config, to = join(config.dataDir, 'rescue-token')): Promise<Rescued> {
  const tokenKey = tokenKeyOf(config);
  const { config: store, dir, readFile } = storePlace(config);
  if (store.kind === 'sqlite' && !existsSync(dir))
    throw new RecoveryError('usage', `there is no store at ${dir}; name the data folder by --data-dir`);
  if (existsSync(to))
    throw new RecoveryError('notEmpty', `${to} exists already; remove it or name another by --to`);
  const { kv: opened, verify } = await openKv(store, dir, readFile);
  const format = new StoreFormat(VERSION);
  const kv = format.writing(opened);
  try {
    await verify();
    const platformKey = globalKey('tenant-slugs', PLATFORM_SLUG);
    const platform = await kv.get(platformKey);
    if (platform === undefined)
      throw new RecoveryError(
        'failed',
        'the store is empty: the control plane makes its first token itself when it is started',
      );
    await format.open(kv);
    const { tenantId } = decodeRecord<{ readonly tenantId: TenantId }>(platformKey, platform.value);
    const ids = createIds(systemClock, config.cell);
    const id = tokenId(ids.next('token').replace('_', ''));
    const { token, secret } = mintToken('pat', id);
    const now = systemClock.now();
    const expiresAt = new Date(now.getTime() + LIFETIME_MS).toISOString();
    const record: TokenRecord = {
      id,
      kind: 'pat',
      tenantId,
      role: 'platform-admin',
      name: 'made by berth server rescue',
      hash: hashSecret(tokenKey, secret),
      createdAt: now.toISOString(),
      createdBy: 'rescue',
      expiresAt,
    };
    const transaction = new Transaction(tenantId).putGlobal('tokens', id, record);
    const journal = new Journal(systemClock, ids);
    const actor = localActor('rescue');
    const subject = { kind: 'Token', name: id } as const;
    journal.audit(transaction, tenantId, actor, 'token.rescued', subject, { expiresAt });
    journal.event(transaction, tenantId, {
      kind: 'token.rescued',
      subject,
      message: `a platform administrator's token was made on ${actor.source}; it ends at ${expiresAt}`,
    });
    // Before the commit: a token that nobody has would otherwise be left.
    writeFileSync(to, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true });
    try {
      await kv.commit(transaction.toCommit());
    } catch (error) {
      rmSync(to, { force: true });
      throw error;
    }
    return { path: to, id, expiresAt };
  } finally {
    await kv.close();
  }
}
