import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { joinToken, nodeFacts } from '../support/harness/node-flow.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { healthOf, type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { TypedProcess } from '../support/harness/typed-process.ts';
import { startVaultEndpoint, type VaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { type FaultProxy, startFaultProxy } from '../support/harness/vault/fault-proxy.ts';

/**
 * What is asked at one control plane, decided by another and known to a third: plans, sets, orders, and secrets that are in a Vault. Three
 * of them on one etcd; two nodes, connected to two of them; the clock of the third is an hour ahead.
 */

const HOUR = 3600;
const ROUNDS = 12;
const DOCUMENTS = 12;

let etcd: Etcd;
let registry: PushedImageRegistry;
let vault: VaultEndpoint;
let proxy: FaultProxy;
let clock: FakeClock;
let planes: Planes;
let shop: Tenant & { readonly token: string };
const agents: LiveAgent[] = [];
const home = mkdtempSync(join(tmpdir(), 'berth-seams-'));
/** Told of every call that the Vault carried out and has not answered yet. */
let onVault: (call: string) => void = () => undefined;
/** Calls whose answer comes late. */
let slow: RegExp | undefined;

beforeAll(async () => {
  [etcd, registry, vault] = await Promise.all([startEtcd(), startPushedImage(), startVaultEndpoint()]);
  proxy = await startFaultProxy({
    target: vault.address,
    choose: (call) => (slow?.test(call) === true ? 'slow' : 'none'),
    onDone: (call) => onVault(call),
    lateMs: 0,
    slowMs: 1_000,
  });
  writeFileSync(join(home, 'token'), vault.rootToken, { mode: 0o600 });
  clock = new FakeClock();
  clock.set(HOUR);
  planes = await startPlanes(
    etcd,
    3,
    {
      BERTH_TIMERS_CONTROL_PLANE_LEASE: '2s',
      BERTH_REGISTRIES_ALLOW_PRIVATE: registry.config['registries.allowPrivate'].join(','),
      BERTH_SECRETS_KIND: 'vault',
      BERTH_SECRETS_VAULT_ADDRESS: proxy.address,
      BERTH_SECRETS_VAULT_TOKEN_FILE: join(home, 'token'),
    },
    (index) => (index === 2 ? clock.environment : {}),
  );
  shop = await planes.first.tenant('shop');
  for (const [index, node] of ['n0', 'n1'].entries()) {
    const key = agentKey();
    const { body } = await planes.first.as(await joinToken(shop.call))(
      'POST',
      '/api/v1/nodes',
      nodeFacts(node, key),
    );
    const identity = { node, key, token: body.nodeToken as string };
    agents.push(new LiveAgent(identity, planes.addresses, index));
  }
  await eventually(
    'both nodes are ready',
    async () => (await shop.call('GET', '/api/v1/nodes')).body as { status: string }[],
    (all) => all.length === 2 && all.every(({ status }) => status === 'ready'),
  );
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await planes?.stop();
  await proxy?.close();
  await vault?.close();
  await registry?.stop();
  await etcd?.stop();
  clock?.dispose();
  rmSync(home, { recursive: true, force: true });
});

beforeEach(() => {
  onVault = () => undefined;
  slow = undefined;
});

const at = (plane: PlaneProcess): Tenant['call'] => plane.as(shop.token);
function plane(index: number): PlaneProcess {
  const found = planes.members[index];
  if (found === undefined) throw new Error('too few');
  return found;
}

const deployment = (name: string, more: object = {}) => ({
  kind: 'Deployment',
  name,
  image: registry.image,
  replicas: 2,
  ...more,
});

interface Shown {
  readonly id: string;
  readonly nodeId: string;
  readonly attempt?: number;
}

const instancesOf = async (from: PlaneProcess, name: string): Promise<readonly Shown[]> =>
  (await at(from)('GET', `/api/v1/deployments/${name}/instances`)).body;

const running = (from: PlaneProcess, name: string) =>
  eventually(
    `${name} runs`,
    async () => (await at(from)('GET', `/api/v1/deployments/${name}`)).body,
    ({ status, replicas }) => status?.phase === 'Running' && status.instances.length === replicas,
  );

async function made(name: string, more: object = {}): Promise<readonly Shown[]> {
  const answer = await at(plane(0))('POST', '/api/v1/deployments', deployment(name, more));
  expect([answer.status, answer.body.code]).toEqual([201, undefined]);
  await running(plane(2), name);
  return instancesOf(plane(2), name);
}

async function owner(): Promise<PlaneProcess> {
  const found = await eventually(
    'the tenant has an owner',
    () => planes.owner(shop.id),
    (one) => one !== undefined,
  );
  if (found === undefined) throw new Error('no owner');
  return found;
}

async function settled(): Promise<void> {
  await eventually(
    'every shard is held',
    async () =>
      (await Promise.all(planes.members.map(healthOf))).reduce((sum, one) => sum + (one?.held ?? 0), 0),
    (held) => held === 64,
  );
}

/** How often containers were made, on both nodes, of the instances of a deployment. */
const starts = (ids: readonly string[]): readonly number[] =>
  ids.map((id) => agents.reduce((sum, agent) => sum + (agent.started.get(id) ?? 0), 0));

describe('a plan', () => {
  it('made at one control plane is carried out by another, and is outdated at every one once the world moved', async () => {
    await made('planned');
    const path = '/api/v1/deployments/planned';
    const change = { replicas: 3, environment: { LEVEL: 'debug' } };
    const ids = await Promise.all(
      planes.members.map(
        async (one) => (await at(one)('PUT', `${path}?dryRun=true`, change)).body.plan?.id as string,
      ),
    );
    expect(new Set(ids).size).toBe(1);
    const [id] = ids;
    const done = await at(plane(1))('PUT', `${path}?plan=${id}`, change);
    expect([done.status, done.body.code]).toEqual([200, undefined]);
    for (const one of planes.members)
      expect((await at(one)('PUT', `${path}?plan=${id}`, change)).body.code).toBe('plan_outdated');
    await running(plane(2), 'planned');
    const next = (await at(plane(2))('PUT', `${path}?dryRun=true`, { replicas: 1 })).body.plan.id as string;
    // A node is closed at another control plane than those that plan and apply.
    const more = { replicas: 4 };
    const grown = (await at(plane(2))('PUT', `${path}?dryRun=true`, more)).body.plan.id as string;
    expect((await at(plane(0))('POST', '/api/v1/nodes/n1/cordon')).status).toBe(200);
    const [shrunk, refused] = await Promise.all([
      at(plane(1))('PUT', `${path}?dryRun=true&plan=${next}`, { replicas: 1 }),
      at(plane(1))('PUT', `${path}?plan=${grown}`, more),
    ]);
    expect([shrunk.status, refused.status]).toEqual([200, expect.any(Number)]);
    await at(plane(0))('POST', '/api/v1/nodes/n1/uncordon');
    expect((await at(plane(0))('DELETE', path)).status).toBe(200);
  });
});

describe('a set', () => {
  it('that ends in the middle with its control plane is finished by another, and nothing is made twice', async () => {
    const folder = join(home, 'set');
    mkdirSync(folder);
    const names = Array.from({ length: DOCUMENTS }, (_, index) => `set-${index}`);
    for (const name of names)
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(deployment(name, { replicas: 0 })));
    const apply = (from: PlaneProcess, ...more: readonly string[]) =>
      new TypedProcess(['apply', '-f', folder, '--no-wait', ...more], {
        url: from.url,
        token: shop.token,
        home,
      });
    const planned = await apply(plane(1), '--dry-run').end();
    expect([planned.code, planned.err]).toEqual([5, planned.err]);
    const stored = new Set<string>();
    const middle = Promise.withResolvers<void>();
    const watch = planes.kv.watch(`h/t/${shop.id}/deployments/set-`, await planes.kv.head(), {
      onBatch: ({ changes }) => {
        for (const { key } of changes) stored.add(key);
        if (stored.size >= DOCUMENTS / 3) middle.resolve();
      },
      onLost: (reason) => {
        throw new Error(reason);
      },
    });
    const command = apply(plane(1));
    const ended = command.end();
    await middle.promise;
    await plane(1).end('SIGKILL');
    const cut = await ended;
    watch.close();
    expect(cut.code).not.toBe(0);
    expect(stored.size).toBeLessThan(DOCUMENTS);
    const finished = await apply(plane(2)).end();
    expect([finished.code, finished.err]).toEqual([0, finished.err]);
    const { body } = await at(plane(0))('GET', '/api/v1/events?kind=deployment.created&limit=1000');
    const created = (body as { subject: { name: string } }[]).map(({ subject }) => subject.name);
    expect(created.filter((name) => names.includes(name)).toSorted()).toEqual(names.toSorted());
    expect((await apply(plane(0), '--dry-run').end()).code).toBe(0);
    await plane(1).start();
    await settled();
  });
});

