/**
 * The shop of `examples/shop` on three machines, as somebody runs it who has the command line: its own images in a registry, its own files,
 * and customers from outside all day long.
 *
 *     const day = await ShopDay.begin();
 *     await day.step('scale', async () => { await day.berth('scale', 'web', '4'); });
 *     day.figures;
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pushShopImages } from '../../../examples/shop/images.ts';
import { eventually } from '../eventually.ts';
import { type Cluster, type ClusterNode, startCluster } from './cluster.ts';
import { Lan } from './lan.ts';
import { ensurePackages } from './packages.ts';
import type { Tenant } from './plane-process.ts';
import { type Registry, startRegistry } from './registry.ts';
import { type Asked, count, LOAD, percentile, ShopLoad } from './shop-load.ts';
import { plugIn, unplug } from './unplug.ts';
import { USUAL_SPANS } from './usual-spans.ts';

const ROOT = join(import.meta.dirname, '../../..');
const NODES = ['berlin-1', 'berlin-2', 'berlin-3'] as const;
export const SITE = 'shop.example.com';
/** As the example names it. */
const REGISTRY = '127.0.0.1:5000';
const PER_SECOND = 20;
const SETTLE_MS = 3_000;
const WAIT_MS = 300_000;
export interface Said {
  readonly code: number;
  readonly out: string;
}

export interface Figures {
  readonly step: string;
  readonly seconds: number;
  readonly requests: number;
  readonly orders: number;
  readonly failed: number;
  readonly wrong: number;
  /** Reads of orders that were acknowledged and are not there. */
  readonly missing: number;
  readonly p50: number;
  readonly p99: number;
  /** The longest time without an answer, in seconds. */
  readonly away: number;
  readonly problems: readonly string[];
}

export class ShopDay {
  readonly cluster: Cluster;
  readonly shop: Tenant & { readonly token: string };
  readonly figures: Figures[] = [];
  /** Everything that was typed, with what came out. */
  readonly transcript: string[] = [];
  readonly unplugged = new Set<string>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-day-'));
  readonly #lan = new Lan();
  #registry: Registry | undefined;
  #load: ShopLoad | undefined;

  private constructor(cluster: Cluster, shop: Tenant & { readonly token: string }) {
    this.cluster = cluster;
    this.shop = shop;
  }

