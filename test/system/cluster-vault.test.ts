import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LONG_TIER } from '../support/fault-tier.ts';
import { always, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import {
  startVaultEndpoint,
  type VaultEndpoint,
  type VaultSwitches,
} from '../support/harness/vault/endpoint.ts';

let vault: VaultEndpoint;
let cluster: Cluster;
let shop: Tenant;
const folder = mkdtempSync(join(tmpdir(), 'berth-vault-'));

beforeAll(async () => {
  vault = await startVaultEndpoint();
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, vault.rootToken, { mode: 0o600 });
  cluster = await startCluster({
    BERTH_SECRETS_KIND: 'vault',
    BERTH_SECRETS_VAULT_ADDRESS: vault.address,
    BERTH_SECRETS_VAULT_TOKEN_FILE: tokenFile,
  });
  shop = await cluster.plane.tenant('shop');
  await cluster.node('vault-1', shop);
  await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'of-the-vault' } });
});

afterEach(async () => {
  Object.assign(vault.switches, { denied: undefined, sealed: false, broken: undefined, slowMs: 0 });
  await cluster.remove(shop, 'held');
});

afterAll(async () => {
  await cluster.stop();
  await vault.close();
  rmSync(folder, { recursive: true, force: true });
});

const MORE_FAULTS: readonly (readonly [string, Partial<VaultSwitches>, string])[] = [
  ['is broken', { broken: 500 }, 'resources/db'],
];
const SECRETS = [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }];

describe('a secrets store that does not give material (F-22)', () => {
  it.each<readonly [string, Partial<VaultSwitches>, string]>([
    ['answers 403', { denied: /\/data\/resources\/db/ }, '(403)'],
    ['is sealed', { sealed: true }, 'sealed'],
    // In every run by `test/suites/secrets-vault`.
    ...(LONG_TIER ? MORE_FAULTS : []),
  ])(
    'because it %s: no new container, what runs stays, and it recovers by itself',
    async (_what, fault, word) => {
      await cluster.deploy(shop, { name: 'held', secrets: SECRETS });
      await cluster.phase(shop, 'held', 'Running');
      const before = await cluster.pids('held');
      Object.assign(vault.switches, fault);
      await cluster.update(shop, 'held', { replicas: 3 });
      const { message } = await cluster.phase(shop, 'held', 'Degraded');
      expect(message).toContain(word);
      expect(message).toContain('has no container');
      await always(
        'one container only',
        () => cluster.containers('held'),
        (all) => all.length === 1 && before[all[0]?.labels['berth.io/instance'] ?? ''] === all[0]?.pid,
        1_000,
      );
      Object.assign(vault.switches, { denied: undefined, sealed: false, broken: undefined });
      await cluster.phase(shop, 'held', 'Running', 30_000);
      expect(await cluster.pids('held')).toMatchObject(before);
      expect(await cluster.events(shop, 'deployment.secret_unresolved', 'held')).not.toEqual([]);
      const { body } = await cluster.exec(shop, 'held', ['sh', '-c', 'printf %s "$DB_password"']);
      expect(body.stdout).toBe('of-the-vault');
    },
  );

  it('from the start: Degraded without any container, until it may be read (INV-9)', async () => {
    vault.switches.denied = /\/data\/resources\/db/;
    await cluster.deploy(shop, { name: 'held', replicas: 2, secrets: SECRETS });
    const { message } = await cluster.phase(shop, 'held', 'Degraded');
    expect(message).toContain('(403)');
    await always(
      'no container',
      () => cluster.containers('held'),
      (all) => all.length === 0,
      1_500,
    );
    vault.switches.denied = undefined;
    await cluster.phase(shop, 'held', 'Running', 30_000);
  });
});
