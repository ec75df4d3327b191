import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { nginxImage } from '../support/harness/nginx-image.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';

/** What hangs, how containers are told to end, and files that they are given: on real engines. */

let cluster: Cluster;
let shop: Tenant;
let one: ClusterNode;

const NGINX = 'berth.test/nginx:1.22';
const POSTGRES = 'berth.test/postgres:15';

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  one = await cluster.node('care-1', shop, {
    images: {
      [NGINX]: { entries: nginxImage().files ?? [] },
      [POSTGRES]: { entries: postgresImage().files ?? [] },
    },
  });
  await cluster.node('care-2', shop);
}, 60_000);

afterEach(async () => {
  await cluster.remove(shop, 'web');
});

afterAll(async () => {
  await cluster.stop();
});

/** Takes connections and answers none of them once its process is stopped: a hang that no exit code tells of. */
const WEB = {
  name: 'web',
  replicas: 2,
  command: ['sh', '-c', 'mkdir /www; echo ok > /www/ok; httpd -f -p 8080 -h /www & wait'],
  healthCheck: {
    type: 'exec',
    command: ['timeout 1 wget -q -O- http://127.0.0.1:8080/ok'],
    interval: '500ms',
    retries: 3,
    restartAfter: '2s',
  },
  stop: { grace: '1s' },
};

interface Seen {
  readonly id: string;
  readonly attempt: number;
  readonly health?: string;
  readonly containerId?: string;
}

const instances = async (): Promise<readonly Seen[]> =>
  (await shop.call('GET', '/api/v1/deployments/web/instances')).body;

async function hang(id: string): Promise<void> {
  const { body } = await cluster.exec(shop, 'web', ['sh', '-c', 'kill -STOP $(pidof httpd)'], id);
  expect(body.exitCode).toBe(0);
}

describe('an instance that hangs', () => {
  it('is restarted, also two of two, and never both at the same time', async () => {
    await cluster.deploy(shop, WEB);
    await cluster.phase(shop, 'web', 'Running');
    const before = await instances();
    expect(before).toHaveLength(2);
    for (const { id } of before) await hang(id);
    let most = 0;
    const after = await eventually(
      'both are healthy again, in new containers',
      async () => {
        const seen = await instances();
        const running = (await cluster.containers('web')).filter(({ status }) => status === 'running');
        most = Math.max(most, before.length - running.length);
        return seen;
      },
      (seen) => seen.every(({ attempt, health }) => attempt === 1 && health === 'healthy'),
      40_000,
    );
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(most).toBeLessThanOrEqual(1);
    const told = await cluster.events(shop, 'instance.restarted');
    expect(told).toHaveLength(2);
    expect(told[0]?.message).toMatch(
      /is restarted \(restart 1\), unhealthy for \d+ s: the health check failed \d+ times in a row/,
    );
    await cluster.phase(shop, 'web', 'Running');
  });

  // A minute has to pass before an agent may act alone; its plan has tests of its own.
  it.runIf(LONG_TIER)(
    'is restarted on one node of two while the control plane is away',
    async () => {
      await cluster.deploy(shop, { ...WEB, placement: { antiAffinity: ['web'] } });
      await cluster.phase(shop, 'web', 'Running');
      const [older, younger] = (await instances()).map(({ id }) => id);
      for (const id of [older, younger]) await hang(id ?? '');
      await cluster.plane.end('SIGKILL');
      const before = await cluster.pids('web');
      const changed = async (): Promise<readonly string[]> => {
        const now = await cluster.pids('web');
        return Object.keys(before).filter((id) => now[id] !== undefined && now[id] !== before[id]);
      };
      const began = performance.now();
      const restarted = await eventually('one is restarted', changed, (ids) => ids.length > 0, 100_000);
      expect(performance.now() - began).toBeGreaterThan(55_000);
      expect(restarted).toHaveLength(1);
      // Its node has the word for this deployment; the other one waits for somebody who knows both.
      await pause(15_000);
      expect(await changed()).toEqual(restarted);
      await cluster.plane.start();
      await eventually(
        'both are healthy',
        instances,
        (seen) => seen.length === 2 && seen.every(({ health }) => health === 'healthy'),
        60_000,
      );
      await cluster.phase(shop, 'web', 'Running');
    },
    240_000,
  );
});

/** Until every container that runs now is gone. */
async function replacedWithin(change: () => Promise<unknown>): Promise<number> {
  const before = new Set((await cluster.containers('web')).map(({ id }) => id));
  const began = performance.now();
  await change();
  await eventually(
    'the old ones are gone',
    async () => (await cluster.containers('web')).filter(({ id }) => before.has(id)).length,
    (left) => left === 0,
  );
  return performance.now() - began;
}

