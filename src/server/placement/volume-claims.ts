import { canonicalJson } from '../../core/model/canonical.ts';
import type { VolumeMount, Workload } from '../../core/model/deployment.ts';
import {
  type DeploymentName,
  type JobName,
  describeOwner,
  type OwnerName,
  ownerOf,
} from '../../core/model/owner.ts';
import type { VolumeClaims } from '../../core/model/volume.ts';
import type { VolumeBinding } from '../../core/plan/volumes/volume-facts.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

type Mounting = Pick<Workload, 'volumes' | 'placement'> | undefined;

/** More would not fit into one commit of etcd; claims of further ones are guarded by the record of claims alone. */
const MAX_GUARDED_CLAIMANTS = 32;

function claimed(
  claims: VolumeClaims | undefined,
  owner: OwnerName,
  mount: VolumeMount | undefined,
): VolumeClaims {
  const readers = (claims?.readers ?? []).filter((name) => name !== owner);
  const writer = claims?.writer === owner ? undefined : claims?.writer;
  if (mount === undefined) return { ...(writer !== undefined && { writer }), readers };
  if (!mount.readOnly) return { writer: owner, readers };
  return { ...(writer !== undefined && { writer }), readers: [...readers, owner].sort() };
}

/**
 * Adds the claims of a spec to the transaction that stores it, and releases those of the spec it replaces. Guarded by the claims and,
 * for a new mount, by the volume as they were read: of two writers, or of a mount and a deletion, one is decided again.
 */
export function claimVolumes(
  tenant: TenantStore,
  owner: OwnerName,
  specs: { readonly before: Mounting; readonly after: Mounting },
  transaction: Transaction,
): void {
  if (specs.before?.volumes === undefined && specs.after?.volumes === undefined) return;
  const after = new Map(specs.after?.volumes?.map((mount) => [mount.volumeId, mount]));
  const before = specs.before?.volumes?.map(({ volumeId }) => volumeId) ?? [];
  for (const volumeId of new Set([...before, ...after.keys()])) {
    const id = idOf('volume-claims', volumeId);
    const stored = tenant.get('volume-claims', id);
    const mount = after.get(volumeId);
    if (mount !== undefined && bindsAnew(specs, volumeId))
      guardResidency(tenant, owner, volumeId, transaction);
    const next = claimed(stored?.record, owner, mount);
    if (stored !== undefined && canonicalJson(next) === canonicalJson(stored.record)) continue;
    if (mount !== undefined) transaction.expect('volumes', id, tenant.get('volumes', id));
    else if (stored === undefined) continue;
    transaction.expect('volume-claims', id, stored);
    if (next.writer === undefined && next.readers.length === 0) transaction.delete('volume-claims', id);
    else transaction.put('volume-claims', id, next);
  }
}

function bindsAnew({ before, after }: { before: Mounting; after: Mounting }, volumeId: string): boolean {
  const mounted = before?.volumes?.some((mount) => mount.volumeId === volumeId) ?? false;
  const [was, is] = [before, after].map((spec) => canonicalJson(spec?.placement?.residency ?? null));
  return !mounted || was !== is;
}

/** Whose residency excludes whose copy was judged on these: of two writes that exclude each other's, the second is decided again. */
function guardResidency(
  tenant: TenantStore,
  owner: OwnerName,
  volumeId: string,
  transaction: Transaction,
): void {
  const id = idOf('volumes', volumeId);
  transaction
    .expect('volumes', id, tenant.get('volumes', id))
    .expect('volume-claims', id, tenant.get('volume-claims', id));
  const others = claimants(tenant, volumeId).filter((name) => name !== owner);
  for (const other of others.slice(0, MAX_GUARDED_CLAIMANTS)) {
    const { kind, name } = ownerOf(other);
    if (kind === 'job') transaction.expect('jobs', idOf('jobs', name), jobOf(tenant, name));
    else transaction.expect('deployments', idOf('deployments', name), deploymentOf(tenant, name));
  }
}

function jobOf(tenant: TenantStore, name: JobName) {
  return tenant.get('jobs', idOf('jobs', name));
}

function deploymentOf(tenant: TenantStore, name: DeploymentName) {
  return tenant.get('deployments', idOf('deployments', name));
}

/** Who writes to the volume, if it is another one; for people. */
export function otherWriter(tenant: TenantStore, volumeId: string, owner: OwnerName): string | undefined {
  const writer = tenant.get('volume-claims', idOf('volume-claims', volumeId))?.record.writer;
  return writer === undefined || writer === owner ? undefined : describeOwner(writer);
}

/** Who mounts the volume, in either way. */
export function claimants(tenant: TenantStore, volumeId: string): readonly OwnerName[] {
  const claims = tenant.get('volume-claims', idOf('volume-claims', volumeId))?.record;
  return [...(claims?.writer === undefined ? [] : [claims.writer]), ...(claims?.readers ?? [])];
}

/** The residencies of everything that mounts the volume; of what runs, each one binds where its bytes may be. */
export function bindingsOf(tenant: TenantStore, volumeId: string): readonly VolumeBinding[] {
  const writer = tenant.get('volume-claims', idOf('volume-claims', volumeId))?.record.writer;
  return claimants(tenant, volumeId).flatMap((owner): readonly VolumeBinding[] => {
    const { kind, name } = ownerOf(owner);
    const deployment = kind === 'deployment' ? deploymentOf(tenant, name)?.record.spec : undefined;
    const spec = kind === 'job' ? jobOf(tenant, name)?.record.spec : deployment;
    const residency = spec?.placement?.residency;
    if (residency === undefined) return [];
    const active = deployment === undefined || deployment.replicas > 0;
    return [{ owner: describeOwner(owner), writes: owner === writer, active, residency }];
  });
}
