import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeName, TenantId, VolumeId } from '../../src/core/model/ids.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, eventKinds, NodeFlow } from '../support/harness/node-flow.ts';
import { refusedUpgrade, type ScriptedAgent } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let bank: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_AGENTS_SESSIONS_PER_SECOND: '500' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
});

afterAll(async () => {
  flow.close();
  await plane.close();
});

function assigned(agent: ScriptedAgent, id: string) {
  return agent.next('assignment', ({ instances }) => instances.some((one) => one.id === id));
}

describe('assignments', () => {
  it('name what a container is made from, in the units of the agent', async () => {
    const { agent } = await flow.connected('whole-1', shop);
    const store = plane.store.forTenant(shop.id as TenantId);
    const volume = {
      id: 'vol_test' as VolumeId,
      tenantId: shop.id as TenantId,
      name: 'data',
      class: 'ephemeral',
      type: 'volume',
      phase: 'Ready',
      sizeBytes: 2 ** 27,
      primaryNodeId: 'whole-1' as NodeName,
      replicas: [],
      accessMode: 'ReadWriteOnce',
      epoch: 1,
      copies: 0,
      leaving: [],
      leaseMs: 15_000,
      createdAt: new Date(0).toISOString(),
    } as const;
    await store.commit(store.transaction().put('volumes', idOf('volumes', volume.id), volume));
    const instance = await flow.placed(shop, 'whole', 'whole-1', {
      command: ['/bin/web'],
      labels: { team: 'shop' },
      ports: [{ container: 8080, host: 18080 }],
      ingress: [{ host: 'a.example.com', port: 8080, provider: 'traefik' }],
      resources: { limits: { memory: '512Mi' } },
      volumes: [{ volumeId: volume.id, mountPath: '/data', readOnly: false }],
      healthCheck: {
        type: 'exec',
        command: ['wget -qO- localhost'],
        interval: '1m30s',
        timeout: '10s',
        retries: 3,
        startPeriod: '500ms',
      },
      secrets: [{ name: 'DB', vault_path: 'resources/whole-db', anchor: 'external', rotation: 'restart' }],
    });
    const { instances } = await assigned(agent, instance.id);
    expect(instances).toEqual([
      {
        id: instance.id,
        deployment: 'whole',
        wanted: 'run',
        specHash: instance.specHash,
        secretsVersion: 0,
        attempt: instance.attempt,
        // Three intervals of its check: it is the oldest of its deployment.
        aloneRestartMs: 270_000,
        container: {
          image: 'localhost:1/shop/web:1.0.0',
          command: ['/bin/web'],
          environment: {},
          needsSecrets: true,
          healthCheck: {
            command: ['wget -qO- localhost'],
            intervalMs: 90_000,
            timeoutMs: 10_000,
            retries: 3,
            startPeriodMs: 500,
          },
          limits: { memory: '512Mi' },
          bounds: { memoryBytes: Math.floor(0.9 * 8 * 2 ** 30), pids: 4096, cpuWeight: 100, logBytes: 30e6 },
          ports: [{ container: 8080, host: 18080 }],
          labels: {
            team: 'shop',
            'traefik.enable': 'true',
            'traefik.docker.network': 'berth-shop',
            'traefik.http.routers.whole.rule': 'Host(`a.example.com`)',
            'traefik.http.routers.whole.service': 'whole',
            'traefik.http.services.whole.loadbalancer.server.port': '8080',
          },
          mounts: [
            { volumeId: 'vol_test', kind: 'volume', target: '/data', readOnly: false, sizeBytes: 2 ** 27 },
          ],
          alias: 'whole',
        },
      },
    ]);
  });

  it('are whole, ordered by generation, and reach only the node they concern', async () => {
    const { agent } = await flow.connected('push-1', shop);
    const other = await flow.connected('push-2', shop);
    const first = await flow.placed(shop, 'push', 'push-1');
    const one = await assigned(agent, first.id);
    await shop.call('PUT', '/api/v1/deployments/push', { replicas: 2 });
    const both = await flow.instances(shop, 'push', 2);
    const second = both.find(({ id }) => id !== first.id)?.id ?? '';
    const two = await assigned(agent, second);
    expect(two.generation).toBe(one.generation + 1);
    expect(two.instances.map(({ id }) => id)).toEqual([first.id, second]);
    await shop.call('PUT', '/api/v1/deployments/push', { replicas: 0 });
    const stop = await agent.next('assignment', ({ instances }) =>
      instances.every(({ wanted }) => wanted === 'stop'),
    );
    expect(stop.instances.map(({ id, container }) => [id, container])).toEqual([
      [first.id, undefined],
      [second, undefined],
    ]);
    agent.report(both.map(({ id }) => ({ id, phase: 'removed' })));
    await agent.next('assignment', ({ instances }) => instances.length === 0);
    expect(other.agent.received.filter(({ type }) => type === 'assignment')).toEqual([]);
  });
});

