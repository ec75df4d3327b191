import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SHOP_IMAGES } from '../../examples/shop/images.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { testImage } from '../support/harness/image.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
/** Nothing listens there: the registry is unreachable, which is a warning, and the engine has the image already. */
const REGISTRY = '127.0.0.1:1';
const run = promisify(execFile);

let cluster: Cluster;
let shop: Tenant & { readonly token: string };

function read(name: string): string {
  return readFileSync(join(EXAMPLES, name), 'utf8').replaceAll('127.0.0.1:5000', REGISTRY);
}

async function berth(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(join(ROOT, 'bin/berth'), args, {
    cwd: cluster.plane.dataDir,
    env: {
      ...process.env,
      HOME: cluster.plane.dataDir,
      BERTH_CLI_SERVER: cluster.plane.url,
      BERTH_CLI_TOKEN: shop.token,
    },
  });
  return stdout;
}

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  await cluster.node('n1', shop, {
    labels: { 'berth.io/country': 'DE', disk: 'ssd' },
    images: Object.fromEntries(
      Object.entries(SHOP_IMAGES)
        .filter(([name]) => (LONG_TIER ? name !== 'shop/app:1.1' : name === 'shop/app:1.0'))
        .map(([name, content]) => [`${REGISTRY}/${name}`, testImage(content())]),
    ),
  });
});

afterAll(() => cluster.stop());

describe('the examples', () => {
  const documents = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
    // The files of the shop name one another's records: they are applied for good below.
    .filter((name) => name.endsWith('.yaml') && !name.startsWith('shop/'))
    .sort();

  it.each(documents)('%s is accepted whole', async (name) => {
    const file = join(cluster.plane.dataDir, 'example.yaml');
    writeFileSync(file, read(name));
    // There is something to do: 5.
    await expect(berth('apply', '-f', file, '--dry-run')).rejects.toMatchObject({ code: 5 });
    const found = parseAllDocuments(read(name));
    if (!Array.isArray(found)) throw new Error(`${name} is empty`);
    for (const document of found) {
      const body = document.toJS() as { kind: string };
      if (body.kind !== 'Deployment') continue;
      // Defaults may be filled in; what an example says may not be changed.
      const { body: answer } = await shop.call('POST', '/api/v1/deployments?dryRun=true', body);
      const altered = (answer.alterations as { from: string }[]).filter(({ from }) => from !== '(absent)');
      expect(altered).toEqual([]);
    }
  });

  it('of the shop are accepted as one folder', async () => {
    const folder = join(cluster.plane.dataDir, 'shop');
    mkdirSync(folder);
    for (const name of readdirSync(join(EXAMPLES, 'shop')).filter((one) => one.endsWith('.yaml')))
      writeFileSync(join(folder, name), read(join('shop', name)));
    await expect(berth('apply', '-f', folder, '--dry-run')).rejects.toMatchObject({ code: 5 });
  });

  it('that are bodies of a route are accepted by it', async () => {
    await cluster.deploy(shop, { name: 'target', image: `${REGISTRY}/shop/app:1.0`, replicas: 1 });
    const bodies = [
      ['POST', 'deployments/target/canary', 'canary.json'],
      ['PUT', 'deployments/target/scaling-policy', 'scaling-policy.json'],
    ] as const;
    for (const [method, route, name] of bodies) {
      const { status, body } = await shop.call(method, `/api/v1/${route}`, JSON.parse(read(name)));
      expect({ name, status, body }).toMatchObject({ status: expect.toBeOneOf([200, 201]) });
    }
    await cluster.remove(shop, 'target');
  });

  it('are all named in the list of examples', () => {
    const list = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
    for (const name of readdirSync(EXAMPLES).filter((one) => one !== 'README.md'))
      expect(list).toContain(name);
  });
});

/** Every run has what it is made of: gates in `cluster-life`, jobs in `cluster-jobs`, PostgreSQL with its credentials in `rotation-postgres`. */
describe.runIf(LONG_TIER)('the shop', () => {
  const apply = async (name: string): Promise<string> => {
    const file = join(cluster.plane.dataDir, 'part.yaml');
    writeFileSync(file, read(`shop/${name}.yaml`));
    return berth('apply', '-f', file, '--timeout', '90s');
  };
  const ask = (...words: readonly string[]) => berth('exec', 'nginx', '--', 'wget', '-qO-', ...words);

  it('starts in order, takes an order and handles it, and has it again from its dump', async () => {
    for (const part of ['1-data', '2-postgres', '3-jobs', '4-shop', '5-dump']) await apply(part);
    const orders = 'http://127.0.0.1:8080/orders';
    expect(await ask('--post-data', 'one lamp', orders)).toContain('"text": "lamp"');
    const psql = ['exec', 'postgres', '--', 'psql', '-h', '/tmp', '-Atc'];
    await eventually(
      'the worker handles it',
      () => berth(...psql, 'SELECT handled FROM orders'),
      (handled) => handled.trim() === '1',
    );
    await berth('job', 'run', 'dump');
    await berth(...psql, 'DELETE FROM orders');
    await apply('when-needed/restore');
    expect(await berth('job', 'logs', 'restore')).toBe('orders that are back: 1\n');
    expect(await ask(`${orders}/one`)).toContain('"text": "lamp"');
    await cluster.remove(shop, 'nginx', 'web', 'worker', 'postgres');
  }, 120_000);
});

describe('the replicated volume', () => {
  it('is made, written to, and says what is missing where there is one node only', async () => {
    const file = join(cluster.plane.dataDir, 'volume.yaml');
    writeFileSync(file, read('replicated-volume/volume.yaml'));
    const [, id = ''] =
      /^volume\/rows created \((vol_\w+)\)\n$/.exec(await berth('apply', '-f', file, '--timeout', '40s')) ??
      [];
    writeFileSync(file, read('replicated-volume/database.template').replaceAll('VOLUME_ID', id));
    expect(await berth('apply', '-f', file, '--timeout', '60s')).toContain('deployment/rows-db created');
    const rows = await cluster.exec(shop, 'rows-db', ['wc', '-l', '/data/rows']);
    expect(JSON.stringify(rows.body)).toMatch(/"exitCode":0/);
    expect(await berth('describe', 'volume', 'rows')).toContain('deployment/rows-db');
    expect(await berth('recommendation', 'list')).toMatch(
      /high +replication +keep 1 copy \(not possible now\)/,
    );
    await cluster.remove(shop, 'rows-db');
    await berth('volume', 'delete', 'rows', '-y');
    await eventually(
      'the volume is gone',
      () => berth('volume', 'list'),
      (list) => !list.includes('rows'),
    );
  });
});
