import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { ObligingAgent } from '../support/agents/obliging-agent.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { inTier } from '../support/fault-tier.ts';

/**
 * C-04: eight deployments at once for room of seven. Whatever order they come in, the store never holds more than the quota or than
 * a node has, seven get their place, and the eighth is told why. Judged at every commit, by sums made here from the records.
 */

const ROUNDS = inTier({ usual: 25, long: 100 });
const RIVALS = 8;
const MEBIBYTE = 2 ** 20;
/** Seven cores in all, of which none is left over: one core for each rival but one. */
const CORES = { 'race-a': 2, 'race-b': 2, 'race-c': 3 } as const;
const ROOM = 7;

type Tenant = Awaited<ReturnType<ControlPlane['tenant']>>;
type Json = Readonly<Record<string, unknown>>;

interface Limits {
  readonly containers?: number;
  readonly cpu?: number;
  readonly memoryBytes?: number;
}

let pushed: PushedImageRegistry;
let plane: ControlPlane;
let flow: NodeFlow;
let count = 0;

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane([], {
    BERTH_RATE_LIMIT_PER_SECOND: '1000000',
    BERTH_RATE_LIMIT_BURST: '1000000',
    BERTH_AGENTS_SESSIONS_PER_SECOND: '500',
    BERTH_TIMERS_SETTLE: '20ms',
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
  });
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
  await pushed.stop();
});

/** What the store holds at every change, against what it may: the most that was seen, and each time that was too much. */
class Judge {
  readonly over: string[] = [];
  readonly most = { containers: 0, cpu: 0, memoryBytes: 0 };
  limits: Limits = {};
  readonly #tenantId: TenantId;
  readonly #cores: Readonly<Record<string, number>>;

