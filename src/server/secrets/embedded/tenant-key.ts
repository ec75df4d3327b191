import { parsedRecord } from '../../../core/model/values.ts';
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { TenantId } from '../../../core/model/ids.ts';
import type { Guard, Kv, Put } from '../../store/kv.ts';
import { tenantKeyKey } from '../embedded-keys.ts';
import { KEY_BYTES, open, seal, SecretIntegrityError } from './envelope.ts';
import type { RootKey, RootKeys } from './root-keys.ts';

const FORMAT = 1;

/** The root key needed is not loaded. */
export class SecretsSealedError extends Error {
  override readonly name = 'SecretsSealedError';
}

export interface TenantKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** As stored: the tenant key wrapped by a root key. */
interface WrappedTenantKey {
  readonly format: number;
  readonly id: string;
  readonly rootKeyId: string;
  readonly wrapped: string;
}

export interface HeldTenantKey {
  readonly tenantKey: TenantKey;
  /** Makes a write fail when the tenant's key was destroyed or replaced meanwhile. */
  readonly guard: Guard;
  /** Of one that is to be made. */
  readonly put?: Put;
}

function binding(tenant: TenantId, id: string, rootKeyId: string): readonly (string | number)[] {
  return ['tenant-key', FORMAT, tenant, id, rootKeyId];
}

export function unsealed(roots: RootKeys): Extract<RootKeys, { sealed: false }> {
  if (roots.sealed) throw new SecretsSealedError(roots.problem);
  return roots;
}

function parseWrapped(text: string, tenant: TenantId): WrappedTenantKey {
  try {
    const { format, id, rootKeyId, wrapped } = parsedRecord(text);
    if (
      format === FORMAT &&
      typeof id === 'string' &&
      typeof rootKeyId === 'string' &&
      typeof wrapped === 'string'
    ) {
      return { format, id, rootKeyId, wrapped };
    }
  } catch (cause) {
    throw new SecretIntegrityError(`the key record of tenant ${tenant} is unreadable`, { cause });
  }
  throw new SecretIntegrityError(`the key record of tenant ${tenant} is unreadable`);
}

function unwrap(record: WrappedTenantKey, tenant: TenantId, roots: RootKeys): TenantKey {
  const { active, retired } = unsealed(roots);
  const root = [active, ...retired].find((candidate) => candidate.id === record.rootKeyId);
  if (root === undefined) {
    throw new SecretsSealedError(
      `the key of tenant ${tenant} is wrapped by the root key ${record.rootKeyId}, which is not loaded`,
    );
  }
  const bytes = open(root.key, record.wrapped, binding(tenant, record.id, root.id));
  try {
    return { id: record.id, key: createSecretKey(bytes) };
  } finally {
    bytes.fill(0);
  }
}

function wrap(tenantKey: TenantKey, tenant: TenantId, root: RootKey): string {
  const bytes = tenantKey.key.export();
  try {
    const wrapped = seal(root.key, bytes, binding(tenant, tenantKey.id, root.id));
    const record: WrappedTenantKey = { format: FORMAT, id: tenantKey.id, rootKeyId: root.id, wrapped };
    return JSON.stringify(record);
  } finally {
    bytes.fill(0);
  }
}

/** Undefined: the tenant has no key, therefore no documents. */
export async function readTenantKey(
  kv: Kv,
  tenant: TenantId,
  roots: RootKeys,
): Promise<HeldTenantKey | undefined> {
  unsealed(roots);
  const key = tenantKeyKey(tenant);
  const entry = await kv.get(key);
  if (entry === undefined) return undefined;
  const tenantKey = unwrap(parseWrapped(entry.value, tenant), tenant, roots);
  return { tenantKey, guard: { key, modRevision: entry.modRevision } };
}

/** A new key, to be stored in the commit of the first document; the guard lets one of several first writers win. */
export function newTenantKey(tenant: TenantId, roots: RootKeys): HeldTenantKey & { readonly put: Put } {
  const bytes = randomBytes(KEY_BYTES);
  const tenantKey: TenantKey = { id: randomBytes(8).toString('hex'), key: createSecretKey(bytes) };
  bytes.fill(0);
  const key = tenantKeyKey(tenant);
  const value = wrap(tenantKey, tenant, unsealed(roots).active);
  return { tenantKey, guard: { key, modRevision: 0 }, put: { key, value } };
}

export type RewrapOutcome = 'rewrapped' | 'current' | 'absent' | 'conflict';

/** Rewraps the tenant key by the active root key; documents are not touched. */
export async function rewrapTenantKey(kv: Kv, tenant: TenantId, roots: RootKeys): Promise<RewrapOutcome> {
  const { active } = unsealed(roots);
  const key = tenantKeyKey(tenant);
  const entry = await kv.get(key);
  if (entry === undefined) return 'absent';
  const record = parseWrapped(entry.value, tenant);
  if (record.rootKeyId === active.id) return 'current';
  const value = wrap(unwrap(record, tenant, roots), tenant, active);
  const result = await kv.commit({
    guards: [{ key, modRevision: entry.modRevision }],
    puts: [{ key, value }],
  });
  return result.ok ? 'rewrapped' : 'conflict';
}
