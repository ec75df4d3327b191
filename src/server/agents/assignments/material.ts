import type { CredentialRecord } from '../../../core/model/credential.ts';
import type { Workload, RotationState } from '../../../core/model/deployment.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { ownerOf } from '../../../core/model/owner.ts';
import type { SecretPolicy } from '../../../core/model/secret-limits.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../../core/model/secret-path.ts';
import { isSpent, strictestAnchor, writtenCredential } from '../../../core/secrets/credentials.ts';
import { pinsByPath } from '../../../core/secrets/rotation.ts';
import type { Journal } from '../../journal/journal.ts';
import { credentialRecord, rotationConsumers } from '../../secrets/credential-holders.ts';
import { credentialId, credentialOf, type CredentialWrites } from '../../secrets/credential-writes.ts';
import type { SecretsStore } from '../../secrets/port.ts';
import type { SecretReferences } from '../../secrets/references.ts';
import { type ResolvedEnvironment, resolveEnvironment } from '../../secrets/resolve.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

export interface MaterialOptions {
  readonly secrets: SecretsStore;
  readonly references: SecretReferences;
  readonly writes: CredentialWrites;
  readonly policy: SecretPolicy;
  readonly journal: Journal;
}

interface Held {
  readonly path: SecretPath;
  readonly stored: Stored<CredentialRecord> | undefined;
  readonly record: CredentialRecord;
}

/** A rotation that moves meanwhile makes the answer outdated. */
const MAX_ATTEMPTS = 8;

/**
 * What the container of an instance is given, once it is recorded that it has it: a rotation that ends meanwhile would
 * otherwise not know of this holder.
 */
export async function deliverMaterial(
  options: MaterialOptions,
  tenant: TenantStore,
  instance: Stored<InstanceRecord>,
  spec: Workload,
): Promise<ResolvedEnvironment> {
  const { secrets, policy } = options;
  const renewed = new Set<string>();
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const rotation = rotationOf(tenant, instance.record);
    const held = heldBy(options, tenant, spec);
    const resolved = await resolveEnvironment(secrets, tenant.tenantId, spec, {
      rotation,
      namespaces: policy.namespaces,
      credential: (path) => held.get(secretPathText(path))?.record,
    });
    if (!resolved.ok || held.size === 0) return resolved;
    const spent = spentOf(options, tenant, instance, held, resolved, renewed);
    if (spent !== undefined) {
      const failed = await renew(options, tenant, instance, spent);
      if (failed !== undefined) return failed;
      renewed.add(secretPathText(spent.path));
      continue;
    }
    if (await recorded(tenant, instance, held, resolved)) return resolved;
    if (tenant.get('instances', instance.id)?.modRevision !== instance.modRevision) break;
  }
  return { ok: false, reason: 'unavailable', message: 'the credentials changed meanwhile; ask again' };
}

/** Of a deployment, the phase that it stands in; of a job's run that a rotation asked for, the versions of that rotation. */
function rotationOf(tenant: TenantStore, { deployment, once }: InstanceRecord): RotationState | undefined {
  const { kind, name } = ownerOf(deployment);
  if (kind === 'deployment') {
    const record = tenant.get('deployments', idOf('deployments', name))?.record;
    // A canary beside it takes part in what the deployment itself reads, and in nothing else.
    return record && { secrets: Object.fromEntries(pinsByPath(record.rotation, record.spec.secrets)) };
  }
  const runs = tenant.get('job-status', idOf('job-status', name))?.record.runs ?? [];
  const hook = runs.find(({ id }) => id === once?.runId)?.hook;
  if (hook === undefined) return undefined;
  return { secrets: { [hook.path]: { current: hook.current, previous: hook.previous } } };
}

function heldBy(
  { references }: MaterialOptions,
  tenant: TenantStore,
  spec: Workload,
): ReadonlyMap<string, Held> {
  return new Map(
    spec.secrets.flatMap(({ vault_path }) => {
      const path = splitSecretPath(vault_path);
      if (path === undefined) return [];
      const stored = credentialOf(tenant, path);
      const record = credentialRecord(references, tenant, path, stored?.record);
      return [[vault_path, { path, stored, record }] as const];
    }),
  );
}

