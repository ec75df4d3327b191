import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId, VolumeId } from '../../src/core/model/ids.ts';
import { joinId } from '../../src/server/store/keys.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { deploy, eventually, NodeFlow } from '../support/node-flow.ts';
import { refusedUpgrade, type ScriptedAgent } from '../support/scripted-agent.ts';

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
      replicas: [],
      accessMode: 'ReadWriteOnce',
      epoch: 1,
    } as const;
    await store.commit(store.transaction().put('volumes', joinId(volume.id), volume));
    await deploy(shop.call, 'whole', {
      command: ['/bin/web'],
      labels: { team: 'shop' },
      ports: [{ container: 8080, host: 18080 }],
      ingress: { host: 'a.example.com', port: 8080 },
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
    const instance = await flow.place(shop, 'whole', 'whole-1');
    const { instances } = await assigned(agent, instance.id);
    expect(instances).toEqual([
      {
        id: instance.id,
        deployment: 'whole',
        wanted: 'run',
        specHash: instance.specHash,
        secretsVersion: 0,
        attempt: 0,
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
          ports: [{ container: 8080, host: 18080 }],
          labels: {
            team: 'shop',
            'traefik.enable': 'true',
            'traefik.docker.network': 'berth-shop',
            'traefik.http.routers.shop_whole.rule': 'Host(`a.example.com`)',
            'traefik.http.routers.shop_whole.service': 'shop_whole',
            'traefik.http.services.shop_whole.loadbalancer.server.port': '8080',
          },
          mounts: [
            { volumeId: 'vol_test', kind: 'volume', target: '/data', readOnly: false, sizeBytes: 2 ** 27 },
          ],
          alias: 'whole',
        },
      },
    ]);
  });

  it('come at once, whole, one per commit, and only to the node they concern', async () => {
    const { agent } = await flow.connected('push-1', shop);
    const other = await flow.connected('push-2', shop);
    await deploy(shop.call, 'push');
    const begun = performance.now();
    const first = await flow.place(shop, 'push', 'push-1');
    const one = await assigned(agent, first.id);
    expect(performance.now() - begun).toBeLessThan(250);
    const second = await flow.place(shop, 'push', 'push-1');
    const two = await assigned(agent, second.id);
    expect(two.generation).toBe(one.generation + 1);
    expect(two.instances.map(({ id }) => id)).toEqual([first.id, second.id]);
    await flow.place(shop, 'push', 'push-1', { ...first, wanted: 'stop' });
    const stop = await agent.next('assignment');
    expect(stop.instances.find(({ id }) => id === first.id)).toEqual({
      id: first.id,
      deployment: 'push',
      wanted: 'stop',
      specHash: first.specHash,
      secretsVersion: 0,
      attempt: 0,
    });
    await flow.unplace(shop, first);
    expect((await agent.next('assignment')).instances.map(({ id }) => id)).toEqual([second.id]);
    expect(other.agent.received.filter(({ type }) => type === 'assignment')).toEqual([]);
  });

  it('leave out an instance whose volume is unknown rather than run it without its data', async () => {
    const { agent } = await flow.connected('hole-1', shop);
    const store = plane.store.forTenant(shop.id as TenantId);
    await deploy(shop.call, 'hole');
    const broken = await flow.place(shop, 'hole', 'hole-1', { specHash: 'not-kept' });
    const whole = await flow.place(shop, 'hole', 'hole-1');
    expect((await assigned(agent, whole.id)).instances.map(({ id }) => id)).toEqual([whole.id]);
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [broken.id] });
    expect((await agent.next('verdict')).remove).toEqual([]);
    await flow.unplace(shop, broken);
    expect(store.get('instances', joinId('hole', whole.id))).toBeDefined();
  });
});

