/**
 * Replicated volumes on the nodes of a cluster, each with a deployment that writes it like a database, and what was in which copy.
 *
 *     const stage = new VolumeStage(cluster, shop);
 *     const { id, primary } = await stage.written('data');
 */
import { existsSync, readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { Cluster, ClusterNode, Tenant } from './cluster.ts';

const MIB = 2 ** 20;
export const PROMOTED_MS = 40_000;

/**
 * Appends a line and has it on disk before the next. Each line tells its number, when it was written on the clock that all
 * containers of the machine share, and by whom.
 */
const WRITER = [
  'i=$(tail -n 1 /data/log 2>/dev/null | cut -d" " -f1); i=${i:-0}',
  'while :; do',
  '  i=$((i+1)); read up rest < /proc/uptime',
  '  echo "$i $up $HOSTNAME" >> /data/log && sync -d /data/log || exit 1; sleep 0.01',
  'done',
].join('\n');

interface Line {
  readonly number: number;
  readonly at: number;
  readonly by: string;
}

/** What became of a promotion. */
interface Return {
  /** Lines that no copy had, and that the old primary keeps aside. */
  readonly lost: number;
  readonly lostForSeconds: number;
  /** Undefined: the control plane could not know. */
  readonly boundSeconds: number | undefined;
}

export class VolumeStage {
  readonly #cluster: Cluster;
  readonly #shop: Tenant;

  constructor(cluster: Cluster, shop: Tenant) {
    this.#cluster = cluster;
    this.#shop = shop;
  }

  nodeOf(name: string): ClusterNode {
    const node = this.#cluster.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async record(id: string): Promise<any> {
    return (await this.#shop.call('GET', `/api/v1/dvm/volumes/${id}`)).body;
  }

  /** A volume with two live copies, and a deployment that has been writing it for a while. */
  async written(name: string): Promise<{ readonly id: string; readonly primary: string }> {
    const made = await this.#shop.call('POST', '/api/v1/dvm/volumes', {
      name,
      class: 'replicated',
      type: 'volume',
      sizeBytes: 128 * MIB,
      replicas: 2,
    });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const id = made.body.id as string;
    await eventually(
      'it is ready',
      () => this.record(id),
      ({ phase }) => phase === 'Ready',
    );
    const volumes = [{ volumeId: id, mountPath: '/data', readOnly: false }];
    await this.#cluster.deploy(this.#shop, { name, command: ['sh', '-c', WRITER], volumes });
    await this.#cluster.phase(this.#shop, name, 'Running');
    const record = await eventually(
      'its copies are live',
      () => this.record(id),
      ({ replicas }) =>
        replicas.length === 2 && replicas.every((one: { state: string }) => one.state === 'live'),
      PROMOTED_MS,
    );
    const primary = record.primaryNodeId as string;
    await eventually(
      'it is written',
      () => this.lines(this.nodeOf(primary), id),
      (all) => all.length > 50,
    );
    return { id, primary };
  }

  /** Two instances that mount the volume read-only and run all the time. */
  async reader(
    name: string,
    id: string,
  ): Promise<{ readonly follows: (node: ClusterNode) => Promise<void> }> {
    const volumes = [{ volumeId: id, mountPath: '/data', readOnly: true }];
    await this.#cluster.deploy(this.#shop, { name, replicas: 2, command: ['sleep', '100000'], volumes });
    return { follows: (node) => this.#follows(name, node) };
  }

  /** Both run on that node, and see lines that are written from now on. */
  async #follows(name: string, node: ClusterNode): Promise<void> {
    const seen = async (): Promise<readonly number[]> =>
      Object.values(await node.pids(name)).map((pid) => linesOf(`/proc/${pid}/root/data/log`).length);
    const before = await eventually(
      `${name} runs on ${node.name}`,
      seen,
      (all) => all.length === 2,
      PROMOTED_MS,
    );
    const least = Math.max(...before);
    await eventually(
      `${name} sees newer lines`,
      seen,
      (all) => all.length === 2 && all.every((lines) => lines > least),
      PROMOTED_MS,
    );
  }

  async promotedFrom(id: string, before: string): Promise<ClusterNode> {
    const record = await eventually(
      'a copy is promoted',
      () => this.record(id),
      ({ primaryNodeId }) => primaryNodeId !== before,
      PROMOTED_MS,
    );
    return this.nodeOf(record.primaryNodeId);
  }

  lines(node: ClusterNode, id: string, epoch = 1): readonly Line[] {
    return linesOf(join(volumeFolder(node, id), `data-${epoch}`, 'log'));
  }

  /** What the copy had is no sign of its new writer: lines that are written from now on are. */
  async linesAfter(node: ClusterNode, id: string, more: number): Promise<readonly Line[]> {
    const now = uptime();
    return await eventually(
      'it writes again',
      () => this.lines(node, id, 2),
      (all) => all.filter(({ at }) => at > now).length > more,
      PROMOTED_MS,
    );
  }

  /** The old primary keeps what it wrote alone, becomes a copy again, and wrote nothing after the new one had begun. */
  async checkReturn(id: string, node: ClusterNode, after: readonly Line[]): Promise<Return> {
    const writer = after.at(-1)?.by ?? '';
    const taken = after.filter(({ by }) => by === writer);
    const first = taken[0]?.at ?? 0;
    expect(after.map(({ number }) => number)).toEqual(after.map((_line, index) => index + 1));
    const record = await eventually(
      'the old primary is a copy again',
      () => this.record(id),
      ({ replicas }) =>
        replicas.some(
          (one: { nodeId: string; state: string }) => one.nodeId === node.name && one.state === 'live',
        ),
      PROMOTED_MS,
    );
    expect(record.epoch ?? 2).toBe(2);
    const [told] = await this.#cluster.events(this.#shop, 'volume.promoted', id);
    expect(told, 'the promotion is told').toBeDefined();
    const kept = linesOf(join(volumeFolder(node, id), 'diverged-1', 'log'));
    const old = kept.filter(({ by }) => by !== writer);
    const last = old.at(-1)?.at ?? 0;
    // Both on the machine's one clock: what the old one had accepted came before anything that the new one did.
    expect(old.length, 'what the old primary wrote alone is kept').toBeGreaterThan(0);
    expect(last).toBeLessThan(first);
    const copied = after.length - taken.length;
    const lost = old.slice(copied);
    const bound = told?.details?.['lossBoundSeconds'];
    const boundSeconds = typeof bound === 'number' ? bound : undefined;
    const lostForSeconds = lost.length === 0 ? 0 : (lost.at(-1)?.at ?? 0) - (lost[0]?.at ?? 0);
    if (lost.length > 0) {
      if (boundSeconds !== undefined) expect(lostForSeconds).toBeLessThanOrEqual(boundSeconds);
      const diverged = await eventually(
        'what it keeps aside is told',
        () => this.#cluster.events(this.#shop, 'volume.diverged', id),
        (all) => all.length > 0,
      );
      expect(diverged).toHaveLength(1);
    }
    return { lost: lost.length, lostForSeconds, boundSeconds };
  }

  async clean(name: string, id: string): Promise<void> {
    await this.#cluster.remove(this.#shop, name);
    await eventually(
      'it may go',
      async () => (await this.#shop.call('DELETE', `/api/v1/dvm/volumes/${id}`)).status,
      (status) => status < 300,
    );
    await eventually(
      'it is gone',
      async () => (await this.#shop.call('GET', `/api/v1/dvm/volumes/${id}`)).status,
      (status) => status === 404,
    );
    for (const node of this.#cluster.nodes)
      expect(existsSync(join(node.agent.dataDir, 'volumes', id))).toBe(false);
  }
}

function volumeFolder(node: ClusterNode, id: string): string {
  return join(node.agent.dataDir, 'volumes', id, 'mnt');
}

function linesOf(path: string): readonly Line[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [number, at, by = ''] = line.split(' ');
      return { number: Number(number), at: Number(at), by };
    });
}
