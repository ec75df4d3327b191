import type { DeploymentRecord, DeploymentSpec } from '../../src/core/model/deployment.ts';
import type { DeploymentId, NodeName, TenantId } from '../../src/core/model/ids.ts';
import { specHash } from '../../src/server/writes/admission.ts';
import { putVersion } from '../../src/server/store/deployment-rows.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import type { Store } from '../../src/server/store/store.ts';
import type { Transaction } from '../../src/server/store/transaction.ts';

/** A tenant as enrolments and requests would have stored it, written straight into a store. */
export const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
const GIB = 2 ** 30;
/** Records per commit: etcd takes 128 operations. */
const PER_COMMIT = 40;
const COMMITS_AT_ONCE = 16;
const COUNTRIES = ['DE', 'FR', 'US', 'NL'];

export function nodeName(at: number): string {
  return `node-${String(at).padStart(5, '0')}`;
}

async function fill(
  store: Store,
  count: number,
  put: (transaction: Transaction, at: number) => void,
  tenantId = TENANT,
): Promise<void> {
  const tenant = store.forTenant(tenantId);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const transaction = tenant.transaction();
      for (const end = Math.min(count, next + PER_COMMIT); next < end; next += 1) put(transaction, next);
      const result = await tenant.commit(transaction);
      if (!result.ok) throw new Error('a commit without guards was refused');
    }
  };
  await Promise.all(Array.from({ length: COMMITS_AT_ONCE }, work));
}

export async function fillNodes(store: Store, count: number, tenantId = TENANT): Promise<void> {
  const at = new Date().toISOString();
  await fill(
    store,
    count,
    (transaction, index) => {
      const name = nodeName(index);
      const big = index % 5 === 0;
      transaction
        .put('nodes', idOf('nodes', name), {
          name: name as NodeName,
          tenantId,
          claims: [tenantId],
          schedulable: true,
          labels: { 'berth.io/country': COUNTRIES[index % 4] ?? 'DE', disk: index % 3 === 0 ? 'ssd' : 'hdd' },
          capacity: { cpu: big ? 192 : 96, memoryBytes: (big ? 768 : 256) * GIB },
          platform: 'linux/amd64',
          engine: { kind: 'docker', version: '20.10.24' },
          agentVersion: '0.1.0',
          publicKey: '',
          sessionEpoch: 1,
          createdAt: at,
        })
        .put('node-liveness', idOf('node-liveness', name), { status: 'ready', lastSeenAt: at, since: at });
    },
    tenantId,
  );
}

/** Each with one deployment that is stopped. */
export async function fillTenants(store: Store, count: number): Promise<void> {
  const at = new Date().toISOString();
  const work = async (from: number): Promise<void> => {
    for (let index = from; index < count; index += COMMITS_AT_ONCE) {
      const id = `22222222-2222-4222-8222-${String(index).padStart(12, '0')}` as TenantId;
      const slug = `tenant-${String(index).padStart(6, '0')}`;
      const tenant = store.forTenant(id);
      const transaction = tenant
        .transaction()
        .putGlobal('tenant-slugs', slug, { tenantId: id })
        .putGlobal('tenants', id, { id, slug, name: slug, createdAt: at });
      putDeployment(transaction, specOf('web', index, 0), `dep_${String(index).padStart(26, '1')}`, at);
      await tenant.commit(transaction);
    }
  };
  await Promise.all(Array.from({ length: COMMITS_AT_ONCE }, (_, from) => work(from)));
}

/** In turn plain, with a country that its data stays in, and with a constraint. */
function specOf(name: string, at: number, replicas: number): DeploymentSpec {
  return {
    kind: 'Deployment',
    name,
    image: 'registry.example.com/shop/web:1.4.2',
    replicas,
    resources: { requests: { cpu: 0.1, memory: '128Mi' } },
    ...(at % 4 === 1 && { placement: { residency: { country: 'DE' } } }),
    ...(at % 4 === 3 && { placement: { constraints: { disk: 'ssd' } } }),
    secrets: [],
    secretsVersion: 0,
  };
}

function putDeployment(transaction: Transaction, spec: DeploymentSpec, id: string, at: string): void {
  const hash = specHash(spec);
  const record: DeploymentRecord = {
    id: id as DeploymentId,
    tenantId: transaction.tenantId,
    spec,
    specHash: hash,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
  putVersion(transaction, { previous: undefined, record }, { change: 'created', at, by: 'bench' });
}

export function deploymentName(at: number): string {
  return `web-${String(at).padStart(6, '0')}`;
}

export async function fillDeployments(
  store: Store,
  count: number,
  replicas: number,
  tenantId = TENANT,
): Promise<void> {
  const at = new Date().toISOString();
  await fill(
    store,
    count,
    (transaction, index) =>
      putDeployment(
        transaction,
        specOf(deploymentName(index), index, replicas),
        `dep_${String(index).padStart(26, '0')}`,
        at,
      ),
    tenantId,
  );
}
