import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  BOX,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;
let one: ClusterNode;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  one = await cluster.node('life-1', shop);
  await cluster.node('life-2', shop);
});

afterAll(async () => {
  await cluster.stop();
});

const running = (count: number) => (status: { phase: string; running: number }) =>
  status.phase === 'Running' && status.running === count;

describe('a deployment', () => {
  it('is created, scaled without touching what runs, stopped and deleted', async () => {
    await cluster.deploy(shop, { name: 'web', replicas: 2 });
    await cluster.status(shop, 'web', 'runs twice', running(2));
    const two = await cluster.pids('web');
    expect(Object.keys(two)).toHaveLength(2);
    // Spread over the nodes, each container has the deployment's own name.
    expect((await cluster.containers('web')).map(({ name }) => name)).toEqual(['web', 'web']);

    await cluster.update(shop, 'web', { replicas: 4 });
    await cluster.status(shop, 'web', 'runs four times', running(4));
    const four = await cluster.pids('web');
    expect(Object.keys(four)).toHaveLength(4);
    expect(four).toMatchObject(two);
    for (const { name, labels } of await cluster.containers('web')) {
      expect(name).toMatch(/^web(-[a-z0-9]+)?$/);
      expect(labels).toMatchObject({
        'berth.io/tenant': shop.id,
        'berth.io/deployment': 'web',
        'berth.io/secrets-version': '0',
        'berth.io/spec-hash': expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      });
    }

    await cluster.update(shop, 'web', { replicas: 1 });
    await eventually(
      'one is left',
      () => cluster.pids('web'),
      (left) => Object.keys(left).length === 1,
    );
    expect(four).toMatchObject(await cluster.pids('web'));

    await cluster.update(shop, 'web', { replicas: 0 });
    await cluster.phase(shop, 'web', 'Stopped');
    expect(await cluster.containers('web')).toEqual([]);
    expect((await shop.call('GET', '/api/v1/deployments/web')).status).toBe(200);

    await cluster.update(shop, 'web', { replicas: 1 });
    await cluster.status(shop, 'web', 'runs again', running(1));
    await cluster.remove(shop, 'web');
    expect((await shop.call('GET', '/api/v1/deployments/web')).status).toBe(404);
    expect((await shop.call('GET', '/api/v1/nodes/life-1/containers')).body).toEqual([]);
  });

  it('runs confined, with its constants and its command byte for byte', async () => {
    const environment = {
      QUOTES: `a'b"c\\d`,
      SHELL: '$(touch /tmp/x) `id` ; rm -rf / && $HOME ${PATH} | cat > /tmp/y',
      LINES: 'one\ntwo\t\u00e4\u{1f6a2}',
      EQUALS: '=a=b=',
      EMPTY: '',
    };
    const command = ['sh', '-c', 'echo "$1"; exec sleep 3600', 'sh', 'a b; $(id) "q"'];
    await cluster.deploy(shop, { name: 'bytes', environment, command });
    await cluster.phase(shop, 'bytes', 'Running');
    for (const [name, value] of Object.entries(environment)) {
      const { body } = await cluster.exec(shop, 'bytes', ['sh', '-c', `printf %s "$${name}"`]);
      expect([name, body.stdout, body.exitCode]).toEqual([name, value, 0]);
    }
    const logged = await eventually(
      'its output',
      () => shop.call('GET', '/api/v1/deployments/bytes/logs?tail=5'),
      ({ body }) => body !== '',
    );
    expect(logged.body).toBe('a b; $(id) "q"\n');

    const [container] = await cluster.containers('bytes');
    const node = cluster.nodes.find(({ name }) => name === container?.labels['berth.io/node']);
    const { HostConfig, Config } = await (node ?? one).inspect(container?.id ?? '');
    expect(Config.Cmd).toEqual(command);
    expect(HostConfig).toMatchObject({
      Privileged: false,
      CapDrop: ['ALL'],
      PidMode: '',
      IpcMode: 'private',
      UTSMode: '',
      NetworkMode: 'berth-shop',
      Binds: null,
      Devices: [],
    });
    expect(HostConfig.SecurityOpt).toContain('no-new-privileges');
    expect(HostConfig.PidsLimit).toBeGreaterThan(0);
    expect(HostConfig.CapAdd ?? []).not.toContain('CAP_SYS_ADMIN');
    await cluster.remove(shop, 'bytes');
  });

  it("is found by its name on the tenant's network", async () => {
    await cluster.deploy(shop, { name: 'db', nodeId: 'life-1' });
    await cluster.deploy(shop, { name: 'app', nodeId: 'life-1' });
    await cluster.phase(shop, 'db', 'Running');
    await cluster.phase(shop, 'app', 'Running');
    const [db] = await one.containers('db');
    const address = db?.networks.find(({ name }) => name === 'berth-shop')?.ip;
    const { body } = await cluster.exec(shop, 'app', ['nslookup', 'db', '127.0.0.11']);
    expect(body.stdout).toContain(address);
    await cluster.remove(shop, 'db', 'app');
  });

  it('waits for a dependency to be healthy, and says so', async () => {
    const healthCheck = { type: 'exec', command: ['test -e /tmp/ready'], interval: '400ms', retries: 3 };
    await cluster.deploy(shop, { name: 'queue', healthCheck });
    await cluster.deploy(shop, { name: 'worker', dependsOn: { queue: 'healthy' } });
    await cluster.status(shop, 'queue', 'runs', ({ running: count }) => count === 1);
    const waiting = await cluster.phase(shop, 'worker', 'Waiting');
    expect(waiting.message).toContain('queue');
    expect(waiting.message).toContain('healthy');
    expect(await cluster.containers('worker')).toEqual([]);
    await cluster.exec(shop, 'queue', ['touch', '/tmp/ready']);
    await cluster.phase(shop, 'worker', 'Running');
    // A gate is passed once: a dependency that falls ill later stops nobody.
    const before = await cluster.pids('worker');
    await cluster.exec(shop, 'queue', ['rm', '/tmp/ready']);
    await cluster.phase(shop, 'queue', 'Degraded');
    expect(await cluster.pids('worker')).toEqual(before);
    await cluster.remove(shop, 'worker', 'queue');
  });
});

