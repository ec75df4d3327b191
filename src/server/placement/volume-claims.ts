import { canonicalJson } from '../../core/model/canonical.ts';
import type { DeploymentSpec, Residency, VolumeMount } from '../../core/model/deployment.ts';
import { jobOfOwner } from '../../core/model/job.ts';
import type { VolumeClaims } from '../../core/model/volume.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

type Mounting = Pick<DeploymentSpec, 'volumes'> | undefined;

function claimed(
  claims: VolumeClaims | undefined,
  deployment: string,
  mount: VolumeMount | undefined,
): VolumeClaims {
  const readers = (claims?.readers ?? []).filter((name) => name !== deployment);
  const writer = claims?.writer === deployment ? undefined : claims?.writer;
  if (mount === undefined) return { ...(writer !== undefined && { writer }), readers };
  if (!mount.readOnly) return { writer: deployment, readers };
  return { ...(writer !== undefined && { writer }), readers: [...readers, deployment].sort() };
}

/**
 * Adds the claims of a spec to the transaction that stores it, and releases those of the spec it replaces. Guarded by the claims and,
 * for a new mount, by the volume as they were read: of two writers, or of a mount and a deletion, one is decided again.
 */
export function claimVolumes(
  tenant: TenantStore,
  deployment: string,
  specs: { readonly before: Mounting; readonly after: Mounting },
  transaction: Transaction,
): void {
  const after = new Map(specs.after?.volumes?.map((mount) => [mount.volumeId, mount]));
  const before = specs.before?.volumes?.map(({ volumeId }) => volumeId) ?? [];
  for (const volumeId of new Set([...before, ...after.keys()])) {
    const id = joinId(volumeId);
    const stored = tenant.get('volume-claims', id);
    const mount = after.get(volumeId);
    const next = claimed(stored?.record, deployment, mount);
    if (stored !== undefined && canonicalJson(next) === canonicalJson(stored.record)) continue;
    if (mount !== undefined) transaction.expect('volumes', id, tenant.get('volumes', id));
    else if (stored === undefined) continue;
    transaction.expect('volume-claims', id, stored);
    if (next.writer === undefined && next.readers.length === 0) transaction.delete('volume-claims', id);
    else transaction.put('volume-claims', id, next);
  }
}

/** Who writes to the volume, if it is another one than this deployment or job's owner; in words. */
export function otherWriter(tenant: TenantStore, volumeId: string, deployment: string): string | undefined {
  const writer = tenant.get('volume-claims', joinId(volumeId))?.record.writer;
  if (writer === undefined || writer === deployment) return undefined;
  const job = jobOfOwner(writer);
  return job === undefined ? writer : `the job ${job}`;
}

/** Who mounts the volume, in either way. */
export function claimants(tenant: TenantStore, volumeId: string): readonly string[] {
  const claims = tenant.get('volume-claims', joinId(volumeId))?.record;
  return [...(claims?.writer === undefined ? [] : [claims.writer]), ...(claims?.readers ?? [])];
}

/** Of everything that mounts the volume; each one binds where its bytes may be. */
export function bindingResidencies(tenant: TenantStore, volumeId: string): readonly Residency[] {
  return claimants(tenant, volumeId).flatMap((name) => {
    const job = jobOfOwner(name);
    const spec =
      job === undefined
        ? tenant.get('deployments', joinId(name))?.record.spec
        : tenant.get('jobs', joinId(job))?.record.spec;
    return spec?.placement?.residency ?? [];
  });
}
