/**
 * A shop on three machines: one that all reach, one behind a router that translates, one whose UDP reaches nobody. The application runs on
 * each, PostgreSQL on one of them, on a volume with copies on the others.
 *
 *     const stage = await ShopStage.start();
 *     await stage.open();
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appImage } from '../../../examples/shop/images.ts';
import { eventually } from '../eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from './cluster.ts';
import type { TestNamespace } from './engine-network.ts';
import { Lan } from './lan.ts';
import { ensurePackages } from './packages.ts';
import { postgresImage } from './postgres-image.ts';
import { LOAD, ShopLoad } from './shop-load.ts';
import { plugIn, unplug } from './unplug.ts';

export const NODES = ['open', 'natted', 'mute'] as const;
export type NodeName = (typeof NODES)[number];

export const POSTGRES = 'berth.test/postgres:15';
const SHOP = 'berth.test/shop:1';
const MIB = 2 ** 20;
const WAIT_MS = 120_000;
export const SECRETS = [{ name: 'POSTGRES', vault_path: 'resources/pg', anchor: 'external' }];
/** Long enough to see who waits for it. */
const LATE_S = 4;
export class ShopStage {
  readonly cluster: Cluster;
  readonly shop: Tenant;
  readonly lan: Lan;
  readonly #nodes = new Map<string, ClusterNode>();
  volume = '';

  private constructor(cluster: Cluster, shop: Tenant, lan: Lan) {
    this.cluster = cluster;
    this.shop = shop;
    this.lan = lan;
  }

