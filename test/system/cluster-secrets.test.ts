import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { always, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  await cluster.node('secret-1', shop);
});

afterAll(async () => {
  await cluster.stop();
});

const entry = (name: string, label: string) => ({
  name,
  vault_path: `resources/${label}`,
  anchor: 'external',
});

async function write(label: string, values: Readonly<Record<string, string>>): Promise<void> {
  const { status, body } = await shop.call('PUT', `/api/v1/secrets/resources/${label}`, { values });
  expect([status, body.code]).toEqual([status < 300 ? status : 200, undefined]);
}

/** The variables that begin with a prefix, as the process in the container has them. */
async function variables(
  name: string,
  instance: string,
  prefix: string,
): Promise<Readonly<Record<string, string>>> {
  const { body } = await cluster.exec(shop, name, ['sh', '-c', 'cat /proc/1/environ'], instance);
  const pairs = String(body.stdout)
    .split('\0')
    .filter((text) => text.startsWith(prefix))
    .map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)] as const);
  return Object.fromEntries(pairs);
}

const instances = async (
  name: string,
): Promise<readonly { readonly id: string; readonly wanted: string }[]> => {
  const { body } = await shop.call('GET', `/api/v1/deployments/${name}/instances`);
  return body.filter(({ wanted }: { wanted: string }) => wanted === 'run');
};

/** Counts the moments in which no container of the deployment runs. */
function watchForNone(name: string): { stop(): Promise<number> } {
  let none = 0;
  let over = false;
  const watching = (async () => {
    for (; !over; ) if (Object.keys(await cluster.pids(name)).length === 0) none += 1;
  })();
  watching.catch(() => undefined);
  return {
    stop: async () => {
      over = true;
      await watching;
      return none;
    },
  };
}

describe('secrets', () => {
  it('reach the container as variables and composed, byte for byte', async () => {
    const password = `p'"$(id)\`{{secret.db.user}}\\ ü\u{1f6a2}=;`;
    await write('db', { user: 'app', password });
    await cluster.deploy(shop, {
      name: 'reader',
      secrets: [entry('DB', 'db')],
      composedEnvironment: { DATABASE_URL: 'postgres://{{secret.db.user}}:{{secret.db.password}}@db/app' },
    });
    await cluster.phase(shop, 'reader', 'Running');
    const [one] = await instances('reader');
    expect(await variables('reader', one?.id ?? '', 'DB_')).toEqual({
      DB_user: 'app',
      DB_password: password,
    });
    // Expanded once: a value that looks like a placeholder stays as it is.
    expect(await variables('reader', one?.id ?? '', 'DATABASE_')).toEqual({
      DATABASE_URL: `postgres://app:${password}@db/app`,
    });
    await cluster.remove(shop, 'reader');
  });

  it('that are missing leave no container, and the deployment recovers by itself (INV-9)', async () => {
    await cluster.deploy(shop, { name: 'early', replicas: 2, secrets: [entry('LATE', 'late')] });
    const { message } = await cluster.phase(shop, 'early', 'Degraded');
    expect(message).toContain('resources/late');
    await always(
      'no container',
      () => cluster.containers('early'),
      (all) => all.length === 0,
      1_500,
    );
    const events = await cluster.events(shop, 'deployment.secret_unresolved', 'early');
    expect(events).toHaveLength(1);
    expect(events[0]?.message).toContain('resources/late');
    await write('late', { key: 'now-it-is-there' });
    await cluster.phase(shop, 'early', 'Running');
    const [one] = await instances('early');
    expect(await variables('early', one?.id ?? '', 'LATE_')).toEqual({ LATE_key: 'now-it-is-there' });
    await cluster.remove(shop, 'early');
  });

  it('rotate in three phases: each phase delivers its variables, and something always runs (INV-10)', async () => {
    await write('key', { token: 'first-token' });
    await cluster.deploy(shop, {
      name: 'turning',
      replicas: 2,
      secrets: [{ ...entry('KEY', 'key') }],
      healthCheck: { type: 'exec', command: ['test -n "$KEY_token"'], interval: '400ms', retries: 3 },
    });
    await cluster.phase(shop, 'turning', 'Running');
    const watch = watchForNone('turning');
    const rotate = (phase: string, more: object = {}) =>
      shop.call('POST', '/api/v1/deployments/turning/secrets/rotate', { phase, ...more });
    expect((await rotate('promote')).body.code).toBe('rotation_transition_invalid');
    const expected = {
      stage: { KEY_token: 'first-token', KEY_token_NEXT: 'second-token' },
      promote: { KEY_token: 'second-token', KEY_token_PREVIOUS: 'first-token' },
      retire: { KEY_token: 'second-token' },
    };
    for (const [index, [phase, delivered]] of Object.entries(expected).entries()) {
      const { status, body } = await rotate(
        phase,
        phase === 'stage' ? { values: { token: 'second-token' } } : {},
      );
      expect([status, body.code, body.secretsVersion]).toEqual([200, undefined, index + 1]);
      if (phase === 'stage') expect((await rotate('promote')).body.code).toBe('rotation_rollout_incomplete');
      await cluster.phase(shop, 'turning', 'Running');
      await eventually(
        'two',
        () => cluster.pids('turning'),
        (pids) => Object.keys(pids).length === 2,
      );
      for (const { id } of await instances('turning'))
        expect([phase, await variables('turning', id, 'KEY_')]).toEqual([phase, delivered]);
      const versions = (await cluster.containers('turning')).map(
        ({ labels }) => labels['berth.io/secrets-version'],
      );
      expect(versions).toEqual([String(index + 1), String(index + 1)]);
    }
    expect(await watch.stop()).toBe(0);
    await cluster.remove(shop, 'turning');
  });

  it('in a sealed store hold back new containers only; what runs is not touched', async () => {
    await write('vault', { token: 'a-token' });
    await cluster.deploy(shop, { name: 'steady', secrets: [entry('V', 'vault')] });
    await cluster.phase(shop, 'steady', 'Running');
    const before = await cluster.pids('steady');
    const key = join(cluster.plane.dataDir, 'keys', 'root.key');
    await cluster.plane.end('SIGTERM');
    renameSync(key, `${key}.away`);
    await cluster.plane.start();
    expect((await shop.call('GET', '/healthz')).body.secrets).toMatchObject({ sealed: true });
    await cluster.update(shop, 'steady', { replicas: 2 });
    const { message } = await cluster.phase(shop, 'steady', 'Degraded');
    expect(message).toContain('sealed');
    await always(
      'one container',
      () => cluster.pids('steady'),
      (pids) => isDeepStrictEqual(pids, before),
      1_500,
    );
    expect(await cluster.containers('steady')).toHaveLength(1);
    await cluster.plane.end('SIGTERM');
    renameSync(`${key}.away`, key);
    await cluster.plane.start();
    await cluster.phase(shop, 'steady', 'Running');
    expect(await cluster.pids('steady')).toMatchObject(before);
    await cluster.remove(shop, 'steady');
  });
});