describe('reports', () => {
  it('are taken of what is assigned to the node and of nothing else (I-12)', async () => {
    const { agent } = await flow.connected('says-1', shop);
    await flow.connected('says-2', shop);
    await flow.connected('says-3', bank);
    const own = await flow.placed(shop, 'says', 'says-1');
    const neighbour = await flow.placed(shop, 'says-too', 'says-2');
    const foreign = await flow.placed(bank, 'says', 'says-3');
    agent.report([
      { id: foreign.id, phase: 'failed' },
      { id: neighbour.id, phase: 'failed' },
      { id: own.id, phase: 'running', message: 'a\u0000b' },
    ]);
    const state = async (tenant: typeof shop, name: string) =>
      (await tenant.call('GET', `/api/v1/deployments/${name}/instances`)).body[0];
    const seen = await eventually(
      () => state(shop, 'says'),
      (one) => one.state === 'running',
    );
    expect(seen.message).toBe('a b');
    expect((await state(shop, 'says-too')).state).toBe('pending');
    expect((await state(bank, 'says')).state).toBe('pending');
  });

  it('cost no write when nothing changed', async () => {
    const { agent } = await flow.connected('quiet-1', shop);
    const instance = await flow.placed(shop, 'quiet', 'quiet-1');
    const observation = { id: instance.id, phase: 'running', health: 'healthy' } as const;
    agent.report([observation]);
    const observations = plane.store.forTenant(shop.id as TenantId).collection('observations');
    const stored = () => observations.get(idOf('observations', 'quiet', instance.id))?.modRevision;
    const revision = await eventually(
      async () => stored(),
      (one) => one !== undefined,
    );
    for (let index = 0; index < 50; index += 1) agent.report([observation]);
    agent.report([{ ...observation, restarts: 1 }]);
    await eventually(
      async () => stored(),
      (one) => one !== revision,
    );
    const { entries } = await plane.store.kv.range('h/', { revision: (stored() ?? 0) - 1 });
    const before = entries.find(({ key }) => key.includes('/observations/') && key.endsWith(instance.id));
    expect(before?.modRevision).toBe(revision);
  });

  it('say when a stopped instance is gone, and do not bring a deleted one back', async () => {
    const { agent } = await flow.connected('gone-1', shop);
    const instance = await flow.placed(shop, 'gone', 'gone-1');
    const list = async () => (await shop.call('GET', '/api/v1/deployments/gone/instances')).body;
    agent.report([{ id: instance.id, phase: 'running' }]);
    await eventually(list, (found) => found[0].state === 'running');
    await shop.call('PUT', '/api/v1/deployments/gone', { replicas: 0 });
    await eventually(list, (found) => found[0].state === 'stopping');
    agent.report([{ id: instance.id, phase: 'removed' }]);
    await eventually(list, (found) => found.length === 0);
    agent.report([{ id: instance.id, phase: 'running' }]);
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [instance.id] });
    // Messages are taken in order: with the verdict, the report before it was taken too.
    expect((await agent.next('verdict')).remove).toEqual([instance.id]);
    const tenant = plane.store.forTenant(shop.id as TenantId);
    expect(tenant.get('observations', idOf('observations', 'gone', instance.id))).toBeUndefined();
  });

  it('of what was done without a control plane, and of removed images, become events of what is of that node', async () => {
    const { agent } = await flow.connected('offline-1', shop);
    const instance = await flow.placed(shop, 'offline', 'offline-1');
    const waiting = ['ins_elses', instance.id].map((instanceId) => ({
      instanceId,
      reason: 'volume_not_ready',
      message: 'waits for its lease',
    }));
    agent.send({
      type: 'report',
      epoch: agent.epoch,
      generation: 1,
      full: true,
      observations: [],
      offline: { started: [instance.id, 'ins_elses'], stopped: [], waiting },
      cleaned: [{ cause: 'disk', images: [{ image: 'reg.test/a:1', bytes: 2 ** 20 }] }],
    });
    const { body } = await eventually(
      () => shop.call('GET', '/api/v1/events?subject=offline-1'),
      (answer) => answer.body.some(({ kind }: { kind: string }) => kind === 'node.cleaned'),
    );
    const of = (wanted: string) => body.find(({ kind }: { kind: string }) => kind === wanted);
    expect(of('node.started_offline').details).toEqual({
      started: [instance.id],
      stopped: [],
      waiting: [waiting[1]],
    });
    expect(of('node.started_offline').message).toContain('waits for its lease');
    expect(of('node.cleaned')).toMatchObject({
      message: expect.stringContaining('removed images (1, 1 MiB), e.g. reg.test/a:1'),
      details: { cause: 'disk', images: [{ image: 'reg.test/a:1', bytes: 2 ** 20 }] },
    });
  });

  it('of images that are not used are answered with those that are needed, of the same tenant only', async () => {
    await deploy(shop.call, 'imaged', { image: 'localhost:1/shop/imaged:9.0.0', replicas: 0 });
    const { agent } = await flow.connected('images-1', shop);
    const { agent: other } = await flow.connected('images-2', bank);
    const store = plane.store.forTenant(shop.id as TenantId);
    const digests = ['0', '1', '2', '3', '4'].map((digit) => `sha256:${digit.repeat(64)}`);
    const image = 'localhost:1/shop/imaged:9.0.0';
    const seenImages = digests.map((digest, at) => ({ image, digest, version: 9 - at }));
    const stored = store.get('deployments', idOf('deployments', 'imaged'));
    if (stored === undefined) throw new Error('no deployment');
    const record = { ...stored.record, imageDigest: digests[0] ?? '', seenImages };
    await store.commit(store.transaction().put('deployments', stored.id, record));
    const pinned = digests.map((digest) => `localhost:1/shop/imaged@${digest}`);
    const images = [...pinned, 'localhost:1/shop/imaged:1.0.0', 'localhost:1/shop/unknown:1.0.0'];
    for (const one of [agent, other])
      one.send({ type: 'ask-images', epoch: one.epoch, requestId: 'r1', images });
    const { needed } = await agent.next('images-needed');
    expect(needed.map((one) => one.image)).toEqual([
      ...pinned.slice(0, 4),
      // By its tag: which version it was is not known.
      'localhost:1/shop/imaged:1.0.0',
    ]);
    expect(needed.map(({ why }) => why)[1]).toBe('deployment imaged may be rolled back to it');
    expect((await other.next('images-needed')).needed).toEqual([]);
    // Of a session that is over.
    agent.send({ type: 'ask-images', epoch: agent.epoch - 1, requestId: 'r2', images });
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [] });
    await agent.next('verdict');
    expect(agent.received.some(({ type }) => type === 'images-needed')).toBe(false);
  });

  it('of an engine that does not answer become events, once', async () => {
    const { agent } = await flow.connected('engine-1', shop);
    const report = {
      type: 'report',
      epoch: agent.epoch,
      generation: 1,
      full: true,
      observations: [],
    } as const;
    for (const problem of [{ engineProblem: 'timeout' }, { engineProblem: 'timeout' }, {}, {}]) {
      agent.send({ ...report, ...problem });
    }
    const kinds = await eventually(
      () => eventKinds(shop.call, 'engine-1', ['node.engine']),
      (found) => found.length >= 2,
    );
    expect(kinds).toEqual(['node.engine_failed', 'node.engine_recovered']);
  });
});

