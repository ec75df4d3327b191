import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseToken } from '../../src/server/access/token.ts';
import { VERSION } from '../../src/server/version.ts';
import { type Caller, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, eventKinds, joinToken, NodeFlow, nodeFacts as facts } from '../support/harness/node-flow.ts';
import { agentKey, NODE_FACTS, refusedUpgrade } from '../support/agents/scripted-agent.ts';
import { inTier } from '../support/fault-tier.ts';

const ROUNDS = inTier({ usual: 30, long: 200 });

let plane: ControlPlane;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let bank: Awaited<ReturnType<ControlPlane['tenant']>>;
let flow: NodeFlow;

beforeAll(async () => {
  plane = await startControlPlane(['--node-name', 'the-control-plane'], {
    BERTH_AGENTS_SESSIONS_PER_SECOND: '500',
  });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
});

afterAll(async () => {
  flow.close();
  await plane.close();
});

describe('the thin path', () => {
  it('enrols, opens a session, assigns and takes a report', async () => {
    const { identity, agent } = await flow.connected('thin-1', shop);
    const instance = await flow.placed(shop, 'thin', identity.node, {
      environment: { LOG_LEVEL: 'info' },
      ingress: { host: 'shop.example.com', port: 8080, provider: 'traefik' },
    });
    const { instances, generation } = await agent.next('assignment', (one) => one.instances.length > 0);
    expect(generation).toBe(2);
    expect(instances[0]).toMatchObject({
      id: instance.id,
      wanted: 'run',
      container: {
        image: 'localhost:1/shop/web:1.0.0',
        environment: { LOG_LEVEL: 'info' },
        needsSecrets: false,
        alias: 'thin',
      },
    });
    expect(instances[0]?.container?.labels).toMatchObject({
      'traefik.http.routers.thin.rule': 'Host(`shop.example.com`)',
    });
    agent.report(
      [{ id: instance.id, phase: 'running', health: 'healthy', specHash: instance.specHash }],
      generation,
    );
    const { body } = await eventually(
      () => shop.call('GET', '/api/v1/deployments/thin/instances'),
      ({ body: list }) => list[0]?.state === 'running',
    );
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({ id: instance.id, nodeId: 'thin-1', health: 'healthy', wanted: 'run' });
  });
});