describe('reports', () => {
  it('are taken of what is assigned to the node and of nothing else (I-12)', async () => {
    const { agent } = await flow.connected('says-1', shop);
    await flow.connected('says-2', shop);
    await flow.connected('says-3', bank);
    await deploy(shop.call, 'says');
    await deploy(bank.call, 'says');
    const own = await flow.place(shop, 'says', 'says-1');
    const neighbour = await flow.place(shop, 'says', 'says-2');
    const foreign = await flow.place(bank, 'says', 'says-3');
    agent.report([
      { id: foreign.id, phase: 'failed' },
      { id: neighbour.id, phase: 'failed' },
      { id: own.id, phase: 'running', message: 'a\u0000b' },
    ]);
    const { body } = await eventually(
      () => shop.call('GET', '/api/v1/deployments/says/instances'),
      ({ body: list }) => list[0].state === 'running',
    );
    expect(body.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      [own.id, 'running'],
      [neighbour.id, 'pending'],
    ]);
    expect(body[0].message).toBe('a b');
    expect((await bank.call('GET', '/api/v1/deployments/says/instances')).body[0].state).toBe('pending');
  });

  it('cost no write when nothing changed', async () => {
    const { agent } = await flow.connected('quiet-1', shop);
    await deploy(shop.call, 'quiet');
    const instance = await flow.place(shop, 'quiet', 'quiet-1');
    const observation = { id: instance.id, phase: 'running', health: 'healthy' } as const;
    agent.report([observation]);
    const list = () => shop.call('GET', '/api/v1/deployments/quiet/instances');
    await eventually(list, ({ body }) => body[0].state === 'running');
    const before = await plane.store.kv.head();
    for (let index = 0; index < 50; index += 1) agent.report([observation]);
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: ['ins_gone', instance.id] });
    // Messages are taken in order: with the verdict, every report before it was taken too.
    expect((await agent.next('verdict')).remove).toEqual(['ins_gone']);
    expect(await plane.store.kv.head()).toBe(before);
  });

  it('say when a stopped instance is gone, and do not bring a deleted one back', async () => {
    const { agent } = await flow.connected('gone-1', shop);
    await deploy(shop.call, 'gone');
    const instance = await flow.place(shop, 'gone', 'gone-1', { wanted: 'stop' });
    const list = () => shop.call('GET', '/api/v1/deployments/gone/instances');
    expect((await list()).body[0].state).toBe('stopping');
    agent.report([{ id: instance.id, phase: 'removed' }]);
    await eventually(list, ({ body }) => body[0].state === 'removed');
    await flow.unplace(shop, instance);
    agent.report([{ id: instance.id, phase: 'running' }]);
    agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [instance.id] });
    expect((await agent.next('verdict')).remove).toEqual([instance.id]);
    expect((await list()).body).toEqual([]);
    expect(
      plane.store.forTenant(shop.id as TenantId).get('observations', joinId('gone', instance.id)),
    ).toBeUndefined();
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
    for (const problem of [{ engineProblem: 'timeout' }, { engineProblem: 'timeout' }, {}, {}])
      agent.send({ ...report, ...problem });
    const events = () => shop.call('GET', '/api/v1/events?subject=engine-1');
    const { body } = await eventually(events, ({ body: list }) => list.length >= 3);
    expect(body.map(({ kind }: { kind: string }) => kind)).toEqual([
      'node.enrolled',
      'node.engine_failed',
      'node.engine_recovered',
    ]);
  });
});

