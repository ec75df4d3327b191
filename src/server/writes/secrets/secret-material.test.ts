import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { DeploymentDraft } from '../../../core/contract/deployment-body.ts';
import type { SecretEntryDraft } from '../../../core/contract/workload/secrets.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { DEFAULT_SECRET_POLICY } from '../../../core/model/secret-limits.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { type RootKeys, rootKeyFrom } from '../../secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../../secrets/embedded/store.ts';
import { CredentialWrites } from '../../secrets/credential-writes.ts';
import { SecretReferences } from '../../secrets/references.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store, type TenantStore } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { SecretAdmission } from './credential-facts.ts';
import { DeletionMark } from './secret-deletions.ts';
import { planMaterial } from './secret-material.ts';
import { claimLabels, secretRejection } from './secret-references.ts';
import { usersOf } from './secret-users.ts';

const TENANT = '00000000-0000-4000-8000-000000000001' as TenantId;
const DB = { namespace: 'resources', label: 'db' };
const MARKER = 'marker-71cc0e';
let keys: RootKeys;
let secrets: SecretAdmission;
let tenant: TenantStore;

beforeEach(async () => {
  const kv = createMemoryKv();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  keys = { sealed: false, active: rootKeyFrom(randomBytes(32)), retired: [] };
  const store = createEmbeddedSecrets({ kv, rootKeys: () => keys });
  secrets = {
    store,
    writes: new CredentialWrites(store),
    references: new SecretReferences(view),
    policy: DEFAULT_SECRET_POLICY,
  };
  tenant = new Store(kv, view).forTenant(TENANT);
});

function draftOf(...entries: readonly SecretEntryDraft[]): DeploymentDraft {
  return {
    name: 'web',
    secrets: entries.map((entry, index) => ({
      name: `S${index}`,
      vault_path: 'resources/db',
      anchor: 'external',
      rotation: 'restart',
      ...entry,
    })),
  };
}

const specOf = (draft: DeploymentDraft) => draft as unknown as DeploymentSpec;
const planned = (draft: DeploymentDraft) => planMaterial(secrets, { tenant }, draft, specOf(draft));

async function write(draft: DeploymentDraft) {
  const plan = await planned(draft);
  if (isRejection(plan)) throw new Error(plan.code);
  const transaction = tenant.transaction().put('quota', 'quota', {});
  const failed = (await plan.apply())?.code;
  plan.include(transaction);
  if (failed === undefined) await tenant.commit(transaction);
  return { alterations: plan.alterations, failed };
}

async function documentValues(): Promise<Readonly<Record<string, string>> | string> {
  const document = await secrets.store.read(TENANT, DB);
  if (!document.ok) return document.reason;
  return Object.fromEntries([...document.values].map(([key, value]) => [key, value.reveal()]));
}

describe('material in a deployment write', () => {
  it('goes to the secrets store, and that is announced without a value', async () => {
    const { alterations } = await write(
      draftOf({ values: { password: MARKER }, generate: { keys: ['token'] } }),
    );
    expect(alterations.map(({ field, to }) => [field, to])).toEqual([
      ['secrets[0].values', '(absent)'],
      ['secrets[0].generate', '(absent)'],
    ]);
    const stored = await documentValues();
    expect(stored).toMatchObject({ password: MARKER });
    const token = (stored as Record<string, string>)['token'] ?? '';
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    for (const hidden of [MARKER, token]) expect(JSON.stringify(alterations)).not.toContain(hidden);
  });

  it('is not written before the commit', async () => {
    await planned(draftOf({ values: { password: MARKER } }));
    expect(await documentValues()).toBe('missing');
  });

  it('of no entry plans nothing', async () => {
    expect((await write(draftOf({}))).alterations).toEqual([]);
    expect(await documentValues()).toBe('missing');
  });

  it('keeps every key that exists when the anchor is external', async () => {
    await write(draftOf({ values: { password: 'old' } }));
    const { alterations } = await write(draftOf({ values: { password: 'new', user: 'app' } }));
    expect(await documentValues()).toEqual({ password: 'old', user: 'app' });
    expect(alterations[0]?.why).toContain('kept as stored');
  });

  it('does not replace what a volume was made with, and mints only what is missing', async () => {
    const anchor = 'volume(vol_1)';
    await write(draftOf({ anchor, values: { password: 'old' } }));
    const refused = await planned(draftOf({ anchor, values: { password: 'new', user: 'app' } }));
    expect(isRejection(refused) && refused.code).toBe('anchored_secret_overwritten');
    const { alterations } = await write(draftOf({ anchor, generate: { keys: ['password', 'user'] } }));
    expect(await documentValues()).toMatchObject({ password: 'old', user: expect.any(String) });
    expect(alterations[0]?.why).toContain('kept as stored');
  });

  it('may be minted again when every entry of the path says process', async () => {
    await write(draftOf({ anchor: 'process', values: { password: 'old', user: 'app' } }));
    await write(draftOf({ anchor: 'process', values: { password: 'new' } }));
    expect(await documentValues()).toEqual({ password: 'new', user: 'app' });
    await write(draftOf({ anchor: 'process', values: { password: 'newest' } }, { anchor: 'external' }));
    expect(await documentValues()).toEqual({ password: 'new', user: 'app' });
  });

  it('of two entries of one path ends in one document', async () => {
    await write(draftOf({ values: { a: '1' } }, { values: { b: '2' } }));
    expect(await documentValues()).toEqual({ a: '1', b: '2' });
  });

  it('is refused while the store is sealed', async () => {
    keys = { sealed: true, message: 'no root key' } as unknown as RootKeys;
    const plan = await planned(draftOf({ values: { a: '1' } }));
    expect(isRejection(plan) && plan.code).toBe('secrets_sealed');
    expect(JSON.stringify(plan)).not.toContain('"1"');
  });
});