describe('stop', () => {
  it('has PostgreSQL end at once although a client is connected, by its own signal', async () => {
    await cluster.deploy(shop, {
      name: 'web',
      image: POSTGRES,
      nodeId: 'care-1',
      user: '70:70',
      command: [
        'sh',
        '-c',
        "initdb -D /tmp/d -U postgres --auth=trust --no-sync > /dev/null && exec postgres -D /tmp/d -c unix_socket_directories=/tmp -c listen_addresses=''",
      ],
      healthCheck: { type: 'exec', command: ['pg_isready -q -h /tmp'], interval: '500ms' },
      stop: { signal: 'SIGINT', grace: '15s' },
    });
    await cluster.phase(shop, 'web', 'Running');
    const client = cluster.exec(shop, 'web', [
      'psql',
      '-h',
      '/tmp',
      '-U',
      'postgres',
      '-c',
      'SELECT pg_sleep(60)',
    ]);
    await eventually(
      'a client waits',
      () =>
        cluster.exec(shop, 'web', [
          'psql',
          '-h',
          '/tmp',
          '-U',
          'postgres',
          '-Atc',
          "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'",
        ]),
      ({ body }) => Number(body.stdout) > 0,
    );
    const tookMs = await replacedWithin(() => shop.call('DELETE', '/api/v1/deployments/web'));
    await client.catch(() => undefined);
    expect(tookMs).toBeLessThan(8_000);
  });

  it('kills what does not end after its grace', async () => {
    await cluster.deploy(shop, {
      name: 'web',
      command: ['sh', '-c', "trap '' TERM; while :; do sleep 0.1; done"],
      stop: { grace: '1s' },
    });
    await cluster.phase(shop, 'web', 'Running');
    expect(await replacedWithin(() => shop.call('DELETE', '/api/v1/deployments/web'))).toBeLessThan(7_000);
  });
});

const SITE = (word: string) => `
user root;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  server { listen 8080; location = / { return 200 ${word}; } location / { root /srv; } }
}
`;

describe('files', () => {
  it('give stock nginx its configuration, are read-only, and go with the container', async () => {
    const folder = join(one.agent.dataDir, 'files');
    await cluster.deploy(shop, {
      name: 'web',
      image: NGINX,
      nodeId: 'care-1',
      command: ['nginx', '-c', '/etc/nginx/site.conf', '-g', 'daemon off;'],
      files: [
        { path: '/etc/nginx/site.conf', content: SITE('first') },
        { path: '/srv/logo', base64: Buffer.from([0, 255, 10, 1]).toString('base64'), mode: '0400' },
      ],
      stop: { signal: 'SIGQUIT', grace: '20s' },
      healthCheck: {
        type: 'exec',
        command: ['wget -q -O /dev/null http://127.0.0.1:8080/'],
        interval: '500ms',
      },
    });
    await cluster.phase(shop, 'web', 'Running');
    const ask = async (script: string) => (await cluster.exec(shop, 'web', ['sh', '-c', script])).body;
    expect(await ask('wget -q -O- http://127.0.0.1:8080/')).toMatchObject({ stdout: 'first' });
    expect(await ask('od -An -tx1 /srv/logo')).toMatchObject({
      stdout: expect.stringMatching(/00 ff 0a 01/),
    });
    expect((await ask('echo x >> /etc/nginx/site.conf')).exitCode).not.toBe(0);
    const [instance = ''] = readdirSync(folder);
    expect(statSync(join(folder, instance)).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, instance, '0')).mode & 0o777).toBe(0o444);
    const { body: plan } = await shop.call('PUT', '/api/v1/deployments/web?dryRun=true', {
      files: [{ path: '/etc/nginx/site.conf', content: SITE('second') }],
    });
    expect(plan.removed).toContain('files[/srv/logo]');
    await cluster.update(shop, 'web', { files: [{ path: '/etc/nginx/site.conf', content: SITE('second') }] });
    await cluster.phase(shop, 'web', 'Running');
    await eventually(
      'the new file is served',
      () => ask('wget -q -O- http://127.0.0.1:8080/'),
      ({ stdout }) => stdout === 'second',
    );
    await cluster.remove(shop, 'web');
    await eventually(
      'nothing is left on the node',
      async () => readdirSync(folder),
      (left) => left.length === 0,
    );
  });
});