describe('questions', () => {
  it('about unknown containers are answered for this node alone', async () => {
    const { agent } = await flow.connected('asks-1', shop);
    await flow.connected('asks-2', shop);
    const own = await flow.placed(shop, 'asks', 'asks-1');
    const neighbour = await flow.placed(shop, 'asks-too', 'asks-2');
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: ['ins_gone', own.id, neighbour.id] });
    expect((await agent.next('verdict')).remove).toEqual(['ins_gone', neighbour.id]);
  });

  it('about secrets are answered to the node of the instance, for the form that is wanted, and to no other (I-12)', async () => {
    const { agent } = await flow.connected('needs-1', shop);
    const other = await flow.connected('needs-2', shop);
    const foreign = await flow.connected('needs-3', bank);
    await shop.call('PUT', '/api/v1/secrets/resources/needs-db', { values: { password: 'canary-needs-db' } });
    const instance = await flow.placed(shop, 'needs', 'needs-1', {
      secrets: [{ name: 'DB', vault_path: 'resources/needs-db', anchor: 'external', rotation: 'restart' }],
      composedEnvironment: { URL: 'postgres://app:{{secret.needs-db.password}}@db/app' },
    });
    await assigned(agent, instance.id);
    const question = {
      type: 'resolve',
      requestId: 'r1',
      instanceId: instance.id,
      specHash: instance.specHash,
      secretsVersion: 0,
    } as const;
    agent.send(question);
    expect(await agent.next('resolved')).toEqual({
      type: 'resolved',
      requestId: 'r1',
      ok: true,
      environment: { DB_password: 'canary-needs-db', URL: 'postgres://app:canary-needs-db@db/app' },
    });
    for (const asking of [other.agent, foreign.agent]) {
      asking.send(question);
      expect(await asking.next('resolved')).toMatchObject({ ok: false, reason: 'not_assigned' });
    }
    agent.send({ ...question, specHash: 'another' });
    expect(await agent.next('resolved')).toMatchObject({ ok: false, reason: 'not_assigned' });
    await shop.call('PUT', '/api/v1/deployments/needs', { replicas: 0 });
    await flow.instances(shop, 'needs', 0);
    agent.send(question);
    expect(await agent.next('resolved')).toMatchObject({ ok: false, reason: 'not_assigned' });
  });

  it('about secrets that are missing mean no container, and one event per reason', async () => {
    const { agent } = await flow.connected('lacks-1', shop);
    const instance = await flow.placed(shop, 'lacks', 'lacks-1', {
      secrets: [{ name: 'DB', vault_path: 'resources/lacks-db', anchor: 'external', rotation: 'restart' }],
    });
    await assigned(agent, instance.id);
    const { id, specHash } = instance;
    for (let round = 0; round < 3; round += 1) {
      agent.send({ type: 'resolve', requestId: 'r', instanceId: id, specHash, secretsVersion: 0 });
      expect(await agent.next('resolved')).toMatchObject({ ok: false, reason: 'missing_document' });
    }
    const { body } = await shop.call('GET', '/api/v1/events?kind=deployment.secret_unresolved&subject=lacks');
    expect(body).toHaveLength(1);
    expect(body[0].details).toEqual({ reason: 'missing_document', instance: id });
  });

  it('for more than one message holds are refused with a reason, and the session goes on', async () => {
    const { agent } = await flow.connected('much-1', shop);
    const most = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`V${at}`, 'x'.repeat(65_536)]));
    const secrets: object[] = [];
    for (let at = 0; at < 8; at += 1) {
      expect((await shop.call('PUT', `/api/v1/secrets/resources/much-${at}`, { values: most })).status).toBe(
        201,
      );
      secrets.push({ name: `M${at}`, vault_path: `resources/much-${at}`, anchor: 'external' });
    }
    const { id, specHash } = await flow.placed(shop, 'much', 'much-1', { secrets });
    await assigned(agent, id);
    const asked = async () => {
      agent.send({ type: 'resolve', requestId: 'r', instanceId: id, specHash, secretsVersion: 0 });
      return await agent.next('resolved');
    };
    for (let round = 0; round < 2; round += 1)
      expect(await asked()).toMatchObject({
        ok: false,
        reason: 'unusable',
        message: expect.stringContaining('at most 4193280'),
      });
    const { body } = await shop.call('GET', '/api/v1/events?kind=deployment.secret_unresolved&subject=much');
    expect(body.map(({ details }: { details: object }) => details)).toEqual([
      { reason: 'unusable', instance: id },
    ]);
  });
});

