import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Cluster, type Tenant } from '../support/harness/cluster.ts';
import type { Answer } from '../support/harness/control-plane.ts';
import { inTier } from '../support/fault-tier.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { SmallDisk } from '../support/harness/small-disk.ts';
import { lookSteadily, percentile } from '../support/steady-look.ts';

/**
 * F-17: the disk of the control plane's data is full, and then it is not. It stays up, loses nothing, says so, refuses what it cannot
 * keep at once, still reads, scales down and deletes, and goes on by itself.
 */

const ROUNDS = inTier({ usual: 1, long: 10 });
const DISK_BYTES = 64 * 2 ** 20;
/** The bar on an idle machine is 1 s and is printed; a busy one gets more before it counts as a failure. */
const REFUSED_BAR_MS = 1_000;
const REFUSED_LIMIT_MS = 5_000;
const RESUMES_WITHIN_MS = 5_000;
/** Refusals that are timed in each round. */
const REFUSED = 20;
const WRITES = 50;
/** More than the space that is left between two blocks can ever take. */
const MOST_WRITES = 3_000;

let registry: PushedImageRegistry;
let disk: SmallDisk;
let cluster: Cluster;
let shop: Tenant;
const acknowledged = new Set<string>();
let sent = 0;

beforeAll(async () => {
  registry = await startPushedImage();
  disk = new SmallDisk(DISK_BYTES);
  const dataDir = join(disk.path, 'data');
  mkdirSync(dataDir);
  cluster = new Cluster(
    await new PlaneProcess(
      { BERTH_REGISTRIES_ALLOW_PRIVATE: registry.config['registries.allowPrivate'].join(',') },
      dataDir,
    ).start(),
  );
  shop = await cluster.plane.tenant('shop');
  await cluster.node('full-1', shop);
});

afterAll(async () => {
  try {
    await cluster?.stop('no space left on the disk');
  } finally {
    disk?.remove();
    await registry?.stop();
  }
});

async function write(): Promise<{ readonly answer: Answer; readonly tookMs: number }> {
  const name = `kept-${sent}`;
  sent += 1;
  const began = performance.now();
  const answer = await shop.call('POST', '/api/v1/deployments', {
    kind: 'Deployment',
    name,
    image: registry.image,
    replicas: 0,
    environment: { FILLER: 'x'.repeat(8_000) },
  });
  if (answer.status === 201) acknowledged.add(name);
  return { answer, tookMs: performance.now() - began };
}

async function stored(): Promise<readonly string[]> {
  const names: string[] = [];
  let path: string | undefined = '/api/v1/deployments?limit=1000';
  while (path !== undefined) {
    const answer: Answer = await shop.call('GET', path);
    expect(answer.status).toBe(200);
    names.push(...(answer.body as { name: string }[]).map(({ name }) => name));
    path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return names.filter((name) => name.startsWith('kept-'));
}

async function expectNothingLost(): Promise<void> {
  expect((await stored()).toSorted()).toEqual([...acknowledged].toSorted());
}

async function health(): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${cluster.plane.url}/healthz`);
  return { status: answer.status, text: await answer.text() };
}

/** Fills the disk and writes until the first refusal. */
async function fillUp(): Promise<void> {
  disk.fill();
  for (let count = 0; count < MOST_WRITES; count += 1) {
    const { answer, tookMs } = await write();
    expect(tookMs).toBeLessThan(REFUSED_LIMIT_MS);
    if (answer.status !== 201) {
      expect([answer.status, answer.body.code]).toEqual([503, 'store_unavailable']);
      // What the store gave up for deletions must not become room for writes.
      disk.fill();
      return;
    }
    if (disk.freeBytes > 0) disk.fill();
  }
  throw new Error('the disk never got full');
}

const count = (deployment: string) => async (): Promise<number> =>
  (await cluster.containers(deployment)).length;

async function round(index: number): Promise<string> {
  await cluster.deploy(shop, { name: 'steady', replicas: 2 });
  await cluster.deploy(shop, { name: 'shrinks', replicas: 3 });
  await cluster.deploy(shop, { name: 'goes', replicas: 1 });
  for (const name of ['steady', 'shrinks', 'goes']) await cluster.phase(shop, name, 'Running');
  for (let times = 0; times < WRITES; times += 1) expect((await write()).answer.status).toBe(201);
  const { pid } = cluster.plane;
  const pids = lookSteadily(() => cluster.pids('steady'));
  const node = lookSteadily(
    async () => (await shop.call('GET', '/api/v1/nodes/full-1')).body.status,
    'ready',
  );

  await fillUp();
  const refusedMs: number[] = [];
  for (let times = 0; times < REFUSED; times += 1) {
    const { answer, tookMs } = await write();
    expect([answer.status, answer.body.code]).toEqual([503, 'store_unavailable']);
    refusedMs.push(tookMs);
  }
  expect(Math.max(...refusedMs)).toBeLessThan(REFUSED_LIMIT_MS);
  const ill = await health();
  expect(ill.status).toBe(503);
  expect(ill.text).toContain('no space left on the disk');
  await expectNothingLost();

  // What gives back space is done, to its end on the machine.
  expect((await shop.call('PUT', '/api/v1/deployments/shrinks', { replicas: 1 })).status).toBe(200);
  await eventually('scaled down', count('shrinks'), (left) => left === 1);
  expect((await shop.call('DELETE', '/api/v1/deployments/goes')).status).toBe(200);
  await eventually('deleted', count('goes'), (left) => left === 0);
  const [dropped] = [...acknowledged];
  expect((await shop.call('DELETE', `/api/v1/deployments/${dropped}`)).status).toBe(200);
  acknowledged.delete(dropped ?? '');
  await expectNothingLost();

  if (index % 2 === 1) {
    // Also one that starts on a full disk reads and deletes.
    await node.end();
    await cluster.plane.end('SIGKILL');
    await cluster.plane.start();
    await expectNothingLost();
    expect((await health()).status).toBe(503);
  } else expect(cluster.plane.pid).toBe(pid);

  disk.free();
  const freed = performance.now();
  await eventually('takes writes', write, ({ answer }) => answer.status === 201, RESUMES_WITHIN_MS);
  const resumedMs = performance.now() - freed;
  expect((await health()).status).toBe(200);
  await expectNothingLost();
  const seen = await pids.end();
  expect(seen).toMatchObject({ changes: [], failures: [] });
  expect(await node.end()).toMatchObject({ changes: [], ...(index % 2 === 1 ? {} : { failures: [] }) });
  await cluster.remove(shop, 'steady', 'shrinks');
  const sorted = refusedMs.toSorted((a, b) => a - b);
  return `refused in ${Math.round(percentile(sorted, 0.5))} ms (slowest ${Math.round(sorted.at(-1) ?? 0)} ms, bar ${REFUSED_BAR_MS} ms), resumed ${Math.round(resumedMs)} ms after space was free, ${seen.looks} looks at containers`;
}

it(`a full disk of the control plane: ${ROUNDS} rounds`, { timeout: ROUNDS * 180_000 }, async () => {
  for (let index = 0; index < ROUNDS; index += 1) console.log(await round(index));
  await cluster.plane.end('SIGKILL');
  await cluster.plane.start();
  await expectNothingLost();
  console.log(
    `${ROUNDS} rounds: ${acknowledged.size} acknowledged of ${sent} sent, 0 lost, 0 containers touched`,
  );
});
