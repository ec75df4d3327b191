import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { testImage } from '../support/harness/image.ts';
import { nginxImage } from '../support/harness/nginx-image.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';
import { losePower, powerOn } from '../support/harness/power-loss.ts';

/** A machine loses its power while its control plane is away: PostgreSQL, nginx, a replicated volume, a job and one that was to stop. */

const MIB = 2 ** 20;
const NGINX = 'berth.test/nginx:1';
const POSTGRES = 'berth.test/postgres:15';
const PASSWORD = randomBytes(12).toString('hex');
const OFFLINE_MS = 60_000;
/** As its containers are labelled. */
const JOB = 'job.once';
const SITE = `user root root;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  server { listen 8080; location = / { return 200 hello; } }
}
`;

/** On Podman in the long tier. */
const ENGINES = LONG_TIER ? (['docker', 'podman'] as const) : (['docker'] as const);

describe.each(ENGINES)('on %s', (kind) => {
  let cluster: Cluster;
  let shop: Tenant;
  let one: ClusterNode;

  beforeAll(async () => {
    ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2']);
    cluster = await startCluster();
    shop = await cluster.plane.tenant('shop');
    const images = { [NGINX]: testImage(nginxImage()), [POSTGRES]: testImage(postgresImage()) };
    one = await cluster.node('reboot-1', shop, {
      ...(kind === 'podman' && { podman: true }),
      images,
      volumeEngine: 'rsync',
      environment: { BERTH_AGENT_LOG_LEVEL: 'debug', BERTH_AGENT_MESH: '51820' },
    });
    await cluster.node('reboot-2', shop, { volumeEngine: 'rsync' });
  }, 180_000);

  afterAll(async () => {
    await cluster.stop();
  });

  async function volume(name: string, more: Readonly<Record<string, unknown>>): Promise<string> {
    const body = { name, type: 'volume', sizeBytes: 128 * MIB, nodeId: one.name, ...more };
    const made = await shop.call('POST', '/api/v1/dvm/volumes', body);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    await eventually(
      `${name} is ready`,
      () => shop.call('GET', `/api/v1/dvm/volumes/${made.body.id}`),
      ({ body: { phase } }) => phase === 'Ready',
    );
    return made.body.id as string;
  }

  /** What a command in the only container of a deployment prints, or how it fails; undefined: there is none that runs. */
  async function inside(deployment: string, ...argv: readonly string[]): Promise<string | undefined> {
    const [container] = await one.containers(deployment);
    if (container?.status !== 'running') return undefined;
    const session = await one.docker.exec(container.id, argv, { timeoutMs: 10_000 });
    const said = { stdout: '', stderr: '' };
    for await (const { bytes, stream } of session.output) said[stream] += bytes.toString();
    const exitCode = await session.exitCode();
    return exitCode === 0 ? said.stdout.trim() : `failed with ${exitCode}: ${said.stderr.trim()}`;
  }

  const psql = (sql: string) =>
    inside('db', 'env', `PGPASSWORD=${PASSWORD}`, 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', sql);
  /** By its name in the tenant's network. */
  const page = () =>
    inside('client', 'sh', '-c', String.raw`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 3 web 8080`);
  const isHello = (text: string | undefined): boolean => text?.endsWith('hello') === true;
  const statusOf = async (deployment: string) => (await one.containers(deployment))[0]?.status;

  it('runs what may run without its control plane, says why the rest waits, and goes on when it is back', async () => {
    const at = { nodeId: one.name };
    const data = await volume('data', { class: 'ephemeral' });
    const copied = await volume('copied', { class: 'replicated', replicas: 1 });
    const secrets = [
      { name: 'POSTGRES', vault_path: 'deployments/db', anchor: 'external', values: { PASSWORD } },
    ];
    await cluster.deploy(shop, {
      name: 'db',
      image: POSTGRES,
      command: ['postgres-start'],
      environment: { PGDATA: '/data/pg' },
      secrets,
      volumes: [{ volumeId: data, mountPath: '/data', readOnly: false }],
    });
    const volumes = [{ volumeId: copied, mountPath: '/data', readOnly: false }];
    await cluster.deploy(shop, { name: 'leased', command: ['sleep', '3600'], volumes });
    await cluster.deploy(shop, {
      name: 'web',
      image: NGINX,
      ...at,
      command: ['nginx', '-c', '/etc/nginx/site.conf', '-g', 'daemon off;'],
      files: [{ path: '/etc/nginx/site.conf', content: SITE }],
      ports: [{ container: 8080 }],
      healthCheck: {
        type: 'exec',
        command: ['wget -q -O /dev/null http://127.0.0.1:8080/'],
        interval: '500ms',
        retries: 3,
      },
    });
    await cluster.deploy(shop, { name: 'client', ...at });
    // Does not listen to the signal: its stop is under way when the power goes.
    const stubborn = ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'];
    await cluster.deploy(shop, { name: 'leaving', ...at, command: stubborn, stop: { grace: '60s' } });
    const job = { kind: 'Job', name: 'once', image: 'berth.test/box:1', ...at };
    expect((await shop.call('POST', '/api/v1/jobs', { ...job, command: ['sleep', '3600'] })).status).toBe(
      201,
    );
    for (const name of ['db', 'leased', 'web', 'client', 'leaving'])
      await cluster.phase(shop, name, 'Running');
    await eventually(
      'the job runs',
      () => statusOf(JOB),
      (status) => status === 'running',
    );
    await eventually(
      'a table',
      () => psql('create table if not exists t(n int)'),
      (made) => made === 'CREATE TABLE',
    );
    await psql('insert into t values (1), (2), (3)');
    await eventually('the page', page, isHello);
    const mapped = (): string => readFileSync(join(one.agent.dataDir, 'mesh-map.json'), 'utf8');
    const web = (await one.containers('web'))[0]?.labels['berth.io/instance'] ?? '';
    await eventually('the map is kept', mapped, (map) => map.includes(web));
    await cluster.update(shop, 'leaving', { replicas: 0 });
    await eventually('the stop is ordered', () => one.agent.log().includes('"step":"stop"'), Boolean);

    await cluster.plane.end('SIGKILL');
    const made = new Map(
      (await one.containers()).map(({ id, labels }) => [labels['berth.io/deployment'], id]),
    );
    await losePower(one);
    expect(
      await one.docker.ping().then(
        () => 'answers',
        () => 'away',
      ),
    ).toBe('away');
    await powerOn(one);

    expect(
      await eventually(
        'rows',
        () => psql('select sum(n) from t'),
        (sum) => sum === '6',
        OFFLINE_MS,
      ),
    ).toBe('6');
    await eventually('the page again', page, isHello, OFFLINE_MS);
    const log = await eventually(
      'it says why',
      () => one.agent.log(),
      (text) => text.includes('waits for its lease') && text.includes('a run that ended is not repeated'),
    );
    expect(log).toContain('going by its last orders');
    await eventually(
      'it was to stop',
      () => statusOf('leaving'),
      (status) => status === 'exited',
      OFFLINE_MS,
    );
    for (const name of ['leased', JOB]) expect(await statusOf(name)).toBe('exited');
    // Started, never made: the same containers, and no other.
    expect(
      new Map((await one.containers()).map(({ id, labels }) => [labels['berth.io/deployment'], id])),
    ).toEqual(made);

    await cluster.plane.start();
    await eventually(
      'it has its lease',
      () => statusOf('leased'),
      (status) => status === 'running',
      OFFLINE_MS,
    );
    await eventually(
      'the stopped one goes',
      () => statusOf('leaving'),
      (status) => status === undefined,
    );
    const [told] = await eventually(
      'the event',
      () => cluster.events(shop, 'node.started_offline', one.name),
      (events) => events.length > 0,
    );
    expect(told?.details?.['waiting']).toContainEqual(
      expect.objectContaining({
        reason: 'volume_not_ready',
        message: expect.stringContaining('waits for its lease'),
      }),
    );
    for (const name of ['db', 'web', 'client', 'leased'])
      await cluster.phase(shop, name, 'Running', OFFLINE_MS);
    expect(await psql('select sum(n) from t')).toBe('6');
    expect((await one.containers('db'))[0]?.id).toBe(made.get('db'));
  }, 240_000);
});
