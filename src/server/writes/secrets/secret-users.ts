import { servedIngress } from '../../../core/model/ingress.ts';
import { activeRun } from '../../../core/model/job-run.ts';
import { describeOwner, type OwnerName, ownerOf } from '../../../core/model/owner.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import type { SpecSnapshot } from '../../../core/model/spec-snapshot.ts';
import { credentialOf } from '../../secrets/credential-writes.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import { rolloutOf } from '../../store/rollout-row.ts';
import type { TenantStore } from '../../store/store.ts';
import type { SecretAdmission } from './credential-facts.ts';

function refersTo(spec: SpecSnapshot, path: string): boolean {
  return (
    spec.secrets.some(({ vault_path }) => vault_path === path) ||
    servedIngress(spec).some(({ tls }) => typeof tls === 'object' && tls.vault_path === path)
  );
}

/** The specs of a deployment or job that run, or that a controller may still return to by itself. */
function heldSpecs(tenant: TenantStore, owner: OwnerName): ReadonlySet<string | undefined> {
  const { kind, name } = ownerOf(owner);
  const rollout = rolloutOf(tenant, prefixOf('instances', owner))?.record;
  const run = kind === 'job' ? activeRun(tenant.get('job-status', idOf('jobs', name))?.record) : undefined;
  return new Set([
    rollout?.state === 'complete' ? undefined : rollout?.from?.specHash,
    // Of a run between two attempts there is no instance.
    run?.terms?.specHash,
    ...tenant
      .collection('instances')
      .listUnder(prefixOf('instances', owner))
      .map(({ record }) => record.specHash),
  ]);
}

/** Whose earlier version needs the document, though what is stored of it does not refer to it any more. */
function keptReaders(tenant: TenantStore, path: string): readonly OwnerName[] {
  const found = tenant.list('specs').filter(({ record }) => refersTo(record, path));
  return [...Map.groupBy(found, ({ id }) => segmentsOf('specs', id)[0])].flatMap(([owner, specs]) => {
    const held = heldSpecs(tenant, owner);
    return specs.some(({ id }) => held.has(segmentsOf('specs', id)[1])) ? [owner] : [];
  });
}

/** Everybody who would miss the document, for people. */
export function usersOf(
  { references }: SecretAdmission,
  tenant: TenantStore,
  path: SecretPath,
): readonly string[] {
  const text = secretPathText(path);
  const consumers = references.consumersOf(tenant.tenantId, path);
  const named = new Set<string>(consumers.map(({ owner }) => owner));
  const rotation = credentialOf(tenant, path)?.record.rotation;
  return [
    ...consumers.map(({ owner, secret, ingress }) =>
      ingress === undefined
        ? `${describeOwner(owner)} (${secret})`
        : `the certificate of ${ingress} (${describeOwner(owner)})`,
    ),
    ...references.webhooks(tenant.tenantId, path).map((name) => `the webhook ${name}, which signs with it`),
    ...keptReaders(tenant, text)
      .filter((owner) => !named.has(owner))
      .map(
        (owner) => `an earlier version of ${describeOwner(owner)}, which still runs or may be returned to`,
      ),
    ...(rotation === undefined ? [] : [`its rotation (${rotation.phase})`]),
  ];
}