describe('streams', () => {
  it('bring the containers of a machine, without their environment', async () => {
    const { agent } = await flow.connected('list-1', shop);
    const answer = shop.call('GET', '/api/v1/nodes/list-1/containers');
    const { streamId, operation } = await agent.next('request');
    expect(operation).toEqual({ kind: 'containers' });
    expect((await agent.next('credit')).bytes).toBeGreaterThan(0);
    agent.send({ type: 'data', streamId, value: [{ id: 'c1', name: 'web', env: ['A=1'] }] });
    agent.send({ type: 'data', streamId, value: [{ id: 'c2', name: 'db', Env: ['A=1'] }] });
    agent.send({ type: 'end', streamId });
    expect((await answer).body).toEqual([
      { id: 'c2', name: 'db' },
      { id: 'c1', name: 'web' },
    ]);
    await flow.enrolled('list-2', shop);
    const away = await shop.call('GET', '/api/v1/nodes/list-2/containers');
    expect([away.status, away.body.code]).toEqual([503, 'agent_unreachable']);
    expect((await bank.call('GET', '/api/v1/nodes/list-1/containers')).body.code).toBe('node_not_found');
  });

  it('bring logs of several instances by whole lines, and say who cannot answer', async () => {
    const group = { group: 'logs' };
    const one = await flow.connected('logs-1', shop, group);
    const two = await flow.connected('logs-2', shop, group);
    const three = await flow.connected('logs-3', shop, group);
    await deploy(shop.call, 'logs', {
      replicas: 3,
      placement: { constraints: group, antiAffinity: ['logs'] },
    });
    const placed = await flow.instances(shop, 'logs', 3);
    const on = (node: string) => placed.find(({ nodeId }) => nodeId === node)?.id ?? '';
    const [first, second, away] = [{ id: on('logs-1') }, { id: on('logs-2') }, { id: on('logs-3') }];
    three.agent.close();
    await three.agent.closed;
    const answer = shop.call('GET', '/api/v1/deployments/logs/logs?tail=10&since=2m');
    const asked = await Promise.all([one.agent.next('request'), two.agent.next('request')]);
    expect(asked[0].operation).toEqual({
      kind: 'logs',
      instanceId: first.id,
      follow: false,
      tail: 10,
      sinceSeconds: 120,
    });
    one.agent.send({ type: 'data', streamId: asked[0].streamId, text: 'hel', channel: 'stdout' });
    two.agent.send({ type: 'data', streamId: asked[1].streamId, text: 'second\n', channel: 'stderr' });
    two.agent.send({ type: 'end', streamId: asked[1].streamId });
    one.agent.send({ type: 'data', streamId: asked[0].streamId, text: 'lo\nlast', channel: 'stdout' });
    one.agent.send({ type: 'end', streamId: asked[0].streamId });
    const { body, headers } = await answer;
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect((body as string).trim().split('\n').sort()).toEqual(
      [
        `${first.id} | hello`,
        `${first.id} | last`,
        `${second.id} | second`,
        `${away.id} | (no log from logs-3: its agent is not connected)`,
      ].sort(),
    );
    expect((await shop.call('GET', `/api/v1/deployments/logs/logs?instance=${away.id}`)).body.code).toBe(
      'agent_unreachable',
    );
    expect((await shop.call('GET', '/api/v1/deployments/logs/logs?instance=ins_x')).body.code).toBe(
      'instance_not_found',
    );
  });

  it('follow as server-sent events; the agent is told when the reader leaves', async () => {
    const { agent } = await flow.connected('follow-1', shop);
    const instance = await flow.placed(shop, 'follow', 'follow-1');
    const reading = new AbortController();
    const response = await fetch(`${plane.url}/api/v1/deployments/follow/logs?follow=true`, {
      headers: { authorization: `Bearer ${shop.token}` },
      signal: reading.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const { streamId } = await agent.next('request');
    agent.send({ type: 'data', streamId, text: 'line 1\n', channel: 'stdout' });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe(
      `event: log\ndata: ${JSON.stringify({ instance: instance.id, nodeId: 'follow-1', channel: 'stdout', line: 'line 1' })}\n\n`,
    );
    reading.abort();
    expect((await agent.next('cancel')).streamId).toBe(streamId);
  });

  it('hold the agent to its credit, and give it back as the reader reads', async () => {
    const { agent } = await flow.connected('credit-1', shop);
    await flow.placed(shop, 'credit', 'credit-1');
    const answer = shop.call('GET', '/api/v1/deployments/credit/logs');
    const { streamId } = await agent.next('request');
    let granted = (await agent.next('credit')).bytes;
    const line = `${'x'.repeat(16 * 1024 - 1)}\n`;
    for (let sent = 0; sent < 2 * 2 ** 20; sent += line.length) {
      while (granted < line.length) granted += (await agent.next('credit')).bytes;
      granted -= line.length;
      agent.send({ type: 'data', streamId, text: line });
    }
    agent.send({ type: 'end', streamId });
    expect((await answer).body).toHaveLength(2 * 2 ** 20);
    const greedy = shop.call('GET', '/api/v1/deployments/credit/logs?tail=1');
    const second = await agent.next('request');
    // The whole flood is in one frame, so it is there before anything of it can be read.
    agent.send({ type: 'data', streamId: second.streamId, text: line.repeat(200) });
    expect((await agent.next('cancel')).streamId).toBe(second.streamId);
    expect((await greedy).body).toContain('more than it was granted');
  });

  it('run commands, with permission only, on record, with bounded output', async () => {
    const { agent } = await flow.connected('exec-1', shop);
    const instance = await flow.placed(shop, 'exec', 'exec-1');
    const exec = (body: object) => shop.call('POST', '/api/v1/deployments/exec/exec', body);
    expect((await exec({ command: ['id'] })).body.code).toBe('exec_unavailable');
    agent.report([{ id: instance.id, phase: 'running' }]);
    await eventually(
      () => shop.call('GET', '/api/v1/deployments/exec/instances'),
      ({ body }) => body[0].state === 'running',
    );
    expect((await exec({ command: [] })).body.code).toBe('command_invalid');
    expect((await exec({ command: ['id'], timeout: '1d' })).body.field).toBe('timeout');
    const viewer = await shop.call('POST', '/api/v1/tokens', { name: 'v', role: 'viewer' });
    expect(
      (await plane.as(viewer.body.token)('POST', '/api/v1/deployments/exec/exec', { command: ['id'] })).body
        .code,
    ).toBe('role_forbidden');
    const answer = exec({ command: ['id', '--password=canary-Command-77'], timeout: '2s' });
    const { streamId, operation } = await agent.next('request');
    expect(operation).toEqual({
      kind: 'exec',
      instanceId: instance.id,
      command: ['id', '--password=canary-Command-77'],
      timeoutMs: 2000,
    });
    agent.send({ type: 'data', streamId, text: 'out', channel: 'stdout' });
    agent.send({ type: 'data', streamId, base64: Buffer.from('err').toString('base64'), channel: 'stderr' });
    agent.send({ type: 'end', streamId, exitCode: 3 });
    expect((await answer).body).toEqual({ instance: instance.id, exitCode: 3, stdout: 'out', stderr: 'err' });
    const { body: audit } = await shop.call('GET', '/api/v1/audit');
    const lines = audit.filter(({ action }: { action: string }) => action === 'deployment.exec');
    expect(lines.map(({ subject }: { subject: object }) => subject)).toEqual([
      { kind: 'Instance', name: instance.id },
    ]);
    expect(lines[0].details).toEqual({ deployment: 'exec', command: 'id (redacted)' });
    expect(audit.at(-1)).toMatchObject({
      action: 'deployment.exec_ended',
      details: { command: 'id (redacted)', outcome: 'done', exitCode: 3 },
    });
    expect(JSON.stringify(audit)).not.toContain('canary-Command');
  });

  it('end a command whose caller has gone or whose token is revoked, on record', async () => {
    const { agent } = await flow.connected('left-1', shop);
    const instance = await flow.placed(shop, 'left', 'left-1');
    agent.report([{ id: instance.id, phase: 'running' }]);
    await eventually(
      () => shop.call('GET', '/api/v1/deployments/left/instances'),
      ({ body }) => body[0].state === 'running',
    );
    const { body: made } = await shop.call('POST', '/api/v1/tokens', { name: 'left', role: 'deployer' });
    const client = new AbortController();
    const exec = (signal: AbortSignal | null) =>
      fetch(`${plane.url}/api/v1/deployments/left/exec`, {
        method: 'POST',
        headers: { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ command: ['sleep', '600'], timeout: '10m' }),
        signal,
      });
    const left = exec(client.signal).catch(() => 'left');
    const first = await agent.next('request');
    client.abort();
    expect((await agent.next('cancel')).streamId).toBe(first.streamId);
    expect(await left).toBe('left');
    const revoked = exec(null);
    const second = await agent.next('request');
    await shop.call('DELETE', `/api/v1/tokens/${made.id}`);
    expect((await agent.next('cancel')).streamId).toBe(second.streamId);
    expect((await revoked).status).toBe(401);
    const { body: audit } = await shop.call('GET', '/api/v1/audit');
    const ends = audit.filter(({ action }: { action: string }) => action === 'deployment.exec_ended');
    expect(ends.slice(-2).map(({ details }: { details: { outcome: string } }) => details.outcome)).toEqual([
      'left',
      'unauthenticated',
    ]);
  });

  it('end with the session', async () => {
    const { agent } = await flow.connected('cut-1', shop);
    const answer = shop.call('GET', '/api/v1/nodes/cut-1/containers');
    await agent.next('request');
    agent.socket.terminate();
    expect((await answer).body.code).toBe('agent_unreachable');
  });
});

describe('the life of a node', () => {
  it('is cordoned, drained with a report of what moves, and not deleted under its instances', async () => {
    const group = { group: 'life' };
    await flow.connected('life-1', shop, group);
    const tied = await flow.placed(shop, 'pinned', 'life-1');
    await deploy(shop.call, 'life', {
      placement: { constraints: group },
      resources: { requests: { cpu: 0.5, memory: '256Mi' } },
    });
    const [free] = await flow.instances(shop, 'life', 1);
    const cordoned = await shop.call('POST', '/api/v1/nodes/life-1/cordon');
    expect(cordoned.body).toMatchObject({
      schedulable: false,
      requested: { cpu: 0.5, memoryBytes: 2 ** 28, diskBytes: 0 },
      alterations: [],
      warnings: [],
      removed: [],
    });
    await flow.connected('life-2', shop, group);
    const preview = await shop.call('POST', '/api/v1/nodes/life-1/drain?dryRun=true');
    expect(preview.body).toMatchObject({
      movable: [{ instance: free?.id, deployment: 'life', to: 'life-2', how: 'start-first' }],
      blocked: [{ instance: tied.id, deployment: 'pinned' }],
      stopping: 0,
    });
    expect((await shop.call('GET', '/api/v1/nodes/life-1')).body).not.toHaveProperty('draining');
    const drained = await shop.call('POST', '/api/v1/nodes/life-1/drain');
    expect(drained.body).toMatchObject({
      movable: [{ instance: free?.id, deployment: 'life', to: 'life-2' }],
      blocked: [{ instance: tied.id, deployment: 'pinned' }],
    });
    expect((await shop.call('POST', '/api/v1/nodes/life-1/uncordon')).body).toMatchObject({
      schedulable: true,
    });
    const held = await shop.call('DELETE', '/api/v1/nodes/life-1');
    expect([held.status, held.body.code, held.body.field]).toEqual([409, 'node_in_use', 'name']);
    expect((await shop.call('DELETE', '/api/v1/nodes/life-1?force=true')).status).toBe(200);
    expect((await shop.call('GET', '/api/v1/nodes/life-1')).status).toBe(404);
    const words = ['node.enrolled', 'node.cordoned', 'node.draining', 'node.uncordoned', 'node.deleted'];
    expect(await eventKinds(shop.call, 'life-1', words)).toEqual(words);
    for (const action of ['cordon', 'drain', 'uncordon'])
      expect((await bank.call('POST', `/api/v1/nodes/exec-1/${action}`)).body.code).toBe('node_not_found');
  });

  it('passes to a second claimant when the owner releases, and ends with its last claim', async () => {
    const { identity, agent } = await flow.connected('hand-1', shop);
    expect((await shop.call('POST', '/api/v1/nodes/hand-1/claims', { tenantId: bank.id })).body.code).toBe(
      'role_forbidden',
    );
    const claimed = await plane.admin('POST', '/api/v1/nodes/hand-1/claims', { tenantId: bank.id });
    expect(claimed.body.claims).toEqual([shop.id, bank.id]);
    const release = (tenant: typeof shop, header?: string) =>
      tenant.call(
        'DELETE',
        '/api/v1/nodes/hand-1/claim',
        undefined,
        header === undefined ? {} : { 'x-tenant-id': header },
      );
    for (const header of [undefined, 'shop']) {
      const refused = await release(shop, header);
      expect([refused.status, refused.body.code, refused.body.field]).toEqual([
        400,
        'node_claim_release_no_tenant',
        'X-Tenant-ID',
      ]);
    }
    expect((await release(shop, bank.id)).body.code).toBe('tenant_forbidden');
    const instance = await flow.placed(shop, 'hand', 'hand-1');
    expect((await release(shop, shop.id)).body.code).toBe('node_in_use');
    await shop.call('DELETE', '/api/v1/deployments/hand');
    await agent.next('assignment', ({ instances }) => instances[0]?.wanted === 'stop');
    agent.report([{ id: instance.id, phase: 'removed' }]);
    await agent.next('assignment', ({ instances }) => instances.length === 0);
    expect((await release(shop, shop.id)).body).toMatchObject({ released: true, deleted: false });
    expect(await agent.next('farewell')).toMatchObject({ retry: true });
    expect((await shop.call('GET', '/api/v1/nodes/hand-1')).status).toBe(404);
    expect((await bank.call('GET', '/api/v1/nodes/hand-1')).body).toMatchObject({
      tenantId: bank.id,
      claims: [bank.id],
    });
    const again = flow.dial(identity);
    expect(await again.welcome()).toMatchObject({ tenantId: bank.id, tenantSlug: 'bank' });
    expect((await release(shop, shop.id)).body.code).toBe('node_not_found');
    expect((await release(bank, bank.id)).body).toMatchObject({ released: true, deleted: true });
    expect(await again.next('farewell')).toMatchObject({ code: 'node_not_found', retry: false });
    expect((await refusedUpgrade(identity)).status).toBe(401);
  });

  it('shows the regions that may be asked for', async () => {
    const { body } = await shop.call('GET', '/api/v1/scheduler/regions');
    expect(body.enforcement).toBe(true);
    expect(body.regions.find(({ name }: { name: string }) => name === 'dach').countries.sort()).toEqual([
      'AT',
      'CH',
      'DE',
    ]);
  });
});