describe('secrets', () => {
  it('are given to the node of the instance, for the form that is wanted, and to no other (I-12)', async () => {
    const { agent } = await flow.connected('needs-1', shop);
    const other = await flow.connected('needs-2', shop);
    const foreign = await flow.connected('needs-3', bank);
    await shop.call('PUT', '/api/v1/secrets/resources/needs-db', { values: { password: 'canary-needs-db' } });
    await deploy(shop.call, 'needs', {
      secrets: [{ name: 'DB', vault_path: 'resources/needs-db', anchor: 'external', rotation: 'restart' }],
      composedEnvironment: { URL: 'postgres://app:{{secret.needs-db.password}}@db/app' },
    });
    const instance = await flow.place(shop, 'needs', 'needs-1');
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
    await flow.place(shop, 'needs', 'needs-1', { ...instance, wanted: 'stop' });
    agent.send(question);
    expect(await agent.next('resolved')).toMatchObject({ ok: false, reason: 'not_assigned' });
  });

  it('that are missing mean no container, and one event per reason', async () => {
    const { agent } = await flow.connected('lacks-1', shop);
    await deploy(shop.call, 'lacks', {
      secrets: [{ name: 'DB', vault_path: 'resources/lacks-db', anchor: 'external', rotation: 'restart' }],
    });
    const instance = await flow.place(shop, 'lacks', 'lacks-1');
    await assigned(agent, instance.id);
    const question = {
      type: 'resolve',
      requestId: 'r',
      instanceId: instance.id,
      specHash: instance.specHash,
      secretsVersion: 0,
    } as const;
    for (let round = 0; round < 3; round += 1) {
      agent.send(question);
      expect(await agent.next('resolved')).toMatchObject({ ok: false, reason: 'missing_document' });
    }
    const { body } = await shop.call('GET', '/api/v1/events?kind=deployment.secret_unresolved&subject=lacks');
    expect(body).toHaveLength(1);
    expect(body[0].details).toEqual({ reason: 'missing_document', instance: instance.id });
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
      { id: 'c1', name: 'web' },
      { id: 'c2', name: 'db' },
    ]);
    await flow.enrolled('list-2', shop);
    const away = await shop.call('GET', '/api/v1/nodes/list-2/containers');
    expect([away.status, away.body.code]).toEqual([503, 'agent_unreachable']);
    expect((await bank.call('GET', '/api/v1/nodes/list-1/containers')).body.code).toBe('node_not_found');
  });

  it('bring logs of several instances by whole lines, and say who cannot answer', async () => {
    const one = await flow.connected('logs-1', shop);
    const two = await flow.connected('logs-2', shop);
    await flow.enrolled('logs-3', shop);
    await deploy(shop.call, 'logs');
    const first = await flow.place(shop, 'logs', 'logs-1');
    const second = await flow.place(shop, 'logs', 'logs-2');
    const away = await flow.place(shop, 'logs', 'logs-3');
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
    await deploy(shop.call, 'follow');
    const instance = await flow.place(shop, 'follow', 'follow-1');
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
    await deploy(shop.call, 'credit');
    await flow.place(shop, 'credit', 'credit-1');
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
    await deploy(shop.call, 'exec');
    const instance = await flow.place(shop, 'exec', 'exec-1');
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
    const answer = exec({ command: ['id', 'canary-command'], timeout: '2s' });
    const { streamId, operation } = await agent.next('request');
    expect(operation).toEqual({
      kind: 'exec',
      instanceId: instance.id,
      command: ['id', 'canary-command'],
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
    expect(JSON.stringify(audit)).not.toContain('canary-command');
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
    await flow.connected('life-1', shop);
    await deploy(shop.call, 'life', { resources: { requests: { cpu: 0.5, memory: '256Mi' } } });
    await deploy(shop.call, 'pinned', { nodeId: 'life-1' });
    const free = await flow.place(shop, 'life', 'life-1');
    const tied = await flow.place(shop, 'pinned', 'life-1');
    const cordoned = await shop.call('POST', '/api/v1/nodes/life-1/cordon');
    expect(cordoned.body).toMatchObject({
      schedulable: false,
      requested: { cpu: 0.5, memoryBytes: 2 ** 28 },
      alterations: [],
      warnings: [],
      removed: [],
    });
    const drained = await shop.call('POST', '/api/v1/nodes/life-1/drain');
    expect(drained.body.movable).toEqual([free.id]);
    expect(drained.body.blocked).toMatchObject([{ instance: tied.id }]);
    expect((await shop.call('POST', '/api/v1/nodes/life-1/uncordon')).body).toMatchObject({
      schedulable: true,
    });
    const held = await shop.call('DELETE', '/api/v1/nodes/life-1');
    expect([held.status, held.body.code, held.body.field]).toEqual([409, 'node_in_use', 'name']);
    expect((await shop.call('DELETE', '/api/v1/nodes/life-1?force=true')).status).toBe(200);
    expect((await shop.call('GET', '/api/v1/nodes/life-1')).status).toBe(404);
    const { body: events } = await shop.call('GET', '/api/v1/events?subject=life-1');
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual([
      'node.enrolled',
      'node.cordoned',
      'node.draining',
      'node.uncordoned',
      'node.deleted',
    ]);
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
    await deploy(shop.call, 'hand');
    const instance = await flow.place(shop, 'hand', 'hand-1');
    expect((await release(shop, shop.id)).body.code).toBe('node_in_use');
    await flow.unplace(shop, instance);
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
