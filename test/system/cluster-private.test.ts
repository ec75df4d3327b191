import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  always,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';
import { deleteManifest, pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';

/** A registry that wants credentials, and a health check that never returns, each on a real engine. */

const AUTH = { username: 'shop', password: 'correct-horse' };

let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
let registry: Registry;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('n1', shop);
  registry = await startRegistry({ address: node.engine.namespace?.hostAddress ?? '', auth: AUTH });
  await pushImage(registry, 'shop/private:1.0');
  // The address is known only now; the control plane looks at private addresses that are listed and at no other.
  await cluster.plane.end('SIGTERM');
  await cluster.plane.start({ BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${registry.host}` });
}, 60_000);
afterAll(async () => {
  await registry.stop();
  await cluster.stop();
});

const SERVE = { name: 'hung', command: ['sleep', '3600'] };
let before: Readonly<Record<string, number>>;

describe('a health check that never returns', () => {
  it('is taken: nothing tells it from a slow one', async () => {
    const good = { type: 'exec', command: ['test -d /tmp'], interval: '400ms' };
    await cluster.deploy(shop, { ...SERVE, healthCheck: good, update: { onFailure: 'leave' } });
    await cluster.phase(shop, 'hung', 'Running');
    before = await cluster.pids('hung');
    await cluster.update(shop, 'hung', {
      healthCheck: { type: 'exec', command: ['sleep 3600'], interval: '100ms', timeout: '10s', retries: 3 },
    });
  });
});

describe('a private registry', () => {
  const image = (): string => `${registry.host}/shop/private:1.0`;
  const credential = (password: string) =>
    shop.call('PUT', `/api/v1/secrets/registries/${encodeURIComponent(registry.host)}`, {
      values: { username: AUTH.username, password },
    });

  it('is told when its credential is wrong, and the deployment runs by itself once it is corrected', async () => {
    expect((await credential('wrong-horse')).status).toBe(201);
    const { body } = await cluster.deploy(shop, { name: 'late', image: image() });
    const [warning] = body.warnings;
    expect(warning.code).toBe('registry_unreachable');
    expect(warning.why).toContain(`refuses the credentials stored at registries/${registry.host}`);
    const { message } = await cluster.phase(shop, 'late', 'Degraded');
    expect(message).toContain(
      `${image()}: the registry refuses the credential stored at registries/${registry.host}`,
    );
    expect(JSON.stringify([body, message])).not.toContain('wrong-horse');
    expect(await cluster.containers('late')).toEqual([]);
    expect((await credential(AUTH.password)).status).toBe(200);
    await cluster.phase(shop, 'late', 'Running', 60_000);
    await cluster.remove(shop, 'late');
  }, 120_000);

  it('is looked into with the credential: what is there passes without a warning, what is not is refused', async () => {
    const { body } = await cluster.deploy(shop, { name: 'found', image: image() });
    expect(body.warnings).toEqual([]);
    await cluster.phase(shop, 'found', 'Running');
    const missing = `${registry.host}/shop/missing:1.0`;
    const refused = await shop.call('POST', '/api/v1/deployments', { name: 'lost', image: missing });
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([
      404,
      'image_not_found',
      'image',
    ]);
    await cluster.remove(shop, 'found');
  });

  it('gives nothing to a tenant without the credential', async () => {
    const other = await cluster.plane.tenant('other');
    const answer = await other.call('POST', '/api/v1/deployments', { name: 'spy', image: image() });
    expect(answer.body.warnings[0].why).toContain('asks for credentials and none are stored');
    await other.call('DELETE', '/api/v1/deployments/spy');
  });
});

describe('a tag that moves', () => {
  const healthCheck = { type: 'exec', command: ['test -e /build'], interval: '400ms' };
  const image = (): string => `${registry.host}/shop/moving:1`;
  const push = async (build: string): Promise<string> => {
    const files = [{ path: 'build', data: Buffer.from(build) }];
    return (await pushImage(registry, 'shop/moving:1', { files })).digest;
  };
  /** What each running container says of itself, and what it was started from. */
  const builds = async (): Promise<readonly string[]> => {
    const running = (await cluster.containers('moving')).filter(({ status }) => status === 'running');
    return Promise.all(
      running.map(async ({ id, image: reference, labels }) => {
        const answer = await cluster.exec(shop, 'moving', ['cat', '/build'], labels['berth.io/instance']);
        expect(reference, id).toContain('@sha256:');
        return String(answer.body.stdout);
      }),
    );
  };

  it('after admission changes nothing for the instances that come later', async () => {
    const first = await push('one');
    const { body } = await cluster.deploy(shop, { name: 'moving', image: image(), healthCheck });
    expect(body.imageDigest).toBe(first);
    await cluster.phase(shop, 'moving', 'Running');
    await push('two');
    await cluster.update(shop, 'moving', { replicas: 2 });
    await cluster.status(shop, 'moving', 'has two', ({ healthy }) => healthy === 2);
    await expect.poll(builds, { timeout: 20_000 }).toEqual(['one', 'one']);
  });

  it('is taken as it is by a write that names it, and left as it was by a rollback', async () => {
    const { body } = await cluster.update(shop, 'moving', { image: image() });
    expect(body.warnings.map(({ code }: { code: string }) => code)).toEqual(['image_tag_moved']);
    const isNew = ({ phase, healthy }: { phase: string; healthy: number }) =>
      phase === 'Running' && healthy === 2;
    await cluster.status(shop, 'moving', 'runs two', isNew);
    // The old ones may still be stopping.
    await expect.poll(builds, { timeout: 20_000 }).toEqual(['two', 'two']);
    await shop.call('POST', '/api/v1/deployments/moving/rollback', { version: 1 });
    await cluster.status(shop, 'moving', 'runs one', ({ phase }) => phase === 'Running');
    await expect.poll(builds, { timeout: 20_000 }).toEqual(['one']);
    await cluster.remove(shop, 'moving');
  }, 90_000);

  it('leaves a digest behind that the registry may remove: that is told with what to do', async () => {
    const { digest } = await pushImage(registry, 'shop/gone:1', { busybox: false });
    await cluster.deploy(shop, { name: 'gone', image: `${registry.host}/shop/gone:1`, replicas: 0 });
    await deleteManifest(registry, 'shop/gone', digest);
    await cluster.update(shop, 'gone', { replicas: 1 });
    const { message } = await cluster.phase(shop, 'gone', 'Degraded');
    expect(message).toContain(digest);
    expect(message).toContain('write the deployment or job with its image again');
    await cluster.remove(shop, 'gone');
  });

  it('is what a job found at its creation, in every run', async () => {
    const digest = await push('three');
    const job = { name: 'told', image: image(), command: ['cat', '/build'] };
    // Of a try before this one.
    await shop.call('DELETE', '/api/v1/jobs/told');
    expect((await shop.call('POST', '/api/v1/jobs', job)).body.imageDigest).toBe(digest);
    await push('four');
    const ended = async () => (await shop.call('GET', '/api/v1/jobs/told')).body.status.phase;
    await expect.poll(ended, { timeout: 30_000 }).toBe('Succeeded');
    await shop.call('POST', '/api/v1/jobs/told/run');
    const runs = async () => (await shop.call('GET', '/api/v1/jobs/told')).body.status.runs;
    const states = async () => (await runs()).map(({ state }: { state: string }) => state);
    await expect.poll(states, { timeout: 30_000 }).toEqual(['Succeeded', 'Succeeded']);
    for (const { id } of await runs()) {
      const logs = await shop.call('GET', `/api/v1/jobs/told/logs?run=${id}`);
      expect(JSON.stringify(logs.body)).toContain('three');
    }
    await shop.call('DELETE', '/api/v1/jobs/told');
  }, 90_000);
});

describe('the health check that never returned', () => {
  it('is told as unhealthy, in words, and the rollout keeps the old instances', async () => {
    const { message } = await cluster.status(
      shop,
      'hung',
      'tells',
      (status) => String(status.message).includes('timeout'),
      60_000,
    );
    expect(message).toContain('the health check failed 3 times in a row');
    expect(message).toContain('did not return within its timeout');
    await always(
      'the old one runs',
      () => cluster.pids('hung'),
      (now) => Object.entries(before).every(([id, pid]) => now[id] === pid),
      1_000,
    );
    const { body } = await shop.call('GET', '/api/v1/deployments/hung/instances');
    const failing = body.find(({ id }: { id: string }) => before[id] === undefined);
    expect(failing).toMatchObject({ health: 'unhealthy', reason: 'unhealthy' });
    await cluster.remove(shop, 'hung');
  }, 90_000);
});