describe('an order', () => {
  it('is carried out once when the control plane that decides is killed after it was taken', async () => {
    const before = await made('ordered');
    const [one, two] = before;
    await settled();
    const killed = await owner();
    const [asked] = planes.others(killed);
    if (asked === undefined || one === undefined || two === undefined) throw new Error('too few');
    // It takes the order and does not live to carry it out.
    killed.pause();
    const path = '/api/v1/deployments/ordered/instances';
    const answers = await Promise.all([
      at(asked)('POST', `${path}/${one.id}/restart`),
      at(asked)('POST', `${path}/${two.id}/stop`),
    ]);
    killed.resume();
    await killed.end('SIGKILL');
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [200, undefined],
      [200, undefined],
    ]);
    const after = await eventually(
      'both are carried out',
      () => instancesOf(asked, 'ordered'),
      (all) =>
        all.length === 2 &&
        all.some(({ id, attempt }) => id === one.id && attempt === 1) &&
        !all.some(({ id }) => id === two.id),
    );
    await running(asked, 'ordered');
    await killed.start();
    await settled();
    expect(await instancesOf(killed, 'ordered')).toMatchObject(
      after.map(({ id, attempt }) => ({ id, attempt })),
    );
  });

  it('to restart is of what is there, whatever the clock of who takes it says', async () => {
    const before = (await made('clocks')).map(({ id }) => id);
    // One of the two has a clock that is an hour ahead.
    const decides = await owner();
    const asked = decides === plane(2) ? plane(0) : plane(2);
    expect((await at(asked)('POST', '/api/v1/deployments/clocks/restart')).status).toBe(200);
    const ids = async () => (await instancesOf(asked, 'clocks')).map(({ id }) => id);
    const after = await eventually(
      'both are replaced',
      ids,
      (all) => all.length === 2 && !all.some((id) => before.includes(id)),
    );
    await running(asked, 'clocks');
    expect((await at(asked)('PUT', '/api/v1/deployments/clocks', { replicas: 3 })).status).toBe(200);
    await running(asked, 'clocks');
    const grown = await ids();
    expect(grown).toEqual(expect.arrayContaining([...after]));
    expect([...starts(before), ...starts(grown)]).toEqual([1, 1, 1, 1, 1]);
  });

  it('of its health is given by the next one that decides', async () => {
    const healthCheck = { type: 'exec', command: ['probe'], restartAfter: '1s' };
    for (const agent of agents) agent.seen = () => ({ health: 'healthy' });
    const [one] = await made('hung', { healthCheck });
    await settled();
    const killed = await owner();
    const [asked] = planes.others(killed);
    if (asked === undefined || one === undefined) throw new Error('too few');
    killed.pause();
    for (const agent of agents)
      agent.seen = ({ id, attempt }) => ({
        health: id === one.id && attempt === 0 ? 'unhealthy' : 'healthy',
      });
    await eventually(
      'it is restarted',
      async () => (await instancesOf(asked, 'hung')).find(({ id }) => id === one.id)?.attempt,
      (attempt) => attempt === 1,
    );
    killed.resume();
    await running(asked, 'hung');
    await settled();
    const shown = await instancesOf(killed, 'hung');
    expect(shown.map(({ attempt = 0 }) => attempt).toSorted()).toEqual([0, 1]);
    const { body: events } = await at(asked)('GET', `/api/v1/events?subject=Instance/${one.id}`);
    const restarts = (events as { kind: string }[]).filter(({ kind }) => kind === 'instance.restarted');
    expect(restarts).toHaveLength(1);
  });
});

