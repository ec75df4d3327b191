import type { CredentialRecord } from '../../core/model/credential.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { InstanceObservation } from '../../core/model/instance.ts';
import { isOfDeployment, type OwnerName, ownerOf } from '../../core/model/owner.ts';
import { overlapOf } from '../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText } from '../../core/model/secret-path.ts';
import { UNKNOWN, withPins } from '../../core/secrets/credentials.ts';
import type { HoldingInstance, RotationConsumer } from '../../core/secrets/rotation.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { credentialOf } from './credential-writes.ts';
import { isGiven, type SecretReferences } from './references.ts';

/** What is known of the credential, whether or not it has a record yet. */
export function credentialRecord(
  references: SecretReferences,
  tenant: TenantStore,
  path: SecretPath,
  record: CredentialRecord = credentialOf(tenant, path)?.record ?? UNKNOWN,
): CredentialRecord {
  if (record.current > 0) return record;
  const vault_path = secretPathText(path);
  const pins = references.deployments(tenant.tenantId, path).flatMap((name) => {
    const stored = tenant.get('deployments', idOf('deployments', name))?.record;
    const entry = stored?.spec.secrets.find((one) => one.vault_path === vault_path);
    return entry === undefined ? [] : [overlapOf(stored?.rotation, entry)];
  });
  return withPins(record, pins);
}

/** A run of a job is over when it ends; a deployment's container is started again as it is. */
function startsAgain(seen: InstanceObservation | undefined): boolean {
  return seen?.phase === 'exited' || (seen?.phase === 'failed' && seen.containerId !== undefined);
}

function holdingInstances(tenant: TenantStore, owner: OwnerName, path: string): HoldingInstance[] {
  const observations = tenant.collection('observations');
  const deliveries = tenant.collection('secret-deliveries');
  return tenant
    .collection('instances')
    .listUnder(prefixOf('instances', owner))
    .map(({ id, record }) => {
      const seen = observations.get(id)?.record;
      const spec = tenant.get('specs', idOf('specs', owner, record.specHash))?.record;
      const given = deliveries.get(id)?.record.versions ?? {};
      return {
        id: record.id,
        phase: seen?.phase ?? ('pending' as const),
        ...(record.wanted === 'run' && isOfDeployment(owner) && startsAgain(seen)
          ? { startsAgain: true }
          : {}),
        ...(seen?.secretsVersion === undefined ? {} : { secretsVersion: seen.secretsVersion }),
        ...(spec?.secrets.some(({ vault_path }) => vault_path === path) === false ? { isApart: true } : {}),
        ...(Object.hasOwn(given, path) && given[path] !== undefined ? { versions: given[path] } : {}),
      };
    });
}

function deploymentOf(tenant: TenantStore, owner: OwnerName): DeploymentRecord | undefined {
  return isOfDeployment(owner) ? tenant.get('deployments', idOf('deployments', owner))?.record : undefined;
}

/** Workloads that read the document no more, with the containers that were given it while they did. */
function leavers(
  references: SecretReferences,
  tenant: TenantStore,
  path: SecretPath,
  readers: ReadonlySet<OwnerName>,
): RotationConsumer[] {
  const owners = new Set<OwnerName>();
  for (const id of references.given(tenant.tenantId, path)) {
    const owner = tenant.get('instances', id)?.record.deployment;
    if (owner !== undefined && !readers.has(owner)) owners.add(owner);
  }
  return [...owners].map((owner) => ({
    name: ownerOf(owner).name,
    left: true,
    secretsVersion: deploymentOf(tenant, owner)?.spec.secretsVersion ?? 0,
    instances: holdingInstances(tenant, owner, secretPathText(path)).filter(
      ({ versions }) => versions !== undefined,
    ),
  }));
}

/** Everybody who reads the document or did, with what their containers hold of it. */
export function rotationConsumers(
  references: SecretReferences,
  tenant: TenantStore,
  path: SecretPath,
): RotationConsumer[] {
  const text = secretPathText(path);
  const found = new Map<OwnerName, RotationConsumer>();
  // A certificate reaches ingress nodes with the version in service; nothing is rolled for it.
  for (const { owner } of references.consumers(tenant.tenantId, path.label).filter(isGiven)) {
    if (found.has(owner)) continue;
    const { kind, name } = ownerOf(owner);
    const record = deploymentOf(tenant, owner);
    const entry = record?.spec.secrets.find(({ vault_path }) => vault_path === text);
    // Its canary reads it: that is not rolled with the deployment, and holds what it was given as one that left does.
    if (record !== undefined && entry === undefined) continue;
    const instances = holdingInstances(tenant, owner, text);
    const pin = entry === undefined ? undefined : overlapOf(record?.rotation, entry);
    found.set(owner, {
      name,
      ...(kind === 'job' && { job: true }),
      ...(pin && { pin }),
      secretsVersion: record?.spec.secretsVersion ?? 0,
      instances,
    });
  }
  return [...found.values(), ...leavers(references, tenant, path, new Set(found.keys()))];
}
