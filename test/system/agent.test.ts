import { statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProcess } from '../support/harness/agent-process.ts';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { FakeControlPlane, JOIN_TOKEN, NODE_TOKEN, TENANT } from '../support/harness/fake-control-plane.ts';
import { pushImage, startRegistry } from '../support/harness/registry.ts';

let daemon: TestEngine;

beforeAll(async () => {
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
});

afterAll(async () => {
  await daemon.stop();
});

describe('an agent', () => {
  it('needs no flags after its first start', async () => {
    await using bench = await AgentBench.start(daemon, ['--label=berth.io/country=DE']);
    const ready = (): number => bench.agent.log().match(/^node n1 ready: .*, country=DE$/gm)?.length ?? 0;
    await expect.poll(ready, { timeout: 20_000 }).toBe(1);
    expect(await bench.agent.end('SIGTERM')).toBe(0);
    bench.agent.launchWithoutFlags();
    await expect.poll(ready, { timeout: 20_000 }).toBe(2);
    expect(bench.agent.log()).toContain(`--engine ${daemon.socketPath} --label berth.io/country=DE`);
  });

  it('runs a deployment whose name has one letter', async () => {
    await using bench = await AgentBench.start(daemon);
    bench.plane.assign([instance('ins_0001', {}, { deployment: 'w' })]);
    const seen = await bench.plane.untilPhase('ins_0001', 'running');
    expect(seen).toMatchObject({ containerName: 'w-ins0001' });
  });

  it('joins, runs an instance and stops it', async () => {
    await using bench = await AgentBench.start(daemon, ['--label=berth.io/country=DE']);
    const { plane, agent, engine } = bench;
    plane.assign([
      instance('ins_0001', { environment: { A: 'b' }, labels: { 'berth.io/node': 'other', team: 'x' } }),
    ]);
    const seen = await plane.untilPhase('ins_0001', 'running');
    expect(seen).toMatchObject({ containerName: 'web', specHash: 'hash1', secretsVersion: 0 });
    expect(plane.registration).toMatchObject({
      nodeName: 'n1',
      labels: { 'berth.io/country': 'DE' },
      platform: expect.stringMatching(/^linux\//) as string,
      engine: { kind: 'docker' },
    });
    expect(agent.log()).toMatch(/^node n1 ready: docker \d+\.\d+, \d+ CPU, [\d.]+ GiB, country=DE$/m);
    const state = await engine.inspect('web');
    expect(state.labels).toEqual({
      team: 'x',
      'berth.io/tenant': TENANT.id,
      'berth.io/deployment': 'web',
      'berth.io/instance': 'ins_0001',
      'berth.io/spec-hash': 'hash1',
      'berth.io/secrets-version': '0',
      'berth.io/attempt': '0',
      'berth.io/node': 'n1',
      'berth.io/install': 'inst-test',
    });
    expect(state.networks).toMatchObject([
      { name: 'berth-shop', aliases: expect.arrayContaining(['web']) as string[] },
    ]);

    plane.assign([stopped('ins_0001')]);
    await plane.untilPhase('ins_0001', 'removed');
    expect(await engine.list({ all: true })).toEqual([]);
    const begun = performance.now();
    expect(await agent.end('SIGTERM')).toBe(0);
    expect(performance.now() - begun).toBeLessThan(2000);
    for (const token of [JOIN_TOKEN, NODE_TOKEN]) expect(agent.log()).not.toContain(token);
    for (const file of ['identity.json', 'node.key']) {
      expect(statSync(join(agent.dataDir, file)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(agent.dataDir).mode & 0o777).toBe(0o700);
  });

  it('ends with the reason when it may not join', async () => {
    await using plane = await FakeControlPlane.start();
    await using agent = new AgentProcess({
      server: plane.url,
      name: 'n1',
      socketPath: daemon.socketPath,
      joinToken: 'berth_join_wrong',
      environment: { BERTH_AGENT_LOG_LEVEL: 'debug' },
    });
    agent.launch();
    expect(await agent.end()).toBe(1);
    expect(agent.log()).toContain('registration refused: join_token_invalid');
    expect(agent.log()).toContain('an unused join token');
    expect(agent.log()).toContain('/docs/errors/join_token_invalid');
    expect(agent.log()).not.toContain('berth_join_wrong');
  });

  it('replaces the container when attempt or spec change, and names instances apart', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, engine } = bench;
    const other = instance('ins_bbbbbbbb');
    plane.assign([instance('ins_aaaaaaaa'), other]);
    await plane.untilPhase('ins_aaaaaaaa', 'running');
    await plane.untilPhase('ins_bbbbbbbb', 'running');
    const names = (await engine.list({ all: true })).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['web', expect.stringMatching(/^web-[ab]{8}$/)]);
    const before = await bench.pids();

    plane.assign([instance('ins_aaaaaaaa', {}, { attempt: 1, specHash: 'hash2' }), other]);
    await plane.until('the new one', () => {
      const seen = plane.observations.get('ins_aaaaaaaa');
      return seen?.specHash === 'hash2' && seen.phase === 'running';
    });
    const after = await bench.pids();
    expect(after.get('ins_aaaaaaaa')).not.toBe(before.get('ins_aaaaaaaa'));
    expect(after.get('ins_bbbbbbbb')).toBe(before.get('ins_bbbbbbbb'));
  });

  it('leaves a foreign container of the same name alone', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, engine } = bench;
    const foreign = await engine.createContainer({
      name: 'web',
      image: TEST_IMAGE,
      env: [],
      labels: {},
      ownLabels: {},
      restart: { name: 'no' },
      mounts: [],
      ports: [],
    });
    plane.assign([instance('ins_12345678')]);
    expect(await plane.untilPhase('ins_12345678', 'running')).toMatchObject({
      containerName: 'web-12345678',
    });
    expect(await engine.inspect('web')).toMatchObject({ id: foreign, status: 'created' });
  });

  it('stops nothing that it was not told to stop, and asks about what it does not know', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.assign([instance('ins_1'), instance('ins_2')], 5);
    await plane.untilPhase('ins_1', 'running');
    await plane.untilPhase('ins_2', 'running');
    const before = await bench.pids();

    plane.assign([stopped('ins_1')], 4);
    plane.send({ type: 'assignment', epoch: plane.epoch + 1, generation: 9, instances: [stopped('ins_1')] });
    plane.assign([], 6);
    await plane.until('the question', () => plane.asked.length > 0);
    expect(plane.asked[0]?.toSorted()).toEqual(['ins_1', 'ins_2']);
    plane.send({ type: 'verdict', epoch: plane.epoch - 1, remove: ['ins_1'] });
    plane.send({ type: 'verdict', epoch: plane.epoch, remove: ['ins_2', 'ins_unknown'] });
    await plane.until(
      'only one',
      () => !plane.observations.has('ins_2') || plane.observations.get('ins_2')?.phase !== 'running',
    );
    await expect
      .poll(async () => [...(await bench.pids().catch(() => new Map<string, number>())).keys()], {
        timeout: 15_000,
      })
      .toEqual(['ins_1']);
    expect((await bench.pids()).get('ins_1')).toBe(before.get('ins_1'));
  });

  it('makes no container without its secrets, and makes it when they can be had', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, engine, agent } = bench;
    plane.secrets = { ok: false };
    plane.assign([
      instance('ins_1', { needsSecrets: true, command: ['sh', '-c', 'echo "$DB_password"; sleep 999'] }),
    ]);
    const seen = await plane.untilPhase('ins_1', 'failed');
    expect(seen).toMatchObject({
      reason: 'secret_unresolved',
      message: expect.stringContaining('403') as string,
    });
    await plane.until('another try', () => plane.resolves.length >= 3);
    expect(await engine.list({ all: true })).toEqual([]);

    plane.secrets = { ok: true, environment: { DB_password: 'marker-5f2c' } };
    expect((await plane.untilPhase('ins_1', 'running', 10_000)).reason).toBeUndefined();
    const { id } = await engine.inspect('web');
    for await (const { line } of engine.logs(id, { follow: true })) {
      expect(line).toBe('marker-5f2c');
      break;
    }
    expect(agent.log()).not.toContain('marker-5f2c');
    expect(JSON.stringify(plane.reports)).not.toContain('marker-5f2c');
  });

  it('pulls an image, with credentials where the registry wants them', async () => {
    const auth = { username: 'puller', password: 'marker-91be' };
    const registry = await startRegistry({ auth });
    const relay = await relayFrom(daemon.namespace?.hostAddress ?? '', registry.port);
    try {
      await pushImage(registry, 'shop/web:1', { cmd: ['sleep', '3600'] });
      await using bench = await AgentBench.start(daemon);
      const { plane, agent } = bench;
      const image = `${relay.address}/shop/web:1`;
      plane.assign([instance('ins_0', { image })]);
      expect((await plane.untilPhase('ins_0', 'failed')).reason).toBe('image_pull_failed');
      // No container of these needs secrets; the registry does.
      plane.secrets = { ok: true, environment: {}, registry: auth };
      plane.assign([1, 2, 3].map((n) => instance(`ins_${n}`, { image })));
      for (const n of [1, 2, 3]) await plane.untilPhase(`ins_${n}`, 'running');
      plane.assign([instance('ins_4', { image: `${relay.address}/shop/web:missing` })]);
      const failed = await plane.untilPhase('ins_4', 'failed');
      expect(failed).toMatchObject({
        reason: 'image_pull_failed',
        message: expect.stringContaining('missing') as string,
      });
      expect(agent.log()).not.toContain(auth.password);

      await pushImage(registry, 'shop/late:1', { cmd: ['sleep', '3600'] });
      relay.hold(true);
      plane.assign([instance('ins_5', { image: `${relay.address}/shop/late:1` })]);
      await plane.untilPhase('ins_5', 'pulling');
      await agent.end('SIGKILL');
      agent.launch();
      await plane.until('a new session', () => plane.connected);
      relay.hold(false);
      await plane.untilPhase('ins_5', 'running');
      expect((await bench.pids()).has('ins_5')).toBe(true);
    } finally {
      relay.server.close();
      await registry.stop();
    }
  });

  it('has everything running again after a restart of the engine that took its containers down', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.assign([instance('ins_1'), instance('ins_2')]);
    await plane.untilPhase('ins_1', 'running');
    await plane.untilPhase('ins_2', 'running');
    const before = await bench.pids();
    await daemon.restart();
    const pids = async (): Promise<readonly number[]> => [
      ...(await bench.pids().catch(() => new Map<string, number>())).values(),
    ];
    await expect.poll(async () => (await pids()).length, { timeout: 15_000 }).toBe(2);
    expect((await pids()).some((pid) => [...before.values()].includes(pid))).toBe(false);
    await plane.until('both told', () =>
      ['ins_1', 'ins_2'].every((id) => plane.observations.get(id)?.phase === 'running'),
    );
  });

  it('tells why a container does not do what it should', async () => {
    await using bench = await AgentBench.start(daemon, ['--bind-root=/srv/berth-test']);
    const { plane } = bench;
    const check = { intervalMs: 200, timeoutMs: 1000, retries: 1 };
    plane.assign([
      instance('crash', { command: ['sh', '-c', 'exit 7'] }, { deployment: 'crash' }),
      instance('bind', {
        mounts: [{ volumeId: 'v', kind: 'bind', source: '/etc', target: '/x', readOnly: true }],
      }),
      instance('gone', { command: ['/no/such/program'] }, { deployment: 'gone' }),
      instance('port', { ports: [{ container: 80, host: 18_080 }] }, { deployment: 'port' }),
      instance(
        'check',
        { healthCheck: { command: ['curl -f localhost'], ...check } },
        { deployment: 'check' },
      ),
      instance('well', { healthCheck: { command: ['true', 'yes'], ...check } }, { deployment: 'well' }),
    ]);
    const reason = (id: string, wanted: string): Promise<unknown> =>
      plane.until(`${id} ${wanted}`, () => plane.observations.get(id)?.reason === wanted);
    await reason('bind', 'bind_not_allowed');
    await reason('gone', 'command_not_found');
    await reason('check', 'healthcheck_command_not_found');
    expect(plane.observations.get('check')?.message).toContain('curl');
    await plane.until('healthy', () => plane.observations.get('well')?.health === 'healthy');
    expect(plane.observations.get('well')?.healthySince).toBeDefined();
    expect(await plane.untilPhase('port', 'running')).toMatchObject({ phase: 'running' });
    await plane.until('its port', () => plane.observations.get('port')?.ports?.[0]?.host === 18_080);
    plane.assign([
      instance('crash', { command: ['sh', '-c', 'exit 7'] }, { deployment: 'crash' }),
      instance('port', { ports: [{ container: 80, host: 18_080 }] }, { deployment: 'port' }),
      instance('port2', { ports: [{ container: 80, host: 18_080 }] }, { deployment: 'port2' }),
    ]);
    await reason('port2', 'port_in_use');
    await reason('crash', 'crash_loop');
    expect(plane.observations.get('crash')?.message).toContain('exit code 7');
  });
});

interface Relay {
  readonly server: Server;
  readonly address: string;
  /** While set, connections wait. */
  hold(hold: boolean): void;
}

/** A registry on loopback, for an engine in another network namespace. */
async function relayFrom(host: string, port: number): Promise<Relay> {
  let held = false;
  let waiting: (() => void)[] = [];
  const server = createServer((client) => {
    const join = (): void => {
      const upstream = connect(port, '127.0.0.1');
      client.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => client.destroy()).pipe(client);
    };
    client.on('error', () => {});
    if (held) waiting.push(join);
    else join();
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const hold = (hold: boolean): void => {
    held = hold;
    const all = waiting;
    waiting = [];
    if (!hold) for (const join of all) join();
  };
  return { server, address: `${host}:${port}`, hold };
}