async function deploymentTransaction(name: string, vault_path: string) {
  const spec = { ...specOf(draftOf({ vault_path })), name, secretsVersion: 0 };
  const transaction = tenant.transaction().put('deployments', name, { spec } as unknown as DeploymentRecord);
  return { transaction, split: (await claimLabels(secrets, tenant, spec, transaction))?.code };
}

describe('rules that need stored state', () => {
  const refuse = async (draft: DeploymentDraft, previous?: DeploymentSpec) =>
    (await secretRejection(secrets, tenant, draft, specOf(draft), previous))?.code;

  it('one label has one namespace in the tenant', async () => {
    await tenant.commit((await deploymentTransaction('other', 'resources/db')).transaction);
    expect(await refuse(draftOf({}))).toBeUndefined();
    expect(await refuse(draftOf({ vault_path: 'deployments/db' }))).toBe('secret_path_namespace_split');
    expect(await refuse({ ...draftOf({ vault_path: 'deployments/db' }), name: 'other' })).toBeUndefined();
  });

  it('two writes at once cannot both be right about a label', async () => {
    const a = await deploymentTransaction('a', 'resources/db');
    const b = await deploymentTransaction('b', 'deployments/db');
    expect((await tenant.commit(a.transaction)).ok).toBe(true);
    expect((await tenant.commit(b.transaction)).ok).toBe(false);
  });

  it('a write that came while this one waited is seen when the label is claimed', async () => {
    expect(await refuse(draftOf({ vault_path: 'deployments/db' }))).toBeUndefined();
    await tenant.commit((await deploymentTransaction('other', 'resources/db')).transaction);
    expect((await deploymentTransaction('web', 'deployments/db')).split).toBe('secret_path_namespace_split');
  });

  it('a reference and a deletion at the same moment: one of them is decided again', async () => {
    const mark = new DeletionMark(tenant, 'db');
    const late = await deploymentTransaction('late', 'resources/db');
    expect(await mark.put('resources')).toBe(true);
    expect((await tenant.commit(late.transaction)).ok).toBe(false);
    await mark.remove();
    expect(tenant.get('secret-labels', 'db')).toBeUndefined();

    await tenant.commit((await deploymentTransaction('early', 'resources/db')).transaction);
    const second = new DeletionMark(tenant, 'db');
    expect(await second.put('resources')).toBe(true);
    expect(usersOf(secrets, tenant, DB)).toEqual(['early (S0)']);
    await second.remove();
    expect(tenant.get('secret-labels', 'db')?.record).toEqual({ namespace: 'resources' });
  });

  it('a reference waits for a deletion that goes on, and takes over a mark that was left behind', async () => {
    vi.useFakeTimers();
    try {
      const mark = new DeletionMark(tenant, 'db');
      await mark.put('resources');
      const waiting = deploymentTransaction('web', 'resources/db');
      await vi.advanceTimersByTimeAsync(200);
      await mark.remove();
      await vi.advanceTimersByTimeAsync(200);
      expect((await waiting).split).toBe('secrets_store_unavailable');

      await mark.put('resources');
      const over = deploymentTransaction('web', 'resources/db');
      await vi.advanceTimersByTimeAsync(11_000);
      expect((await tenant.commit((await over).transaction)).ok).toBe(true);
      const deletion = tenant.transaction();
      mark.include(deletion, 'resources');
      expect((await tenant.commit(deletion)).ok).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  it('keys of stored documents count as delivered', async () => {
    await write(draftOf({ values: { password: 'x' } }));
    expect(await refuse({ ...draftOf({}), environment: { S0_password: 'x' } })).toBe(
      'secret_environment_collision',
    );
    expect(await refuse({ ...draftOf({}), environment: { S0_user: 'x' } })).toBeUndefined();
  });

  it('an anchored secret stays while its volume is mounted', async () => {
    const volumes = [{ volumeId: 'vol_1', mountPath: '/a', readOnly: false }];
    const before = { ...specOf(draftOf({ anchor: 'volume(vol_1)' })), volumes };
    expect(await refuse({ ...draftOf(), volumes }, before)).toBe('anchored_secret_dropped');
    expect(
      await refuse({ ...draftOf({ anchor: 'volume(vol_1)', vault_path: 'resources/mq' }), volumes }, before),
    ).toBe('anchored_secret_repointed');
    expect(await refuse({ ...draftOf(), volumes: [] }, before)).toBeUndefined();
  });
});
