import { errnoOf } from '../core/model/values.ts';
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TokenId, tokenId } from '../core/model/ids.ts';
import { PLATFORM_SLUG, type Tenant, type TokenRecord } from '../core/model/tenant.ts';
import { makeFolder } from '../shared/folders.ts';
import { BOOTSTRAP_TOKEN_ID } from './access/authenticate.ts';
import { hashSecret, matchesHash, mintToken } from './access/token.ts';
import type { Clock } from './clock.ts';
import { ConfigError } from './config-values.ts';
import type { Ids } from './ids.ts';
import type { Store } from './store/store.ts';
import { Transaction } from './store/transaction.ts';

const KEY_BYTES = 32;
const MIN_BOOTSTRAP_LENGTH = 32;

/** Whole or not at all, and never over another one: several processes may start at once on one file. */
function makeKey(path: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
}

/** Made on first start; a key that others can read is refused rather than used. */
export function readOrCreateKey(path: string): Buffer {
  if (!existsSync(path)) {
    makeFolder(dirname(path), 'keys.tokenKeyFile');
    makeKey(path);
  }
  if ((statSync(path).mode & 0o077) !== 0)
    throw new ConfigError(`${path} can be read by others; run: chmod 600 ${path}`);
  const text = readFileSync(path, 'utf8').trim();
  // Decoding alone stops at the first character that is not hex and would take a damaged key for a good one.
  if (text.length !== 2 * KEY_BYTES || !/^[0-9a-f]*$/i.test(text))
    throw new ConfigError(`${path} does not hold a key of ${KEY_BYTES} bytes in hex`);
  return Buffer.from(text, 'hex');
}

export interface BootstrapInput {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly tokenKey: Buffer;
  readonly dataDir: string;
  /** BERTH_BOOTSTRAP_TOKEN. */
  readonly bootstrapToken: string | undefined;
  /** Only paths are logged, never the token. */
  readonly say: (message: string) => void;
}

function platformTenant(
  { store, clock, ids }: BootstrapInput,
  transaction: (tenant: Tenant) => Transaction,
): Transaction | undefined {
  if (store.getGlobal('tenant-slugs', PLATFORM_SLUG) !== undefined) return undefined;
  const tenant: Tenant = {
    id: ids.tenant(),
    slug: PLATFORM_SLUG,
    name: 'Platform',
    createdAt: clock.now().toISOString(),
  };
  return transaction(tenant)
    .expectGlobal('tenant-slugs', PLATFORM_SLUG, undefined)
    .putGlobal('tenant-slugs', PLATFORM_SLUG, { tenantId: tenant.id })
    .putGlobal('tenants', tenant.id, tenant);
}

function firstToken(input: BootstrapInput): {
  readonly id: TokenId;
  readonly secret: string;
  readonly written?: string;
} {
  const given = input.bootstrapToken;
  if (given !== undefined) {
    if (given.length < MIN_BOOTSTRAP_LENGTH || /\s/.test(given)) {
      throw new ConfigError(
        `BERTH_BOOTSTRAP_TOKEN must have ${MIN_BOOTSTRAP_LENGTH} characters or more, without spaces`,
      );
    }
    return { id: tokenId(BOOTSTRAP_TOKEN_ID), secret: given };
  }
  const id = tokenId(input.ids.next('token').replace('_', ''));
  const { token, secret } = mintToken('pat', id);
  return { id, secret, written: token };
}

/** The platform tenant and one platform administrator, once per store; safe when several processes start at once. */
export async function bootstrap(input: BootstrapInput): Promise<void> {
  const { store, clock, tokenKey } = input;
  const first = firstToken(input);
  const record = (tenant: Tenant): TokenRecord => ({
    id: first.id,
    kind: 'pat',
    tenantId: tenant.id,
    role: 'platform-admin',
    name: 'first platform administrator',
    hash: hashSecret(tokenKey, first.secret),
    createdAt: clock.now().toISOString(),
    createdBy: 'system',
  });
  const transaction = platformTenant(input, (tenant) =>
    new Transaction(tenant.id).putGlobal('tokens', first.id, record(tenant)),
  );
  if (transaction === undefined) {
    await replaceBootstrapToken(input);
    return;
  }
  const path = join(input.dataDir, 'admin-token');
  // Before the commit: a process that ends in between would otherwise leave a platform without a valid token.
  if (first.written !== undefined) writeToken(path, first.written);
  const result = await store.commit(transaction);
  if (first.written === undefined) return;
  if (result.ok) input.say(`the first administrator's token is in ${path}`);
  else rmSync(path);
}

function writeToken(path: string, token: string): void {
  makeFolder(dirname(path), '--data-dir');
  rmSync(path, { force: true });
  writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx' });
}

/** A changed BERTH_BOOTSTRAP_TOKEN takes the place of the old one; a revoked one does not come back by a restart. */
async function replaceBootstrapToken({
  store,
  clock,
  tokenKey,
  bootstrapToken,
  say,
}: BootstrapInput): Promise<void> {
  if (bootstrapToken === undefined) return;
  const stored = store.getGlobal('tokens', BOOTSTRAP_TOKEN_ID);
  if (stored !== undefined && matchesHash(tokenKey, bootstrapToken, stored.record.hash)) return;
  const tenantId = store.getGlobal('tenant-slugs', PLATFORM_SLUG)?.record.tenantId;
  if (tenantId === undefined) return;
  const record: TokenRecord = {
    id: tokenId(BOOTSTRAP_TOKEN_ID),
    kind: 'pat',
    tenantId,
    role: 'platform-admin',
    name: 'platform administrator from BERTH_BOOTSTRAP_TOKEN',
    hash: hashSecret(tokenKey, bootstrapToken),
    createdAt: clock.now().toISOString(),
    createdBy: 'system',
  };
  const transaction = new Transaction(tenantId)
    .expectGlobal('tokens', BOOTSTRAP_TOKEN_ID, stored)
    .putGlobal('tokens', BOOTSTRAP_TOKEN_ID, record);
  if ((await store.commit(transaction)).ok) say('the token of BERTH_BOOTSTRAP_TOKEN was taken over');
}