describe('a secret in a Vault', () => {
  const secretPath = (name: string) => `/api/v1/secrets/resources/${name}`;
  const entry = (name: string) => ({ secrets: [{ name: 'DB', vault_path: `resources/${name}` }] });
  const missing = ({ warnings }: { warnings: readonly { code: string }[] }) =>
    warnings.some(({ code }) => code === 'secret_missing');

  it('is deleted at one control plane or referred to at another, and never both', async () => {
    const ends = { kept: 0, missed: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `race-${round}`;
      const written = await at(plane(round % 3))('PUT', secretPath(name), { values: { password: 'x' } });
      expect([written.status, written.body.code]).toEqual([201, undefined]);
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
      const [spec, gone] = await Promise.all([
        at(plane((round + 1) % 3))(
          'POST',
          '/api/v1/deployments',
          deployment(name, { replicas: 0, ...entry(name) }),
        ),
        pause((round * 3) % 30).then(() => at(plane((round + 2) % 3))('DELETE', secretPath(name))),
      ]);
      expect([spec.status, spec.body.code]).toEqual([201, undefined]);
      const isMissed = missing(spec.body);
      expect([gone.status, isMissed]).toEqual(isMissed ? [200, true] : [409, false]);
      const held = vault.contents(`berth-${shop.id}`, `resources/${name}`).length;
      expect(held).toBe(isMissed ? 0 : 1);
      ends[isMissed ? 'missed' : 'kept'] += 1;
    }
    process.stdout.write(`secrets deleted while they were referred to: ${JSON.stringify(ends)}\n`);
  });

  it('that is deleted before its write was answered is written again, and there', async () => {
    slow = /^POST .*\/data\/resources\/late$/;
    const writing = at(plane(0))('PUT', secretPath('late'), { values: { password: 'x' } });
    const kept = () => vault.contents(`berth-${shop.id}`, 'resources/late').length;
    await eventually('the Vault has it', kept, (count) => count === 1);
    const gone = await at(plane(1))('DELETE', secretPath('late'));
    expect([gone.status, gone.body.code]).toEqual([200, undefined]);
    const written = await writing;
    expect([written.status, written.body.version]).toEqual([201, 1]);
    expect([kept(), (await at(plane(2))('GET', secretPath('late'))).status]).toEqual([1, 200]);
  });

  it('whose deletion ended with its control plane is deleted by another, and may be made again', async () => {
    await at(plane(0))('PUT', secretPath('half'), { values: { password: 'x' } });
    onVault = (call) => {
      if (call.startsWith('DELETE ')) process.kill(plane(1).pid, 'SIGKILL');
    };
    await expect(at(plane(1))('DELETE', secretPath('half'))).rejects.toThrow();
    onVault = () => undefined;
    expect(vault.contents(`berth-${shop.id}`, 'resources/half')).toEqual([]);
    const again = await at(plane(2))('DELETE', secretPath('half'));
    expect([again.status, again.body.code, again.body.version]).toEqual([200, undefined, 1]);
    expect((await at(plane(0))('DELETE', secretPath('half'))).body.code).toBe('secret_not_found');
    const { body: events } = await at(plane(0))(
      'GET',
      '/api/v1/events?kind=secret.deleted&subject=resources/half',
    );
    expect(events).toHaveLength(1);
    const spec = deployment('half', { replicas: 0, ...entry('half') });
    expect((await at(plane(0))('PUT', secretPath('half'), { values: { password: 'y' } })).body.version).toBe(
      1,
    );
    const referring = await at(plane(2))('POST', '/api/v1/deployments', spec);
    expect([referring.status, missing(referring.body)]).toEqual([201, false]);
    await plane(1).end('SIGKILL');
    await plane(1).start();
  });
});