describe('what goes wrong in a container is told', () => {
  it('a health check whose command is not in the image', async () => {
    const healthCheck = { type: 'exec', command: ['no-such-probe', '--fast'], interval: '400ms' };
    await cluster.deploy(shop, { name: 'blind', healthCheck });
    const { message } = await cluster.phase(shop, 'blind', 'Degraded');
    expect(message).toContain('no-such-probe');
    expect(message).toContain('does not exist');
    await cluster.remove(shop, 'blind');
  });

  it('a container that ends again and again', async () => {
    await cluster.deploy(shop, { name: 'crash', command: ['sh', '-c', 'exit 42'] });
    const { message } = await cluster.status(
      shop,
      'crash',
      'is in a crash loop',
      (status) => status.phase === 'Degraded' && status.message.includes('again and again'),
    );
    expect(message).toMatch(/\b42\b/);
    const { body } = await shop.call('GET', '/api/v1/deployments/crash/instances');
    expect(body[0]).toMatchObject({ reason: 'crash_loop' });
    await cluster.remove(shop, 'crash');
  });

  it('a command that is not in the image', async () => {
    await cluster.deploy(shop, { name: 'nothing', command: ['/no/such/program'] });
    const { message } = await cluster.phase(shop, 'nothing', 'Degraded');
    expect(message).toMatch(/code 127\b.*does not exist in the image/);
    await cluster.remove(shop, 'nothing');
  });
});

describe('through the control plane', () => {
  it('logs are read from the end and followed, however slowly', async () => {
    const print = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i"; done; exec sleep 3600';
    await cluster.deploy(shop, { name: 'talk', command: ['sh', '-c', print] });
    await cluster.phase(shop, 'talk', 'Running');
    await eventually(
      'all is printed',
      () => shop.call('GET', '/api/v1/deployments/talk/logs?tail=2'),
      ({ body }) => body === 'line 19999\nline 20000\n',
    );
    const token = await cluster.plane.token('shop', 'viewer');
    const left = new AbortController();
    const response = await fetch(`${cluster.plane.url}/api/v1/deployments/talk/logs?follow=true&tail=20000`, {
      headers: { authorization: `Bearer ${token}` },
      signal: left.signal,
    });
    let text = '';
    let pieces = 0;
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString();
      pieces += 1;
      if (pieces < 30) await new Promise((resolve) => setTimeout(resolve, 50));
      if (text.includes('"line 20000"')) break;
    }
    left.abort();
    const lines = [...text.matchAll(/"line":"line (\d+)"/g)].map(([, number]) => Number(number));
    expect(lines).toEqual(Array.from({ length: 20_000 }, (_, index) => index + 1));
    await cluster.remove(shop, 'talk');
  });

  it('a command answers with its output and exit code', async () => {
    await cluster.deploy(shop, { name: 'shell', image: BOX });
    await cluster.phase(shop, 'shell', 'Running');
    const { body } = await cluster.exec(shop, 'shell', ['sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(body).toMatchObject({ exitCode: 7, stdout: 'out\n', stderr: 'err\n' });
    await cluster.remove(shop, 'shell');
  });
});
