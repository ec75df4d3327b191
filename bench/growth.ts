import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { TenantId } from '../src/core/model/ids.ts';
import { openSqliteKv } from '../src/server/store/sqlite/sqlite-kv.ts';
import { Store } from '../src/server/store/store.ts';
import { StoreView } from '../src/server/store/view.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';
import { deploymentName, fillDeployments, fillNodes, fillTenants } from './support/stored-tenant.ts';

/**
 * What grows with the number of tenants, nodes, deployments and instances. For each of them and each size, a store is filled, the control
 * plane is started on it as a process of its own, and processor time and memory are read from the system: figures that other work on the
 * machine changes little. The slope is that of cost over number, in logarithms: 0 stays, 1 grows with the number.
 *   node bench/growth.ts [largest size] [tenants|nodes|deployments|instances …]
 */
const LARGEST = Number(process.argv[2] ?? 100_000);
const WANTED = process.argv.slice(3);
const SMALLEST = 100;
const SLUG = 'growth';
const CONNECTIONS = 8;
/** Nobody answers for the nodes: they are not to be given up meanwhile. */
const QUIET = {
  BERTH_TIMERS_HEARTBEAT: '100h',
  BERTH_TIMERS_FAILED_AFTER: '500h',
  BERTH_TIMERS_REPLACE_AFTER: '500h',
};
/** Of others, where one is looked at. Those of instances have room for all. */
const NODES = 400;
const OTHERS = 100;
const PER_DEPLOYMENT = 100;
const SETTLED_SECONDS = 0.03;
/** Whoever has work to do for so long has it for ever. */
const SETTLE_MS = 120_000;
const REST_SECONDS = 5;
/** Below it a figure is one of the clock, which has hundredths of a second. */
const LEAST = 0.05;

interface Dimension {
  readonly name: string;
  readonly populate: (store: Store, size: number, tenantId: TenantId) => Promise<void>;
}

const DIMENSIONS: readonly Dimension[] = [
  {
    name: 'tenants',
    populate: async (store, size, tenantId) => {
      await fillTenants(store, size);
      await fillNodes(store, NODES, tenantId);
      await fillDeployments(store, OTHERS, 1, tenantId);
    },
  },
  {
    name: 'nodes',
    populate: async (store, size, tenantId) => {
      await fillNodes(store, size, tenantId);
      await fillDeployments(store, OTHERS, 1, tenantId);
    },
  },
  {
    name: 'deployments',
    populate: async (store, size, tenantId) => {
      await fillNodes(store, NODES, tenantId);
      await fillDeployments(store, size, 1, tenantId);
    },
  },
  {
    name: 'instances',
    populate: async (store, size, tenantId) => {
      await fillNodes(store, NODES, tenantId);
      await fillDeployments(store, size / PER_DEPLOYMENT, PER_DEPLOYMENT, tenantId);
    },
  },
];

/** Of one request unless it says otherwise. */
const COSTS = {
  create: { what: 'create with one instance placed (ms)', whole: false },
  placement: { what: 'each further instance of a create (ms)', whole: false },
  update: { what: 'update and its reconcile (ms)', whole: false },
  read: { what: 'read of one (ms)', whole: false },
  list: { what: 'list of 100 (ms)', whole: false },
  reconcile: { what: 'reconcile of all, first start (s)', whole: true },
  start: { what: 'start again (s)', whole: true },
  memory: { what: 'memory after it (MiB)', whole: true },
  rest: { what: 'at rest, of one core (%)', whole: true },
} as const;
type Cost = keyof typeof COSTS;
type Figures = Readonly<Record<Cost, number>>;

/** Until it has nothing to do: what it used when it had. */
async function settled({ pid }: ServerProcess): Promise<number> {
  const until = performance.now() + SETTLE_MS;
  for (let before = cpuSeconds(pid), quiet = 0; ; ) {
    await delay(300);
    const used = cpuSeconds(pid);
    quiet = used - before <= SETTLED_SECONDS ? quiet + 1 : 0;
    before = used;
    if (quiet === 2 || performance.now() > until) return used;
  }
}