type Resolved = Extract<ResolvedEnvironment, { readonly ok: true }>;

function isApart({ versions }: Resolved, text: string): boolean {
  return versions[text]?.next === undefined && versions[text]?.previous === undefined;
}

/** A holder that takes no part in a rotation touches the credential, so that a phase decided without it fails. */
async function recorded(
  tenant: TenantStore,
  instance: Stored<InstanceRecord>,
  held: ReadonlyMap<string, Held>,
  resolved: Resolved,
): Promise<boolean> {
  const transaction = tenant.transaction().expect('instances', instance.id, instance);
  for (const [text, { path, stored, record }] of held) {
    transaction.expect('credentials', credentialId(path), stored);
    const current = resolved.versions[text]?.current;
    if (current === undefined || !isApart(resolved, text)) continue;
    const isFirst = record.minted !== undefined && record.handed !== current && record.current === current;
    if (record.rotation !== undefined || isFirst)
      transaction.put('credentials', credentialId(path), isFirst ? { ...record, handed: current } : record);
  }
  transaction.put('secret-deliveries', instance.id, { versions: resolved.versions });
  return (await tenant.commit(transaction)).ok;
}

/** A credential whose generated material has no holder left. */
function spentOf(
  { references }: MaterialOptions,
  tenant: TenantStore,
  instance: Stored<InstanceRecord>,
  held: ReadonlyMap<string, Held>,
  resolved: Resolved,
  renewed: ReadonlySet<string>,
): Held | undefined {
  for (const [text, one] of held) {
    const current = resolved.versions[text]?.current;
    if (renewed.has(text) || one.stored === undefined || current === undefined || !isApart(resolved, text))
      continue;
    const anchor = strictestAnchor(references.anchors(tenant.tenantId, one.path));
    const others = rotationConsumers(references, tenant, one.path)
      .flatMap(({ instances }) => instances)
      .filter(({ id }) => id !== instance.record.id);
    if (isSpent(one.stored.record, current, anchor, others)) return one;
  }
  return undefined;
}

/** With the instance as its first holder, in the commit that puts it into service: what is created now shares it. */
async function renew(
  { secrets, writes, policy, journal }: MaterialOptions,
  tenant: TenantStore,
  instance: Stored<InstanceRecord>,
  { path, stored }: Held,
): Promise<ResolvedEnvironment | undefined> {
  const request = {};
  const text = secretPathText(path);
  const { current = 0, minted = {} } = stored?.record ?? {};
  try {
    const document = await secrets.read(tenant.tenantId, path, current);
    if (!document.ok) return { ok: false, reason: 'unavailable', message: document.message };
    const made = writes.mint(request, path, new Map(Object.entries(minted)), policy, document.values);
    const metadata = await secrets.metadata(tenant.tenantId, path);
    if (!metadata.ok) return { ok: false, reason: 'unavailable', message: metadata.message };
    const planned = await writes.plan(tenant, request, [
      {
        path,
        values: new Map([...document.values, ...made]),
        expectedVersion: metadata.exists ? metadata.version : (metadata.currentVersion ?? 0),
        stored,
        settle: (record, version) => ({ ...writtenCredential(record, version, minted), handed: version }),
      },
    ]);
    if ('ok' in planned) {
      if (planned.reason === 'moved' || planned.reason === 'conflict') return undefined;
      return { ok: false, reason: 'unavailable', message: `${text}: ${planned.message}` };
    }
    const version = planned.versions.get(text) ?? 0;
    const before = tenant.get('secret-deliveries', instance.id)?.record.versions ?? {};
    const transaction = tenant.transaction().expect('instances', instance.id, instance);
    transaction.put('secret-deliveries', instance.id, {
      versions: { ...before, [text]: { current: version } },
    });
    planned.include(transaction);
    journal.event(transaction, tenant.tenantId, {
      kind: 'secret.renewed',
      subject: { kind: 'Secret', name: text },
      message: `${text}: version ${version} was made for ${instance.record.id}, since no container held version ${current} any more`,
      details: { version, instance: instance.record.id, keys: [...made.keys()] },
    });
    await tenant.commit(transaction);
    return undefined;
  } finally {
    await writes.finish(tenant, request);
  }
}
