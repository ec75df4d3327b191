import type { TenantId } from '../../core/model/ids.ts';
import type { SecretPath } from '../../core/model/secret-path.ts';
import { coldKey } from '../store/keys.ts';
import { prefixOf, segmentsOf } from '../store/record-ids.ts';
import { assertSegment } from './port.ts';

/** Wide enough for every safe integer, so that versions sort as numbers. */
const VERSION_DIGITS = 16;

function segment(text: string): string {
  assertSegment(text);
  return text;
}

/** Tenant ids are ours, but a key that left its tenant's range would be the worst of mistakes. */
function checked(tenant: TenantId): TenantId {
  assertSegment(tenant);
  return tenant;
}

export function tenantKeyKey(tenant: TenantId): string {
  return coldKey(checked(tenant), 'secret-key', 'current');
}

/** Heads and versions of all documents of the tenant. */
export function documentsPrefix(tenant: TenantId): string {
  return coldKey(checked(tenant), 'secret-docs', '');
}

export function headPrefix(tenant: TenantId, namespace: string): string {
  return `${documentsPrefix(tenant)}${prefixOf('secret-docs', 'head', segment(namespace))}/`;
}

export function headKey(tenant: TenantId, path: SecretPath): string {
  const id = prefixOf('secret-docs', 'head', segment(path.namespace), segment(path.label));
  return documentsPrefix(tenant) + id;
}

/** The label that a head key ends in. */
export function headLabel(tenant: TenantId, key: string): string {
  return segmentsOf('secret-docs', key.slice(documentsPrefix(tenant).length))[2];
}

export function versionPrefix(tenant: TenantId, path: SecretPath): string {
  const id = prefixOf('secret-docs', 'version', segment(path.namespace), segment(path.label));
  return `${documentsPrefix(tenant)}${id}/`;
}

export function versionKey(tenant: TenantId, path: SecretPath, version: number): string {
  return `${versionPrefix(tenant, path)}${String(version).padStart(VERSION_DIGITS, '0')}`;
}
