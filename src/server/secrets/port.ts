import type { TenantId } from '../../core/model/ids.ts';
import type { SecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';

/**
 * The secrets port. Documents of key → value, versioned as in KV v2, inside one mount per tenant. What the store refuses or
 * cannot do is a value; messages name paths and keys, never material.
 */

/**
 * `denied` and `unusable` need the operator and stay until then; `sealed` and `unavailable` may pass;
 * `too_large` is the document's.
 */
export type SecretFailureReason = 'denied' | 'missing' | 'sealed' | 'unavailable' | 'unusable' | 'too_large';

export interface SecretFailure {
  readonly ok: false;
  readonly reason: SecretFailureReason;
  readonly message: string;
  /** Of a document that was there and cannot be read any more (deleted, destroyed, not text): what a write has to expect. */
  readonly currentVersion?: number;
}

/** Check-and-set failed: the document is at another version than the caller expected. */
export interface SecretConflict {
  readonly ok: false;
  readonly reason: 'conflict';
  readonly message: string;
}

export type SecretValues = ReadonlyMap<string, SecretValue>;

export interface SecretWriteOptions {
  /** The version the caller read; 0 = the document must not exist. Absent = whatever is there is replaced. */
  readonly expectedVersion?: number;
}

export interface WrittenSecret {
  readonly ok: true;
  readonly version: number;
  readonly keys: readonly string[];
}

export interface SecretDocument {
  readonly ok: true;
  readonly version: number;
  readonly createdAt: string;
  readonly values: SecretValues;
}

export interface SecretVersion {
  readonly version: number;
  readonly createdAt: string;
}

/**
 * Of a document that does not exist, only `exists: false` is said, and the version that a write has to expect where one was there
 * before. `versions` are those still readable, oldest first.
 */
export type SecretMetadata =
  | { readonly ok: true; readonly exists: false; readonly currentVersion?: number }
  | {
      readonly ok: true;
      readonly exists: true;
      readonly keys: readonly string[];
      readonly version: number;
      readonly createdAt: string;
      readonly versions: readonly SecretVersion[];
      /** How many versions of this document the store keeps, where that is set; absent: the default. */
      readonly keeps?: number;
    };

export interface DescribedSecret {
  readonly keys: readonly string[];
  readonly version: number;
}

export interface DescribedSecrets {
  readonly ok: true;
  readonly documents: ReadonlyMap<string, DescribedSecret>;
  /** Labels whose path alone the store refuses, with its reason. */
  readonly denied?: ReadonlyMap<string, SecretFailure>;
}

export interface SecretList {
  readonly ok: true;
  /** Labels in order. */
  readonly labels: readonly string[];
}

export interface SecretsDone {
  readonly ok: true;
}

export interface SecretsStatus {
  readonly kind: 'embedded' | 'vault';
  /** From a real call, not from a flag set at start. */
  readonly connected: boolean;
  readonly sealed: boolean;
  /** Why operations fail now, for an operator. */
  readonly problem?: string;
}

export interface SecretsStore {
  readonly kind: SecretsStatus['kind'];
  /** How long one request waits for everything that it asks of the store. */
  readonly patienceMs: number;
  /** Replaces the document whole with a new version. */
  write(
    tenant: TenantId,
    path: SecretPath,
    values: SecretValues,
    options?: SecretWriteOptions,
  ): Promise<WrittenSecret | SecretConflict | SecretFailure>;
  /** Without a version: the newest. */
  read(tenant: TenantId, path: SecretPath, version?: number): Promise<SecretDocument | SecretFailure>;
  metadata(tenant: TenantId, path: SecretPath): Promise<SecretMetadata | SecretFailure>;
  /** Metadata of many documents of one namespace at once, by label; a label without a document is left out. */
  describe(
    tenant: TenantId,
    namespace: string,
    labels: readonly string[],
  ): Promise<DescribedSecrets | SecretFailure>;
  list(tenant: TenantId, namespace: string): Promise<SecretList | SecretFailure>;
  /** Every version and the metadata. Removing what is not there succeeds. */
  remove(tenant: TenantId, path: SecretPath): Promise<SecretsDone | SecretFailure>;
  /** Everything of the tenant, beyond recovery. */
  destroyTenant(tenant: TenantId): Promise<SecretsDone | SecretFailure>;
  /** Never throws. */
  status(): Promise<SecretsStatus>;
  close(): Promise<void>;
}

export function failure(reason: SecretFailureReason, message: string): SecretFailure {
  return { ok: false, reason, message };
}

/** Segments become parts of keys and URLs: what could be read as more than one segment, or as another, is a fault of the caller. */
export function assertSegment(segment: string): void {
  if (segment === '' || segment === '.' || segment === '..' || /[/\\\p{Cc}]/u.test(segment)) {
    throw new TypeError(
      'a secret path segment is empty, a dot element, or holds a separator or control character',
    );
  }
  if (!segment.isWellFormed()) throw new TypeError('a secret path segment has no UTF-8 form');
}
