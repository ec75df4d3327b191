import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { attack } from '../support/attack.ts';
import type { Caller } from '../support/control-plane.ts';
import { PlaneProcess, type Tenant } from '../support/plane-process.ts';

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
