import { isRecord, recordOf } from '../../../core/model/values.ts';
import { createSecretKey, randomBytes } from 'node:crypto';
import type { TenantId } from '../../../core/model/ids.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import type { SecretValues } from '../port.ts';
import { type Binding, KEY_BYTES, open, seal, SecretIntegrityError } from './envelope.ts';
import type { TenantKey } from './tenant-key.ts';

const FORMAT = 1;

export interface HeadVersion {
  readonly version: number;
  readonly createdAt: string;
}

/** What is known of a document without its values. Sealed as a whole, so that a changed byte is noticed here too. */
export interface DocumentHead {
  readonly version: number;
  readonly createdAt: string;
  readonly keys: readonly string[];
  /** The versions kept, oldest first. */
  readonly versions: readonly HeadVersion[];
}

interface SealedHead {
  readonly format: number;
  readonly keyId: string;
  readonly sealed: string;
}

/** One version: its own data key, wrapped by the tenant key, seals the values. */
interface SealedVersion {
  readonly format: number;
  readonly keyId: string;
  readonly dataKey: string;
  readonly sealed: string;
}

/** As sealed; pairs and not an object, so that no key name has a meaning of its own. */
interface VersionContent {
  readonly createdAt: string;
  readonly values: readonly (readonly [string, string])[];
}

function bind(what: string, tenant: TenantId, path: SecretPath, version: number): Binding {
  return [what, FORMAT, tenant, path.namespace, path.label, version];
}

export function sealHead(
  head: DocumentHead,
  tenantKey: TenantKey,
  tenant: TenantId,
  path: SecretPath,
): string {
  const sealed = seal(tenantKey.key, Buffer.from(JSON.stringify(head)), bind('head', tenant, path, 0));
  const record: SealedHead = { format: FORMAT, keyId: tenantKey.id, sealed };
  return JSON.stringify(record);
}

export function openHead(
  text: string,
  tenantKey: TenantKey,
  tenant: TenantId,
  path: SecretPath,
): DocumentHead {
  const { sealed } = parseRecord(text, tenantKey, path, ['sealed']);
  return contentOf(open(tenantKey.key, sealed, bind('head', tenant, path, 0)));
}

export function sealVersion(
  values: SecretValues,
  createdAt: string,
  tenantKey: TenantKey,
  tenant: TenantId,
  path: SecretPath,
  version: number,
): string {
  const bytes = randomBytes(KEY_BYTES);
  const content: VersionContent = {
    createdAt,
    values: [...values].map(([key, value]) => [key, value.reveal()] as const),
  };
  const plaintext = Buffer.from(JSON.stringify(content), 'utf8');
  try {
    const record: SealedVersion = {
      format: FORMAT,
      keyId: tenantKey.id,
      dataKey: seal(tenantKey.key, bytes, bind('data-key', tenant, path, version)),
      sealed: seal(createSecretKey(bytes), plaintext, bind('version', tenant, path, version)),
    };
    return JSON.stringify(record);
  } finally {
    bytes.fill(0);
    plaintext.fill(0);
  }
}

export function openVersion(
  text: string,
  tenantKey: TenantKey,
  tenant: TenantId,
  path: SecretPath,
  version: number,
): { readonly createdAt: string; readonly values: SecretValues } {
  const record = parseRecord(text, tenantKey, path, ['dataKey', 'sealed']);
  const bytes = open(tenantKey.key, record.dataKey, bind('data-key', tenant, path, version));
  const dataKey = createSecretKey(bytes);
  bytes.fill(0);
  const plaintext = open(dataKey, record.sealed, bind('version', tenant, path, version));
  try {
    const content = contentOf<VersionContent>(plaintext);
    const values = new Map(content.values.map(([key, value]) => [key, new SecretValue(value)]));
    return { createdAt: content.createdAt, values };
  } finally {
    plaintext.fill(0);
  }
}

/** What opens was sealed here for this very place: it is what `sealHead` or `sealVersion` wrote. */
function contentOf<T extends DocumentHead | VersionContent>(plaintext: Buffer): T {
  return JSON.parse(plaintext.toString('utf8')) as T;
}

/** The header in clear: format and key id are checked before anything is opened. */
function parseRecord<Field extends string>(
  text: string,
  tenantKey: TenantKey,
  path: SecretPath,
  fields: readonly Field[],
): Record<Field, string> {
  const where = `the stored document ${secretPathText(path)}`;
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch (cause) {
    throw new SecretIntegrityError(`${where} is unreadable`, { cause });
  }
  if (!isRecord(record) || record['format'] !== FORMAT) {
    throw new SecretIntegrityError(`${where} has an unknown format`);
  }
  if (record['keyId'] !== tenantKey.id) {
    throw new SecretIntegrityError(`${where} was sealed by another tenant key`);
  }
  const said = record;
  return recordOf(fields, (field) => {
    const value = said[field];
    if (typeof value !== 'string') throw new SecretIntegrityError(`${where} is incomplete`);
    return value;
  });
}
