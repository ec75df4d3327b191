import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';

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

/** Files below a folder by absolute path in the image, with their mode. */
function imageFiles(folder: string): Record<string, { readonly content: string; readonly mode: number }> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.map((path) => [
      `/${relative(join(folder, '..'), path)}`,
      { content: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 },
    ]),
  );
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
    images: { [`${REGISTRY}/shop/app:1.0`]: { files: imageFiles(join(EXAMPLES, 'shop/app')) } },
  });
});

afterAll(() => cluster.stop());

describe('the examples', () => {
  const documents = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .sort();

  it.each(documents)('%s is accepted whole', async (name) => {
    const file = join(cluster.plane.dataDir, 'example.yaml');
    writeFileSync(file, read(name));
    await berth('apply', '-f', file, '--dry-run');
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

describe('the shop', () => {
  it('starts in order, with its credential, and serves', async () => {
    const file = join(cluster.plane.dataDir, 'shop.yaml');
    writeFileSync(file, read('shop/shop.yaml'));
    expect(await berth('apply', '-f', file, '--no-wait')).toContain('deployment/web created');
    // Nothing starts without the secret, and what depends on the database waits.
    await cluster.phase(shop, 'db', 'Degraded');
    expect((await cluster.phase(shop, 'web', 'Waiting')).message).toContain('db');
    expect(await cluster.containers()).toEqual([]);

    await berth('secret', 'write', 'resources/shop-db', '--generate', 'password');
    for (const name of ['db', 'worker', 'web']) await berth('rollout', 'status', name, '--timeout', '60s');
    const address = cluster.nodes[0]?.engine.address ?? '';
    const orders = async (): Promise<number> =>
      Number(/orders: (\d+)/.exec(await (await fetch(`http://${address}:18080/cgi-bin/shop`)).text())?.[1]);
    const first = await orders();
    await eventually('the worker adds rows', orders, (now) => now > first);

    const [db] = await cluster.containers('db');
    const [web] = await cluster.containers('web');
    expect(Date.parse(web?.startedAt ?? '')).toBeGreaterThan(Date.parse(db?.startedAt ?? ''));
    const wrong = await cluster.exec(shop, 'web', [
      'wget',
      '-qO-',
      'http://db:5432/cgi-bin/rows?password=guessed',
    ]);
    expect(JSON.stringify(wrong.body)).not.toMatch(/"exitCode":0/);
    await cluster.remove(shop, 'web', 'worker', 'db');
  });
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
      (list) => list === '',
    );
  });
});