async function shareAtRest({ pid }: ServerProcess): Promise<number> {
  const before = cpuSeconds(pid);
  await delay(REST_SECONDS * 1000);
  return ((cpuSeconds(pid) - before) * 100) / REST_SECONDS;
}

const HEADERS = {
  authorization: `Bearer ${BENCH_TOKEN}`,
  'content-type': 'application/json',
  'x-tenant-id': SLUG,
};

/** Processor time of one of so many requests, with what they leave to do. */
async function costOf(
  server: ServerProcess,
  amount: number,
  request: (at: number) => { readonly method: string; readonly path: string; readonly body?: object },
): Promise<number> {
  const before = await settled(server);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < amount) {
      const { method, path, body } = request(next++);
      const answer = await fetch(server.url + path, {
        method,
        headers: HEADERS,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return (((await settled(server)) - before) * 1000) / amount;
}

async function filled(dir: string, dimension: Dimension, size: number): Promise<void> {
  const empty = await startServerProcess({ dir });
  const tenant = await empty.call('POST', '/api/v1/tenants', { slug: SLUG });
  await empty.stop();
  const { id } = tenant.body as { readonly id: TenantId };
  const kv = await openSqliteKv({ dir: join(dir, 'store') });
  const view = await StoreView.open(kv, { onProblem: (problem) => process.stderr.write(`${problem}\n`) });
  await dimension.populate(new Store(kv, view), size, id);
  view.close();
  await kv.close();
}

async function measure(dimension: Dimension, size: number, image: string): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  let server: ServerProcess | undefined;
  try {
    await filled(dir, dimension, size);
    const first = await startServerProcess({ dir, environment: QUIET });
    const reconcile = await settled(first);
    await first.stop();
    server = await startServerProcess({ dir, environment: QUIET });
    const start = await settled(server);
    const memory = rssMiB(server.pid);
    const rest = await shareAtRest(server);
    const create = (replicas: number) => (at: number) => ({
      method: 'POST',
      path: '/api/v1/deployments',
      body: { name: `new-${replicas}-${at}`, image, replicas },
    });
    const read = () => ({ method: 'GET', path: `/api/v1/deployments/${deploymentName(0)}` });
    // What is compiled meanwhile is of no size.
    await costOf(server, 1000, read);
    await costOf(server, 400, create(2));
    const one = await costOf(server, 400, create(1));
    const eleven = await costOf(server, 60, create(11));
    return {
      reconcile,
      start,
      memory,
      rest,
      create: one,
      placement: (eleven - one) / 10,
      update: await costOf(server, 200, (at) => ({
        method: 'PUT',
        path: `/api/v1/deployments/new-1-${at}`,
        body: { environment: { ROUND: '2' } },
      })),
      read: await costOf(server, 2000, read),
      list: await costOf(server, 100, () => ({ method: 'GET', path: '/api/v1/deployments?limit=100' })),
    };
  } finally {
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const sizes: number[] = [];
for (let size = SMALLEST; size <= LARGEST; size *= 10) sizes.push(size);

const registry = await startRegistry();
try {
  const { reference } = await pushImage(registry, 'bench/web:1', {});
  for (const dimension of DIMENSIONS) {
    if (WANTED.length > 0 && !WANTED.includes(dimension.name)) continue;
    console.log(
      `by the number of ${dimension.name}: ${sizes.map((size) => size.toLocaleString('en')).join(', ')}`,
    );
    const figures: Figures[] = [];
    for (const size of sizes) figures.push(await measure(dimension, size, reference));
    for (const [cost, { what, whole }] of Object.entries(COSTS) as [Cost, (typeof COSTS)[Cost]][]) {
      const values = figures.map((figure) => figure[cost]);
      const [least, most] = [values[0], values.at(-1)].map((value) => Math.max(value ?? 0, LEAST));
      const slope = Math.log((most ?? 1) / (least ?? 1)) / Math.log((sizes.at(-1) ?? 1) / SMALLEST);
      console.log(
        `  ${what.padEnd(42)} ${values.map((value) => value.toFixed(3).padStart(10)).join(' ')}   ${whole ? 'slope of all' : 'slope of one'} ${slope.toFixed(2)}`,
      );
    }
  }
} finally {
  await registry.stop();
}