describe('join tokens', () => {
  it('enrol once, however many try at the same moment', async () => {
    const call = plane.as(await joinToken(shop.call));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        call('POST', '/api/v1/nodes', facts(`race-${index}`, agentKey())),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ body }) => body.code)).toEqual(
      Array.from({ length: 49 }, () => 'join_token_invalid'),
    );
    const { body: nodes } = await shop.call('GET', '/api/v1/nodes');
    expect(nodes.filter(({ name }: { name: string }) => name.startsWith('race-'))).toHaveLength(1);
  });

  it('expire by the clock of the server, in 15 minutes unless told otherwise, and never live longer than a day', async () => {
    const token = await joinToken(shop.call, { ttl: '1s' });
    const usable = await shop.call('GET', '/api/v1/join-tokens');
    const expiresAt = Date.parse(usable.body.at(-1).expiresAt as string);
    await eventually(
      async () => Date.now(),
      (now) => now > expiresAt,
    );
    const late = await plane.as(token)('POST', '/api/v1/nodes', facts('late-1', agentKey()));
    expect([late.status, late.body.code, late.body.field]).toEqual([
      401,
      'join_token_invalid',
      'Authorization',
    ]);
    const long = await shop.call('POST', '/api/v1/join-tokens', { ttl: '25h' });
    expect([long.status, long.body.code, long.body.field]).toEqual([422, 'token_invalid', 'ttl']);
    const usual = await shop.call('POST', '/api/v1/join-tokens');
    expect(Date.parse(usual.body.expiresAt) - Date.parse(usual.body.createdAt)).toBe(15 * 60_000);
    expect(usual.body.alterations).toHaveLength(1);
  });

  it('are for one name when bound, for one tenant always, and are never listed', async () => {
    const { body } = await shop.call('POST', '/api/v1/join-tokens', { nodeName: 'bound-1' });
    expect(body.command).toBe(
      `printf %s ${body.token} | berth agent --server ${plane.url} --join-file - --name bound-1`,
    );
    const other = await plane.as(body.token)('POST', '/api/v1/nodes', facts('bound-2', agentKey()));
    expect(other.body).toMatchObject({
      code: 'join_token_invalid',
      received: `(redacted, string, ${`Bearer ${body.token}`.length} bytes)`,
    });
    const foreign = await plane.as(body.token)('POST', '/api/v1/nodes', facts('bound-1', agentKey()), {
      'x-tenant-id': bank.id,
    });
    expect(foreign.body.code).toBe('tenant_forbidden');
    for (const path of ['/api/v1/join-tokens', '/api/v1/tokens', '/api/v1/audit', '/api/v1/events']) {
      const listed = await shop.call('GET', path);
      expect(listed.status).toBe(200);
      expect(JSON.stringify(listed.body)).not.toContain(parseToken(body.token as string)?.secret);
    }
    const mine = await plane.as(body.token)('POST', '/api/v1/nodes', facts('bound-1', agentKey()));
    expect([mine.status, mine.body.tenantId]).toEqual([201, shop.id]);
  });

  it('open nothing else', async () => {
    const token = await joinToken(shop.call);
    const read = await plane.as(token)('GET', '/api/v1/nodes');
    expect([read.status, read.body.code]).toEqual([403, 'role_forbidden']);
    const viewer = await shop.call('POST', '/api/v1/tokens', { name: 'v', role: 'viewer' });
    const made = await plane.as(viewer.body.token)('POST', '/api/v1/join-tokens', {});
    expect(made.body.code).toBe('role_forbidden');
  });
});