  static async start(environment: Readonly<Record<string, string>> = {}): Promise<ShopStage> {
    ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2', 'btrfs-progs', 'mount']);
    const cluster = await startCluster(environment);
    const stage = new ShopStage(cluster, await cluster.plane.tenant('shop'), new Lan());
    const images = {
      [POSTGRES]: {
        entries: postgresImage().files ?? [],
        changes: ['USER postgres', 'CMD ["postgres-start"]'],
      },
      [SHOP]: {
        entries: appImage('1.0').files ?? [],
        files: { '/shop/load.py': { content: readFileSync(LOAD) } },
      },
    };
    const plugs: Readonly<Record<NodeName, (space: TestNamespace) => void>> = {
      open: (space) => void stage.lan.attach(space),
      natted: (space) => stage.lan.attachBehindNat(space),
      mute: (space) => {
        stage.lan.attach(space);
        stage.lan.cut(space);
      },
    };
    for (const name of NODES)
      stage.#nodes.set(
        name,
        await cluster.node(name, stage.shop, {
          environment: { BERTH_AGENT_MESH: '51820' },
          plug: plugs[name],
          images,
        }),
      );
    return stage;
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    this.lan.remove();
  }

  nodeOf(name: string): ClusterNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`no ${name}`);
    return node;
  }

  spaceOf(name: NodeName): TestNamespace {
    const { namespace } = this.nodeOf(name).engine;
    if (namespace === undefined) throw new Error('no namespace');
    return namespace;
  }

  /** All of it at once: who needs another one waits for it. */
  async open(): Promise<void> {
    const { cluster, shop } = this;
    const password = randomBytes(12).toString('hex');
    await shop.call('PUT', '/api/v1/secrets/resources/pg', { values: { PASSWORD: password } });
    const made = await shop.call('POST', '/api/v1/dvm/volumes', {
      name: 'orders',
      class: 'replicated',
      type: 'volume',
      sizeBytes: 512 * MIB,
      replicas: 2,
      nodeId: 'open',
    });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    this.volume = made.body.id;
    await eventually(
      'the volume is ready',
      () => this.volumeRecord(),
      ({ phase }) => phase === 'Ready',
      WAIT_MS,
    );
    await cluster.deploy(shop, {
      name: 'pg',
      image: POSTGRES,
      command: ['sh', '-c', `[ -e /var/lib/postgresql/data ] || sleep ${LATE_S}; exec postgres-start`],
      secrets: SECRETS,
      volumes: [{ volumeId: this.volume, mountPath: '/var/lib/postgresql', readOnly: false }],
      healthCheck: {
        type: 'exec',
        command: ['pg_isready -q -h 127.0.0.1'],
        interval: '1s',
        timeout: '10s',
        retries: 3,
        startPeriod: '60s',
      },
    });
    const spread = (name: string) => ({ replicas: 3, placement: { antiAffinity: [name] } });
    await cluster.deploy(shop, {
      name: 'web',
      image: SHOP,
      // Several at once: one of them makes the table, the others wait for it.
      command: ['sh', '-c', 'python3 /shop/migrate.py && exec python3 /shop/web.py'],
      secrets: SECRETS,
      composedEnvironment: { DATABASE_URL: 'postgres://postgres:{{secret.pg.PASSWORD}}@pg:5432/postgres' },
      dependsOn: { pg: 'healthy' },
      healthCheck: {
        type: 'exec',
        command: ['wget -q -O /dev/null http://127.0.0.1:8080/'],
        interval: '1s',
        timeout: '10s',
        retries: 3,
      },
      ...spread('web'),
    });
    // On the same port: whoever is led to the wrong one is answered by it.
    const page = 'mkdir /tmp/www; echo other > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www';
    await cluster.deploy(shop, { name: 'other', command: ['sh', '-c', page], ...spread('other') });
    for (const node of NODES) {
      const command = ['sleep', '100000'];
      await cluster.deploy(shop, { name: `client-${node}`, image: SHOP, command, nodeId: node });
    }
  }

  async running(): Promise<void> {
    for (const name of ['pg', 'web', 'other', ...NODES.map((node) => `client-${node}`)])
      await this.cluster.phase(this.shop, name, 'Running', WAIT_MS);
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async volumeRecord(): Promise<any> {
    return (await this.shop.call('GET', `/api/v1/dvm/volumes/${this.volume}`)).body;
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async instances(name: string): Promise<readonly any[]> {
    return (await this.shop.call('GET', `/api/v1/deployments/${name}/instances`)).body;
  }

  async virtualAddress(name: string): Promise<string> {
    return (await this.shop.call('GET', `/api/v1/deployments/${name}`)).body.status.virtualAddress;
  }

  /** As `berth node show` tells it. */
  async pathTo(node: NodeName, peer: NodeName) {
    const { body } = await this.shop.call('GET', `/api/v1/nodes/${node}`);
    return body.mesh?.peers?.find(({ node: other }: { node: string }) => other === peer);
  }

  unplug(name: NodeName): void {
    unplug(this.spaceOf(name));
  }

  plug(name: NodeName): void {
    plugIn(this.spaceOf(name));
  }

  load(from: NodeName, ...args: readonly string[]): ShopLoad {
    return ShopLoad.inside(this.nodeOf(from), `client-${from}`, ...args);
  }

  /** Milliseconds that opening a connection takes, between two machines: one round trip. */
  async connectMs(from: NodeName, to: NodeName): Promise<number> {
    const { address } = (await this.instances('web')).find(({ nodeId }) => nodeId === to) ?? {};
    return Number(
      this.#inside(from, `client-${from}`, 'python3', '/shop/load.py', 'connect', '100', address),
    );
  }

  #inside(node: string, container: string, ...argv: readonly string[]): string {
    const { socketPath } = this.nodeOf(node).engine;
    const args = ['-H', `unix://${socketPath}`, 'exec', container, ...argv];
    return execFileSync('docker', args, { encoding: 'utf8', maxBuffer: 64 * MIB });
  }

  /** In PostgreSQL, wherever it runs. */
  async orders(): Promise<ReadonlySet<string>> {
    const sql = ['psql', '-h', '/tmp', '-U', 'postgres', '-Atc', 'SELECT id FROM orders'];
    const { nodeId } =
      (await this.instances('pg')).find(({ state, health }) => state === 'running' && health === 'healthy') ??
      {};
    const said = this.#inside(nodeId, 'pg', ...sql);
    return new Set(said.split('\n').filter(Boolean));
  }
}
