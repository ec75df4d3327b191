import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { DeploymentRecord, DeploymentSpec, RotationState } from '../../../core/model/deployment.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { DEFAULT_SECRET_POLICY } from '../../../core/model/secret-limits.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import { readCredential } from '../../writes/secrets/credential-facts.ts';
import type { Journal } from '../../journal/journal.ts';
import { CredentialWrites, credentialId } from '../../secrets/credential-writes.ts';
import { rootKeyFrom } from '../../secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../../secrets/embedded/store.ts';
import { SecretReferences } from '../../secrets/references.ts';
import { idOf } from '../../store/record-ids.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { deliverMaterial } from './material.ts';

const TENANT = '00000000-0000-4000-8000-000000000001' as TenantId;
const DB = { namespace: 'resources', label: 'db' };
const STAGED: RotationState = { phase: 'stage', secrets: { DB: { current: 1, next: 2 } } };
const PROMOTED: RotationState = { phase: 'promote', secrets: { DB: { current: 2, previous: 1 } } };

/** A store from before there were records of credentials, with two deployments that read the document. */
async function upgraded(web: RotationState | undefined, api: RotationState | undefined) {
  const kv = createMemoryKv();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  const rootKeys = { sealed: false, active: rootKeyFrom(randomBytes(32)), retired: [] } as const;
  const store = createEmbeddedSecrets({ kv, rootKeys: () => rootKeys });
  const writes = new CredentialWrites(store);
  const references = new SecretReferences(view);
  const tenant = new Store(kv, view).forTenant(TENANT);
  for (const text of ['one', 'two']) await store.write(TENANT, DB, new Map([['key', new SecretValue(text)]]));
  const transaction = tenant.transaction();
  for (const [name, rotation] of Object.entries({ web, api })) {
    const secrets = [{ name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' }];
    const spec = { name, secrets, secretsVersion: 1 } as unknown as DeploymentSpec;
    const instance = { id: `${name}-1`, deployment: name, specHash: 'h', wanted: 'run' };
    transaction
      .put('deployments', idOf('deployments', name), { spec, rotation } as unknown as DeploymentRecord)
      .put('specs', idOf('specs', name, 'h'), spec)
      .put('instances', idOf('instances', name, `${name}-1`), instance as unknown as InstanceRecord);
  }
  await tenant.commit(transaction);
  const policy = DEFAULT_SECRET_POLICY;
  const options = { secrets: store, references, writes, policy, journal: {} as unknown as Journal };
  return {
    tenant,
    facts: () => readCredential({ store, references, writes, policy }, tenant, {}, DB),
    deliver: async (name: string) => {
      const instance = tenant.get('instances', idOf('instances', name, `${name}-1`));
      const spec = tenant.get('specs', idOf('specs', name, 'h'))?.record;
      if (instance === undefined || spec === undefined) throw new Error(`no ${name}`);
      const given = await deliverMaterial(options, tenant, instance, spec);
      if (!given.ok) return given.message;
      return Object.fromEntries([...given.env].map(([key, value]) => [key, value.reveal()]));
    },
  };
}

it.each([
  ['staged', STAGED, undefined, { DB_key: 'one', DB_key_NEXT: 'two' }, { DB_key: 'one' }, 1],
  ['promoted', PROMOTED, undefined, { DB_key: 'two', DB_key_PREVIOUS: 'one' }, { DB_key: 'one' }, 1],
] as const)(
  'a rotation that an earlier version has %s goes on: who takes no part receives the old one',
  async (phase, web, api, first, second, current) => {
    const { tenant, facts, deliver } = await upgraded(web, api);
    expect(await facts()).toMatchObject({
      record: { current, rotation: { phase: 'staged', next: 2, previous: 1 } },
      inService: current,
    });
    expect([phase, await deliver('web'), await deliver('api')]).toEqual([phase, first, second]);
    // The holder is known to every phase that is decided from now on.
    const kept = tenant.get('credentials', credentialId(DB))?.record;
    expect(kept).toMatchObject({ current, known: 2, rotation: { next: 2, previous: 1 } });
  },
);

it('a rotation that an earlier version has promoted everywhere has the new one in service', async () => {
  const { facts } = await upgraded(PROMOTED, PROMOTED);
  expect(await facts()).toMatchObject({ record: { current: 2, rotation: { phase: 'promoted' } } });
});

it('without a rotation the newest is in service, and nothing is recorded of it', async () => {
  const { tenant, facts, deliver } = await upgraded(undefined, undefined);
  expect(await facts()).toMatchObject({ record: { current: 0, known: 0 }, inService: 2 });
  expect(await deliver('api')).toEqual({ DB_key: 'two' });
  expect(tenant.get('credentials', credentialId(DB))).toBeUndefined();
});
