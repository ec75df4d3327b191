import type { TenantId } from '../../../core/model/ids.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import type { Commit, Guard, Kv, Put } from '../../store/kv.ts';
import { headKey, versionKey } from '../embedded-keys.ts';
import type { SecretConflict, SecretValues } from '../port.ts';
import { type DocumentHead, openHead, sealHead, sealVersion } from './documents.ts';
import type { RootKeys } from './root-keys.ts';
import { newTenantKey, readTenantKey, type TenantKey } from './tenant-key.ts';

export interface PlannedWrite {
  readonly path: SecretPath;
  readonly values: SecretValues;
  /** As in `WriteOptions`. */
  readonly expectedVersion?: number;
}

export interface PlannedResult {
  readonly path: SecretPath;
  readonly version: number;
  readonly keys: readonly string[];
}

/** To be joined into the caller's commit: material and record are stored together or not at all. */
export interface WritePlan {
  readonly ok: true;
  readonly parts: Required<Pick<Commit, 'guards' | 'puts' | 'deletes'>>;
  readonly written: readonly PlannedResult[];
}

export interface PlanContext {
  readonly kv: Kv;
  readonly roots: RootKeys;
  readonly keepVersions: number;
  readonly now: () => Date;
}

/**
 * Plans the new versions of several documents of one tenant. They are planned together because the first of them may also
 * create the tenant's key. A path listed twice is a fault of the caller: both would become the same version.
 */
export async function planWrites(
  context: PlanContext,
  tenant: TenantId,
  writes: readonly PlannedWrite[],
): Promise<WritePlan | SecretConflict> {
  const paths = new Set(writes.map((write) => secretPathText(write.path)));
  if (paths.size !== writes.length) throw new TypeError('a plan writes the same secret document twice');
  const held =
    (await readTenantKey(context.kv, tenant, context.roots)) ?? newTenantKey(tenant, context.roots);
  const guards: Guard[] = [held.guard];
  const puts: Put[] = held.put === undefined ? [] : [held.put];
  const deletes: string[] = [];
  const written: PlannedResult[] = [];
  for (const write of writes) {
    const planned = await planOne(context, tenant, held.tenantKey, write);
    if ('reason' in planned) return planned;
    guards.push(planned.guard);
    puts.push(...planned.puts);
    deletes.push(...planned.deletes);
    written.push(planned.result);
  }
  return { ok: true, parts: { guards, puts, deletes }, written };
}

interface PlannedOne {
  readonly guard: Guard;
  readonly puts: readonly Put[];
  readonly deletes: readonly string[];
  readonly result: PlannedResult;
}

async function planOne(
  context: PlanContext,
  tenant: TenantId,
  tenantKey: TenantKey,
  write: PlannedWrite,
): Promise<PlannedOne | SecretConflict> {
  const { path, values, expectedVersion } = write;
  const key = headKey(tenant, path);
  const entry = await context.kv.get(key);
  const head = entry && openHead(entry.value, tenantKey, tenant, path);
  const stored = head?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== stored) {
    const message = `${secretPathText(path)} is at version ${stored}, not ${expectedVersion}`;
    return { ok: false, reason: 'conflict', message };
  }
  const version = stored + 1;
  const createdAt = context.now().toISOString();
  const versions = [...(head?.versions ?? []), { version, createdAt }];
  const dropped = versions.splice(0, Math.max(0, versions.length - context.keepVersions));
  const keys = [...values.keys()].sort();
  const next: DocumentHead = { version, createdAt: head?.createdAt ?? createdAt, keys, versions };
  return {
    guard: { key, modRevision: entry?.modRevision ?? 0 },
    puts: [
      { key, value: sealHead(next, tenantKey, tenant, path) },
      {
        key: versionKey(tenant, path, version),
        value: sealVersion(values, createdAt, tenantKey, tenant, path, version),
      },
    ],
    deletes: dropped.map((old) => versionKey(tenant, path, old.version)),
    result: { path, version, keys },
  };
}
