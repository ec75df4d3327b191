import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { attack } from '../support/attack.ts';
import type { Caller } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { PlaneProcess, type Tenant } from '../support/harness/plane-process.ts';

/** Small, so that little is enough to fill it. */
const SETTINGS = {
  NODE_OPTIONS: '--max-old-space-size=200',
  BERTH_QUOTAS_BYTES: '{"deployments": 500000, "jobs": 200000}',
};
const IMAGE = 'registry.invalid/shop/web:1.0.0';

let plane: PlaneProcess;
let shop: Tenant;
let bank: Tenant;
let deployer: Caller;

beforeAll(async () => {
  plane = await new PlaneProcess(SETTINGS).start();
  [shop, bank] = [await plane.tenant('shop'), await plane.tenant('bank')];
  deployer = plane.as(await plane.token('shop', 'deployer'));
});
afterAll(() => plane.dispose());

/** Many small ones: they take more memory than their text. */
function variables(count: number, length: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`V${at}`, `value ${at} `.repeat(length)]),
  );
}

/** The code of the first refusal, and how many were taken before it. */
async function untilRefused(
  most: number,
  create: (at: number) => ReturnType<Caller>,
): Promise<[number, string]> {
  for (let at = 0; at < most; at += 1) {
    const { status, body } = await create(at);
    if (status !== 201) return [at, String(body.code)];
  }
  return [most, 'none'];
}

async function bystanderWorks(name: string): Promise<void> {
  const made = await bank.call('POST', '/api/v1/deployments', { name, image: IMAGE });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  expect((await bank.call('GET', `/api/v1/deployments/${name}`)).status).toBe(200);
}

attack(
  'deployer',
  'deployments of 1 MB until memory is used up',
  async () => {
    const environment = variables(15_000, 3);
    const large = await deployer('POST', '/api/v1/deployments', { name: 'big', image: IMAGE, environment });
    expect([large.status, large.body.code, large.body.field]).toEqual([
      422,
      'field_too_large',
      'environment',
    ]);
    const body = (name: string) => ({ name, image: IMAGE, environment: { A: 'value '.repeat(10_000) } });
    const deployments = await untilRefused(1000, (at) =>
      deployer('POST', '/api/v1/deployments', body(`large-${at}`)),
    );
    const jobs = await untilRefused(1000, (at) =>
      deployer('POST', '/api/v1/jobs', { ...body(`job-${at}`), kind: 'Job', schedule: '0 3 * * *' }),
    );
    expect([deployments[1], jobs[1]]).toEqual(['quota_exceeded', 'quota_exceeded']);
    await bystanderWorks('beside');
    // What shrinks is taken, and what is deleted makes room.
    const shrunk = await deployer('PUT', '/api/v1/deployments/large-0', { environment: { A: 'x' } });
    const removed = await deployer('DELETE', '/api/v1/deployments/large-1');
    const again = await deployer('POST', '/api/v1/deployments', body('again'));
    expect([shrunk.status, removed.status, again.status]).toEqual([200, 200, 201]);
  },
  60_000,
);

/** Written past every limit, as a version without them would have. */
async function seed(
  count: number,
  environment: Readonly<Record<string, string>>,
  prefix: string,
): Promise<void> {
  const kv = await openSqliteKv({ dir: join(plane.dataDir, 'store') });
  const under = `h/t/${shop.id}/deployments/`;
  const record = JSON.parse((await kv.get(`${under}again`))?.value ?? '') as { spec: object };
  for (let first = 0; first < count; first += 20) {
    const puts = Array.from({ length: Math.min(20, count - first) }, (_, more) => {
      const name = `${prefix}-${first + more}`;
      const value = JSON.stringify({
        ...record,
        id: `dep_${name}`,
        spec: { ...record.spec, name, environment },
      });
      return { key: under + name, value };
    });
    await kv.commit({ puts });
  }
  await kv.close();
}

attack(
  'deployer',
  'a store that was filled before there were limits',
  async () => {
    await plane.end('SIGTERM');
    await seed(30, variables(45_000, 1), 'old');
    await plane.start();
    const read = await deployer('GET', '/api/v1/deployments/old-29');
    expect(Object.keys(read.body.environment as object)).toHaveLength(45_000);
    expect((await deployer('DELETE', '/api/v1/deployments/old-29')).status).toBe(200);
    const refused = await deployer('POST', '/api/v1/deployments', { name: 'more', image: IMAGE });
    expect(refused.body.code).toBe('quota_exceeded');
    await bystanderWorks('beside-old');
  },
  120_000,
);

/** Enough for the control plane itself, and for a few hundred deployments. */
const SMALL_HEAP = {
  NODE_OPTIONS: '--max-old-space-size=64',
  BERTH_QUOTAS_BYTES: '{"deployments": 2000000000}',
  BERTH_QUOTAS_RECORDS: '{"deployments": 1000000}',
};
const AT_ONCE = 32;

/** Calls one after the other on several connections until one of them answers true; how many were called. */
async function untilTrue(most: number, call: (at: number) => Promise<boolean>): Promise<number> {
  let next = 0;
  let isOver = false;
  const one = async () => {
    while (!isOver && next < most) {
      const at = next;
      next += 1;
      if (await call(at)) isOver = true;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return next;
}

attack(
  'deployer',
  'deployments that are each allowed until the heap is full',
  async () => {
    const small = await new PlaneProcess(SMALL_HEAP).start();
    const flow = new NodeFlow(small);
    try {
      const [crowd, other] = [await small.tenant('crowd'), await small.tenant('other')];
      const beside = await flow.enrolled('beside-1', other);
      // Below what is kept outside the heap.
      const environment = variables(500, 1);
      const create = (tenant: Tenant, name: string) =>
        tenant.call('POST', '/api/v1/deployments', { name, image: IMAGE, replicas: 0, environment });
      const codes = new Set<unknown>();
      const made = await untilTrue(20_000, async (at) => {
        const { status, body } = await create(crowd, `small-${at}`);
        if (status !== 201) codes.add(body.code);
        return status !== 201;
      });
      console.log(`${made} deployments until ${[...codes].join()}`);
      expect([...codes]).toEqual(['memory_low']);
      // What reads, deletes and reports goes on, and so it does after a start with the same memory: both read whatever is held as text.
      const isGone = async (at: number) => {
        const { status } = await crowd.call('GET', `/api/v1/deployments/small-${at}`);
        return status !== 200 && status !== 404;
      };
      expect(await untilTrue(made, isGone)).toBe(made);
      await small.end('SIGKILL');
      await small.start();
      expect(await untilTrue(made, isGone)).toBe(made);
      expect((await crowd.call('GET', '/api/v1/deployments?limit=50')).status).toBe(200);
      const agent = flow.dial(beside);
      await agent.welcome();
      agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [] });
      await agent.next('verdict');
      await untilTrue(made - 50, async (at) => {
        const { status } = await crowd.call('DELETE', `/api/v1/deployments/small-${at}`);
        return status !== 200 && status !== 404;
      });
      // The brake opens when a collection of the heap has found what the deletions gave back.
      const opened = await eventually(
        () => create(crowd, 'again'),
        ({ status }) => status === 201,
        30_000,
      );
      expect([opened.status, small.running]).toEqual([201, true]);
    } finally {
      flow.close();
      await small.dispose();
    }
  },
  240_000,
);