  constructor(tenant: Tenant, cores: Readonly<Record<string, number>>) {
    this.#tenantId = tenant.id as TenantId;
    this.#cores = cores;
    plane.store.view.onChange((change) => {
      if (change.tenantId === this.#tenantId && change.kind === 'instances') this.#judge();
    });
  }

  #judge(): void {
    const tenant = plane.store.forTenant(this.#tenantId);
    const taken = tenant.list('instances').map(({ record }) => {
      const spec = tenant.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
      const requests = spec?.resources?.requests;
      const memoryBytes = Number.parseInt(requests?.memory ?? '0', 10) * MEBIBYTE;
      return { node: record.nodeId, cpu: requests?.cpu ?? 0, memoryBytes };
    });
    const sum = (of: 'cpu' | 'memoryBytes'): number => taken.reduce((all, one) => all + one[of], 0);
    const now = { containers: taken.length, cpu: sum('cpu'), memoryBytes: sum('memoryBytes') };
    for (const key of ['containers', 'cpu', 'memoryBytes'] as const) {
      this.most[key] = Math.max(this.most[key], now[key]);
      if (now[key] > (this.limits[key] ?? Infinity)) this.over.push(`${key}: ${now[key]}`);
    }
    for (const [node, cores] of Object.entries(this.#cores)) {
      const cpu = taken.reduce((all, one) => all + (one.node === node ? one.cpu : 0), 0);
      if (cpu > cores) this.over.push(`${node}: ${cpu} of ${cores} cores`);
    }
  }
}

async function tenantWithNodes(slug: string, nodes: Readonly<Record<string, number>>): Promise<Tenant> {
  const tenant = await plane.tenant(slug);
  for (const [name, cpu] of Object.entries(nodes)) {
    const capacity = { cpu, memoryBytes: 64 * 2 ** 30 };
    const { agent } = await flow.connected(name, tenant, {}, { capacity });
    new ObligingAgent(agent, {});
  }
  return tenant;
}

async function placed(tenant: Tenant, name: string, specHash: string): Promise<boolean> {
  const { body } = await tenant.call('GET', `/api/v1/deployments/${name}/instances`);
  const instances = body as { state?: string; specHash?: string }[];
  return instances.some((one) => one.state === 'running' && one.specHash === specHash);
}

/** Codes of the reasons that the loser was told, of its newest event. */
async function reasonsTold(tenant: Tenant, name: string): Promise<readonly string[]> {
  const { body } = await tenant.call('GET', `/api/v1/events?kind=deployment.unschedulable&subject=${name}`);
  const told = (body as { details: { nodes: { reasons: { code: string }[] }[] } }[]).at(-1);
  return [...new Set((told?.details.nodes ?? []).flatMap(({ reasons }) => reasons.map(({ code }) => code)))];
}

interface Race {
  readonly name: string;
  /** Each rival's deployment before the race; absent: it is created in it. */
  readonly before?: Json;
  readonly wanted: Json;
  readonly quota: Limits;
  readonly code: string;
}

const RACES: readonly Race[] = [
  { name: 'create', wanted: { replicas: 1 }, quota: { containers: ROOM }, code: 'quota_containers' },
  {
    name: 'scale up',
    before: { replicas: 0, resources: { requests: { memory: '64Mi' } } },
    wanted: { replicas: 1 },
    quota: { memoryBytes: ROOM * 64 * MEBIBYTE },
    code: 'quota_memory',
  },
  {
    // Each new container is started beside the old one: seven new ones and an old one leave no room for one more, and eight new
    // ones are too many, so that stopping the old one first does not help the last.
    name: 'update',
    before: { replicas: 1, resources: { requests: { cpu: 0.5 } } },
    wanted: { resources: { requests: { cpu: 1 } } },
    quota: { cpu: ROOM + 0.75 },
    code: 'quota_cpu',
  },
];

/** Eight at once; answers who lost once seven have their place. */
async function race(tenant: Tenant, { before, wanted }: Omit<Race, 'quota' | 'code'>): Promise<string> {
  const names = Array.from({ length: RIVALS }, (_, at) => `r${(count += 1)}-${at}`);
  const { call } = tenant;
  if (before !== undefined) {
    const made = await Promise.all(
      names.map((name) => call('POST', '/api/v1/deployments', { name, image: pushed.image, ...before })),
    );
    if (before['replicas'] !== 0)
      for (const { body } of made)
        await eventually(
          () => placed(tenant, body.name as string, body.specHash as string),
          (is) => is,
        );
  }
  const answers = await Promise.all(
    names.map((name) =>
      before === undefined
        ? call('POST', '/api/v1/deployments', { name, image: pushed.image, ...wanted })
        : call('PUT', `/api/v1/deployments/${name}`, wanted),
    ),
  );
  for (const answer of answers) expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  const hashes = new Map(answers.map(({ body }) => [body.name as string, body.specHash as string]));
  const outcome = await eventually(
    async () => {
      const found = await Promise.all([...hashes].map(([name, hash]) => placed(tenant, name, hash)));
      return names.filter((_, at) => found[at] !== true);
    },
    (losers) => losers.length <= 1,
  );
  expect(outcome).toHaveLength(1);
  const loser = outcome[0] ?? '';
  await eventually(
    () => reasonsTold(tenant, loser),
    (codes) => codes.length > 0,
  );
  return loser;
}

async function cleared(tenant: Tenant): Promise<void> {
  const store = plane.store.forTenant(tenant.id as TenantId);
  await Promise.all(
    store.list('deployments').map(({ id }) => tenant.call('DELETE', `/api/v1/deployments/${id}`)),
  );
  await eventually(
    async () => store.list('instances').length,
    (left) => left === 0,
  );
}

describe(`${RIVALS} deployments at once for room of ${ROOM} (C-04)`, () => {
  it(`never go over the quota, in ${ROUNDS} rounds of creates, scalings and updates`, {
    timeout: 300_000,
  }, async () => {
    const tenant = await tenantWithNodes('quota', { 'quota-a': 64, 'quota-b': 64 });
    const judge = new Judge(tenant, { 'quota-a': 64, 'quota-b': 64 });
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = RACES[round % RACES.length];
      if (one === undefined) throw new Error('no such race');
      judge.limits = one.quota;
      const { status } = await plane.admin('PUT', '/api/v1/tenants/quota/quota', one.quota);
      expect(status).toBe(200);
      const loser = await race(tenant, one);
      expect([one.name, await reasonsTold(tenant, loser)]).toEqual([one.name, [one.code]]);
      expect(judge.over, `round ${round}: ${one.name}`).toEqual([]);
      await cleared(tenant);
    }
    console.log(`C-04 quota: ${ROUNDS} rounds, most at once ${JSON.stringify(judge.most)}, 0 times over`);
    expect(judge.most.containers).toBeGreaterThanOrEqual(ROOM);
  });

  it(`never go over what a node has, in ${ROUNDS} rounds`, { timeout: 300_000 }, async () => {
    const tenant = await tenantWithNodes('nodes', CORES);
    const judge = new Judge(tenant, CORES);
    for (let round = 0; round < ROUNDS; round += 1) {
      const resources = { requests: { cpu: 1 } };
      const before = round % 2 === 0 ? {} : { before: { replicas: 0, resources } };
      const loser = await race(tenant, { name: 'place', wanted: { replicas: 1, resources }, ...before });
      expect(await reasonsTold(tenant, loser)).toEqual(['cpu_short']);
      expect(judge.over, `round ${round}`).toEqual([]);
      await cleared(tenant);
    }
    console.log(`C-04 capacity: ${ROUNDS} rounds, at most ${judge.most.cpu} of ${ROOM} cores, 0 times over`);
    expect(judge.most.cpu).toBe(ROOM);
  });
});