describe('enrolment', () => {
  it('shows its record, for a machine that never connected', async () => {
    await flow.enrolled('record-1', shop);
    const { body } = await shop.call('GET', '/api/v1/nodes/record-1');
    expect(body).toEqual({
      id: 'record-1',
      name: 'record-1',
      tenantId: shop.id,
      claims: [shop.id],
      status: 'failed',
      schedulable: true,
      controlPlane: false,
      labels: { disk: 'ssd' },
      capacity: NODE_FACTS.capacity,
      requested: { cpu: 0, memoryBytes: 0, diskBytes: 0 },
      engine: NODE_FACTS.engine,
      platform: 'linux/amd64',
      agentVersion: '0.1.0',
      volumeEngines: [],
      features: [],
      problems: [],
      conditions: [],
      reason: 'its agent has not connected yet',
      lastSeenAt: null,
    });
  });

  it('says which node is the machine of the control plane', async () => {
    await flow.enrolled('the-control-plane', shop);
    expect((await shop.call('GET', '/api/v1/nodes/the-control-plane')).body.controlPlane).toBe(true);
  });

  it.each([
    ['nodeName', { nodeName: 'Berlin_1' }, 'node_name_invalid'],
    ['nodeName', { nodeName: undefined }, 'node_name_invalid'],
    ['capacity.cpu', { capacity: { cpu: 0, memoryBytes: 1 } }, 'node_invalid'],
    ['capacity.memoryBytes', { capacity: { cpu: 1 } }, 'node_invalid'],
    ['platform', { platform: 'linux' }, 'node_invalid'],
    ['publicKey', { publicKey: 'AAAA' }, 'node_invalid'],
    ['publicKey', { publicKey: undefined }, 'node_invalid'],
    ['labels.berth.io/country', { labels: { 'berth.io/country': 'XX' } }, 'residency_country_invalid'],
    [
      'labels.berth.io/geo-region',
      { labels: { 'berth.io/geo-region': 'atlantis' } },
      'residency_region_undeclared',
    ],
    ['labels.berth.io/node', { labels: { 'berth.io/node': 'x' } }, 'label_reserved'],
    ['hostname', { hostname: 'x' }, 'field_unknown'],
  ])('refuses %s of %j with %s, and keeps the token good', async (field, change, code) => {
    const call = plane.as(await joinToken(shop.call));
    const refused = await call('POST', '/api/v1/nodes', { ...facts('refused-1', agentKey()), ...change });
    expect([refused.body.code, refused.body.field]).toEqual([code, field]);
    expect(Object.keys(refused.body).sort()).toEqual(['code', 'doc', 'expected', 'field', 'received', 'why']);
    expect((await shop.call('GET', '/api/v1/nodes/refused-1')).body.code).toBe('node_not_found');
    const name = `kept-${Math.random().toString(36).slice(2)}`;
    expect((await call('POST', '/api/v1/nodes', facts(name, agentKey()))).status).toBe(201);
  });

  it('folds countries to upper case and says so', async () => {
    const call = plane.as(await joinToken(shop.call));
    const { body } = await call('POST', '/api/v1/nodes', {
      ...facts('country-1', agentKey()),
      labels: { 'berth.io/country': 'de' },
    });
    expect(body.labels).toEqual({ 'berth.io/country': 'DE' });
    expect(body.alterations).toEqual([
      { field: 'labels.berth.io/country', from: 'de', to: 'DE', why: 'country codes are kept in upper case' },
    ]);
  });

  it(`gives a name to one tenant only, also when two ask at the same moment (C-06), in ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const tokens = await Promise.all([joinToken(shop.call), joinToken(bank.call)]);
      const answers = await Promise.all(
        tokens.map((token) =>
          plane.as(token)('POST', '/api/v1/nodes', facts(`contested-${round}`, agentKey())),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
      const loser = answers.find(({ status }) => status === 409);
      expect([loser?.body.code, loser?.body.field]).toEqual(['node_owned_by_another_tenant', 'nodeName']);
      const seen = await Promise.all(
        [shop, bank].map(({ call }) => call('GET', `/api/v1/nodes/contested-${round}`)),
      );
      expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 404]));
    }
  });

  it('takes the same machine again, with a new token, and ends the old token', async () => {
    const first = await flow.enrolled('again-1', shop);
    const again = await plane.as(await joinToken(shop.call))(
      'POST',
      '/api/v1/nodes',
      facts('again-1', first.key),
    );
    expect(again.status).toBe(200);
    expect((await refusedUpgrade(first)).status).toBe(401);
    const agent = flow.dial({ ...first, token: again.body.nodeToken });
    expect((await agent.welcome()).epoch).toBe(1);
  });

  it('refuses another machine under the name and says how to replace, unless the token is for that name', async () => {
    const { identity, agent } = await flow.connected('lost-1', shop);
    const refused = await plane.as(await joinToken(shop.call))(
      'POST',
      '/api/v1/nodes',
      facts('lost-1', agentKey()),
    );
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([
      409,
      'node_already_enrolled',
      'nodeName',
    ]);
    expect(refused.body.why).toContain('shop');
    expect(refused.body.expected).toContain('DELETE /api/v1/nodes/lost-1');
    const key = agentKey();
    const token = await joinToken(shop.call, { nodeName: 'lost-1' });
    const replaced = await plane.as(token)('POST', '/api/v1/nodes', facts('lost-1', key));
    expect(replaced.status).toBe(200);
    expect(await agent.next('farewell')).toMatchObject({ code: 'unauthenticated', retry: false });
    expect((await refusedUpgrade(identity)).status).toBe(401);
    const successor = flow.dial({ ...identity, token: replaced.body.nodeToken, key });
    expect((await successor.welcome()).epoch).toBe(2);
    expect(await eventKinds(shop.call, 'lost-1', ['node.enrolled', 'node.key'])).toEqual([
      'node.enrolled',
      'node.key_replaced',
    ]);
  });
});

describe('sessions', () => {
  it('refuse browsers, strangers, other credentials and other paths before a socket is given', async () => {
    const identity = await flow.enrolled('door-1', shop);
    const browser = await refusedUpgrade(identity, {
      headers: { authorization: `Bearer ${identity.token}`, origin: 'https://evil.example' },
    });
    expect([browser.status, browser.body['code'], browser.body['field']]).toEqual([
      403,
      'role_forbidden',
      'Origin',
    ]);
    const nobody = await refusedUpgrade(identity, { headers: {} });
    expect([nobody.status, nobody.body['code']]).toEqual([401, 'unauthenticated']);
    const person = await refusedUpgrade({ ...identity, token: shop.token });
    expect([person.status, person.body['code']]).toEqual([403, 'role_forbidden']);
    expect(Object.keys(person.body).sort()).toEqual(['code', 'doc', 'expected', 'field', 'received', 'why']);
    const elsewhere = await refusedUpgrade({ ...identity, url: `${identity.url}/other` });
    expect([elsewhere.status, elsewhere.body['code']]).toEqual([404, 'route_not_found']);
  });

  it('welcome the holder of the key with a higher epoch each time, and displace the older', async () => {
    const { identity, agent } = await flow.connected('epoch-1', shop);
    expect(agent.epoch).toBe(1);
    const newer = flow.dial(identity);
    const welcome = await newer.welcome();
    expect(welcome).toMatchObject({
      epoch: 2,
      tenantId: shop.id,
      tenantSlug: 'shop',
      heartbeatMs: 5000,
      silenceMs: 10_000,
    });
    expect(Math.abs((welcome.nowMs ?? 0) - Date.now())).toBeLessThan(10_000);
    expect(await agent.next('farewell')).toMatchObject({ code: 'agent_session_stale', retry: false });
    await agent.closed;
    expect((await newer.next('assignment')).epoch).toBe(2);
    // The older one was alive: two machines with one key.
    const conflict = () => eventKinds(shop.call, 'epoch-1', ['node.identity_conflict']);
    expect(await eventually(conflict, (found) => found.length > 0)).toHaveLength(1);
    expect((await shop.call('GET', '/api/v1/nodes/epoch-1')).body.schedulable).toBe(false);
  });

  it('are displaced without a conflict when the older connection is dead', async () => {
    const { identity, agent } = await flow.connected('half-open-1', shop);
    agent.socket.pause();
    const newer = flow.dial(identity);
    expect((await newer.welcome()).epoch).toBe(2);
    // What was sent before a cut comes late, and proves nothing.
    agent.report([]);
    agent.socket.pong();
    // That nothing happens cannot be awaited: the old connection is asked for a second.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    agent.socket.resume();
    await agent.closed;
    expect(await eventKinds(shop.call, 'half-open-1', ['node.identity_conflict'])).toEqual([]);
    expect((await shop.call('GET', '/api/v1/nodes/half-open-1')).body.schedulable).toBe(true);
  });

  it('are opened in the newest protocol of both, and refused beyond one release with both versions', async () => {
    const identity = await flow.enrolled('release-1', shop);
    const [major, minor] = VERSION.split('.').map(Number);
    const later = (releases: number): string => `${major}.${(minor ?? 0) + releases}.0`;
    const refusedFor = async (changes: Parameters<typeof agent.hello>[1]): Promise<unknown> => {
      const agent = flow.dial(identity);
      agent.hello(await agent.next('challenge'), changes);
      return await agent.next('farewell');
    };
    const agent = flow.dial(identity);
    expect(await agent.next('challenge')).toMatchObject({ protocol: 1, oldest: 1, version: VERSION });
    expect(await refusedFor({ agentVersion: later(2) })).toMatchObject({
      code: 'agent_version_unsupported',
      message: expect.stringMatching(
        `release ${later(2)}, this control plane of ${VERSION}: .*upgrade the older`,
      ),
      retry: true,
    });
    expect(await refusedFor({ protocol: 2, agentVersion: later(1) })).toMatchObject({
      code: 'agent_version_unsupported',
      message: expect.stringMatching(`release ${later(1)}, this control plane of ${VERSION}: .*protocol 2`),
    });
    const next = flow.dial(identity);
    next.hello(await next.next('challenge'), { agentVersion: later(1) });
    expect(await next.next('welcome')).toMatchObject({ tenantId: shop.id });
  });

  it("refuse a wrong signature, another node's name and a stale epoch", async () => {
    const identity = await flow.enrolled('proof-1', shop);
    const thief = flow.dial({ ...identity, key: agentKey() });
    thief.hello(await thief.next('challenge'));
    expect(await thief.next('farewell')).toMatchObject({ code: 'unauthenticated', retry: false });
    const renamed = flow.dial(identity);
    renamed.hello(await renamed.next('challenge'), { node: 'epoch-1' });
    expect(await renamed.next('farewell')).toMatchObject({ code: 'unauthenticated' });
    const stale = flow.dial(identity);
    const challenge = await stale.next('challenge');
    stale.hello({ ...challenge, epoch: challenge.epoch - 1 });
    expect(await stale.next('farewell')).toMatchObject({ code: 'agent_session_stale' });
    // Two answer the same challenge epoch: one is stored, the other is stale.
    const pair = [flow.dial(identity), flow.dial(identity)];
    const challenges = await Promise.all(pair.map((agent) => agent.next('challenge')));
    expect(challenges.map(({ epoch }) => epoch)).toEqual([1, 1]);
    pair.forEach((agent, index) => {
      const one = challenges[index];
      if (one !== undefined) agent.hello(one);
    });
    const ends = await Promise.all(
      pair.map((agent) => Promise.any([agent.next('welcome'), agent.next('farewell', ({ retry }) => retry)])),
    );
    expect(ends.map(({ type }) => type).sort()).toEqual(['farewell', 'welcome']);
  });

  it.each([
    [
      'a revoked token',
      async (call: Caller, node: string) => {
        const { body } = await call('GET', '/api/v1/tokens');
        const token = body.find(
          (one: { nodeName?: string; kind: string }) => one.kind === 'node' && one.nodeName === node,
        );
        return call('DELETE', `/api/v1/tokens/${token.id}`);
      },
      'unauthenticated',
    ],
    [
      'a deleted node',
      (call: Caller, node: string) => call('DELETE', `/api/v1/nodes/${node}`),
      'node_not_found',
    ],
  ])('end within a second of %s', async (_what, end, code) => {
    const { identity, agent } = await flow.connected(`ended-${code.replaceAll('_', '-')}`, shop);
    const begun = performance.now();
    expect((await end(shop.call, identity.node)).status).toBe(200);
    await agent.closed;
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(agent.received.at(-1)).toMatchObject({ type: 'farewell', code, retry: false });
    expect((await refusedUpgrade(identity)).status).toBe(401);
  });

  it('end on a message that is not understood, and on a flood', async () => {
    for (const [frame, times, code] of [
      ['{"type":"report","epoch":"1"}', 1, 'body_malformed'],
      ['{"type":"__proto__"}', 1, 'body_malformed'],
      ['{"type":"ask","epoch":0,"instanceIds":[]}', 3000, 'rate_limited'],
    ] as const) {
      const { agent } = await flow.connected(`bad-${code.replaceAll('_', '-')}-${frame.length}`, shop);
      for (let index = 0; index < times; index += 1) agent.socket.send(frame);
      await agent.closed;
      expect(agent.received.at(-1)).toMatchObject({ type: 'farewell', code, retry: true });
    }
  });

  it('take over what the agent says of its machine; a label that does not hold is left off and announced', async () => {
    const identity = await flow.enrolled('facts-1', shop);
    const agent = flow.dial(identity);
    await agent.welcome({
      labels: { disk: 'nvme', 'berth.io/country': 'fr', 'berth.io/node': 'x' },
      capacity: { cpu: 8, memoryBytes: 2 ** 34 },
    });
    const { body } = await eventually(
      () => shop.call('GET', '/api/v1/nodes/facts-1'),
      (answer) => answer.body.status === 'ready',
    );
    expect(body).toMatchObject({
      labels: { disk: 'nvme', 'berth.io/country': 'FR' },
      capacity: { cpu: 8, memoryBytes: 2 ** 34 },
    });
    expect(Object.keys(body.labels)).toHaveLength(2);
    expect(await eventKinds(shop.call, 'facts-1', ['node.updated', 'node.labels'])).toEqual([
      'node.updated',
      'node.labels_refused',
    ]);
  });
});

describe('a node whose engine creates no containers', () => {
  it('is not ready and says why, takes nothing, keeps what runs there, and is ready when its agent says so', async () => {
    const tenant = await plane.tenant('unready');
    const { agent } = await flow.connected('pod', tenant);
    const runs = await flow.placed(tenant, 'runs', 'pod');
    agent.report([{ id: runs.id, phase: 'running', specHash: runs.specHash }]);
    const read = async () => (await tenant.call('GET', '/api/v1/nodes/pod')).body;
    const why = 'the engine cannot create containers: apt-get install catatonit';
    const says = (notReady: { readonly notReady?: string }): void =>
      agent.send({
        type: 'report',
        epoch: agent.epoch,
        generation: 1,
        full: false,
        observations: [],
        facts: notReady,
      });
    says({ notReady: why });
    const unready = await eventually(read, (node) => node.status === 'failed');
    expect(unready).toMatchObject({ reason: why, problems: [why] });
    const { body: events } = await tenant.call('GET', '/api/v1/events?subject=pod&kind=node.updated');
    expect(events.at(-1).message).toBe(`pod reports changes: not ready (${why})`);

    await deploy(tenant.call, 'waits');
    const { body: refused } = await eventually(
      () => tenant.call('GET', '/api/v1/events?kind=deployment.unschedulable&subject=waits'),
      ({ body }) => body.length > 0,
    );
    expect(refused[0].details.nodes[0].reasons[0]).toMatchObject({
      code: 'node_not_ready',
      reported: `not ready (${why}), agent connected`,
    });
    const { body: kept } = await tenant.call('GET', '/api/v1/deployments/runs/instances');
    expect(kept).toMatchObject([{ id: runs.id, state: 'running' }]);
    expect(kept[0].nodeStatus).toBeUndefined();

    says({});
    const again = await eventually(read, (node) => node.status === 'ready');
    expect(again.reason).toBeUndefined();
    await eventually(
      () => tenant.call('GET', '/api/v1/deployments/waits/instances'),
      ({ body }) => body[0]?.nodeId === 'pod',
    );
  });
});

describe('the host ports that an agent allows', () => {
  it('bind placement, and the reason has both sides', async () => {
    const tenant = await plane.tenant('ports');
    const problems = ['no rule could be set'];
    await flow.connected('few', tenant, undefined, { hostPorts: ['443', '8000-8999'], problems });
    expect((await tenant.call('GET', '/api/v1/nodes/few')).body).toMatchObject({
      hostPorts: ['443', '8000-8999'],
      problems,
    });
    await deploy(tenant.call, 'ssh', { ports: [{ container: 80, host: 22 }] });
    const { body } = await eventually(
      () => tenant.call('GET', '/api/v1/events?kind=deployment.unschedulable&subject=ssh'),
      ({ body: events }) => events.length > 0,
    );
    expect(body[0].message).toContain('few: needs host port 22; its agent allows 443, 8000-8999');
    expect(body[0].details.nodes[0].reasons[0]).toMatchObject({
      code: 'host_port_not_allowed',
      required: 'host port 22',
      reported: 'host ports 443, 8000-8999',
    });
    await deploy(tenant.call, 'web', { ports: [{ container: 80, host: 8080 }] });
    await eventually(
      () => tenant.call('GET', '/api/v1/deployments/web/instances'),
      ({ body: instances }) => instances[0]?.nodeId === 'few',
    );
  });
});