  static async begin(): Promise<ShopDay> {
    ensurePackages([
      'wireguard-go',
      'wireguard-tools',
      'nftables',
      'iproute2',
      'btrfs-progs',
      'caddy',
      'mount',
    ]);
    const cluster = await startCluster(USUAL_SPANS);
    const day = new ShopDay(cluster, await cluster.plane.tenant('shop'));
    const [first, ...others] = NODES;
    const { engine } = await day.#node(first);
    const address = engine.namespace?.hostAddress ?? '';
    day.#registry = await startRegistry({ address });
    await pushShopImages(day.#registry.host, () => undefined);
    await cluster.plane.end('SIGTERM');
    await cluster.plane.start({ BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${day.#registry.host}` });
    for (const name of others) await day.#node(name, [`--insecure-registry=${address}/32`]);
    cpSync(join(ROOT, 'examples/shop'), join(day.#folder, 'shop'), { recursive: true });
    for (const name of readdirSync(day.#folder, { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.yaml')) day.edit(name, REGISTRY, day.#registry.host);
    return day;
  }

  #node(name: string, args: readonly string[] = []): Promise<ClusterNode> {
    return this.cluster.node(name, this.shop, {
      environment: { BERTH_AGENT_MESH: '51820', BERTH_AGENT_INGRESS: 'on' },
      engine: { args },
      plug: (space) => void this.#lan.attach(space),
    });
  }

  async end(): Promise<void> {
    await this.#load?.stop().catch(() => undefined);
    await this.cluster.stop();
    this.#lan.remove();
    await this.#registry?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Replaces text in one of the example's files, as somebody does who edits it. */
  edit(name: string, from: string, to: string): void {
    const path = join(this.#folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to));
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text);
  }

  /** The command as it is typed, in the folder that holds `shop/`. Its output and its errors come in their order. */
  async berth(...args: readonly string[]): Promise<Said> {
    const env = {
      ...process.env,
      HOME: this.#folder,
      BERTH_CLI_SERVER: this.cluster.plane.url,
      BERTH_CLI_TOKEN: this.shop.token,
      // In CI colours are on, whatever output is read by.
      NO_COLOR: '1',
    };
    const words = ['-c', 'exec "$@" 2>&1', 'sh', join(ROOT, 'bin/berth'), ...args];
    const said = await new Promise<Said>((resolve) => {
      execFile('sh', words, { env, cwd: this.#folder, timeout: WAIT_MS }, (error, out) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out });
      });
    });
    const shown = said.out.replaceAll(this.#registry?.host ?? REGISTRY, REGISTRY);
    this.transcript.push(`$ berth ${args.map(quoted).join(' ')}`, shown.trimEnd(), `[${said.code}]`);
    return { ...said, out: shown };
  }

  /** It has to end well. */
  async done(...args: readonly string[]): Promise<string> {
    const { code, out } = await this.berth(...args);
    if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}:\n${out}`);
    return out;
  }

  /** Customers of the site, who know the addresses of all three machines. */
  openDoors(): void {
    const addresses = this.cluster.nodes.map(({ engine }) => engine.address);
    this.#load = new ShopLoad('python3', [LOAD, 'open', String(PER_SECOND), addresses.join(','), SITE]);
  }

  get asked(): readonly Asked[] {
    return this.#load?.asked ?? [];
  }

  async closeDoors(): Promise<void> {
    await this.#load?.stop();
  }

  nodeOf(name: string): ClusterNode {
    const node = this.cluster.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`no ${name}`);
    return node;
  }

  unplug(name: string): void {
    unplug(this.#space(name));
    this.unplugged.add(name);
  }

  plugIn(name: string): void {
    plugIn(this.#space(name));
    this.unplugged.delete(name);
  }

  /** Until customers were answered so long. */
  async servesFor(ms: number): Promise<void> {
    const before = count(this.asked, 'ok');
    await eventually(
      'customers are answered',
      () => count(this.asked, 'ok') - before,
      (answered) => answered > (PER_SECOND * ms) / 1000,
      WAIT_MS,
    );
  }

  /** One answer of the site, whole. */
  async answer(): Promise<unknown> {
    const [order] = this.asked.flatMap(({ what, detail }) =>
      what === 'ok' && detail !== '' ? [detail] : [],
    );
    const out = await this.done(
      'exec',
      'nginx',
      '--',
      'wget',
      '-qO-',
      `http://127.0.0.1:8080/orders/${order}`,
    );
    return JSON.parse(out);
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async volume(): Promise<any> {
    const { body } = await this.shop.call('GET', '/api/v1/dvm/volumes');
    return body.find(({ name }: { readonly name: string }) => name === 'shop-data');
  }

  /** The machine of the database. */
  async primary(): Promise<string> {
    return (await this.volume()).primaryNodeId;
  }

  async copiesLive(): Promise<void> {
    await eventually(
      'its copies are live',
      () => this.volume(),
      ({ replicas, phase }) =>
        phase === 'Ready' &&
        replicas.length === 2 &&
        replicas.every((one: { state: string }) => one.state === 'live'),
      WAIT_MS,
    );
  }

  /** What the newest promotion says of the copy that took over. */
  async promotedCopy(): Promise<{ readonly takenAt: string }> {
    const { id } = await this.volume();
    const told = await this.cluster.events(this.shop, 'volume.promoted', id);
    return told.at(-1)?.details?.['copy'] as { readonly takenAt: string };
  }

  /** Milliseconds from then until an order was acknowledged that began after it. */
  answeredAfter(ms: number): number {
    const ends = this.asked.flatMap(({ what, detail, beganMs, tookMs }) =>
      what === 'ok' && detail !== '' && beganMs > ms ? [beganMs + tookMs - ms] : [],
    );
    return Math.round(Math.min(...ends));
  }

  #space(name: string) {
    const { namespace } = this.nodeOf(name).engine;
    if (namespace === undefined) throw new Error(`${name} has no namespace`);
    return namespace;
  }

  /** What the customers saw from its beginning until some seconds after its end. */
  async step(name: string, work: () => Promise<void>): Promise<Figures> {
    this.transcript.push(`== ${name}`);
    const fromMs = Date.now();
    await work();
    const seconds = Math.round((Date.now() - fromMs) / 100) / 10;
    await pause(SETTLE_MS);
    const asked = this.asked.filter(({ beganMs }) => beganMs >= fromMs);
    const seen = { step: name, seconds, ...figuresOf(asked, fromMs) };
    this.figures.push(seen);
    console.log(JSON.stringify(seen));
    return seen;
  }

  /** As PostgreSQL has them: how often each was handled. */
  async orders(): Promise<ReadonlyMap<string, number>> {
    const sql = 'SELECT id, handled FROM orders';
    const out = await this.done(
      'exec',
      'postgres',
      '--',
      'psql',
      '-h',
      '/tmp',
      '-U',
      'postgres',
      '-Atc',
      sql,
    );
    this.transcript.splice(-3);
    return new Map(
      out
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('|'))
        .map(([id = '', handled]) => [id, Number(handled)]),
    );
  }
}

function figuresOf(asked: readonly Asked[], fromMs: number): Omit<Figures, 'step' | 'seconds'> {
  const answered = asked.filter(({ what }) => what === 'ok');
  const problems = new Map<string, number>();
  for (const { what, detail } of asked)
    if (what === 'failed' || what === 'wrong') {
      const problem = `${what}: ${detail.slice(0, 120)}`;
      problems.set(problem, (problems.get(problem) ?? 0) + 1);
    }
  const ends = answered.map(({ beganMs, tookMs }) => beganMs + tookMs).sort((a, b) => a - b);
  const gaps = ends.map((end, at) => end - (ends[at - 1] ?? fromMs));
  return {
    requests: asked.length,
    orders: answered.filter(({ detail }) => detail !== '').length,
    failed: count(asked, 'failed'),
    wrong: count(asked, 'wrong'),
    missing: count(asked, 'missing'),
    p50: percentile(asked, 0.5),
    p99: percentile(asked, 0.99),
    away: Math.round(Math.max(0, ...gaps) / 100) / 10,
    problems: [...problems].map(([problem, times]) => `${times} × ${problem}`).slice(0, 8),
  };
}

function quoted(word: string): string {
  return /^[\w./:=,@%-]+$/.test(word) ? word : `'${word}'`;
}
