import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inTier } from '../support/fault-tier.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';

/** A container that prints much faster than its reader reads: memory stays bounded, and what is lost is told. */

/** More bytes than may be kept of them. */
const LINES = inTier({ usual: 1_200_000, long: 2_000_000 });
const LINE_BYTES = 100;
const ALLOWED_BYTES = 96 * 2 ** 20;
/** Of the control plane's records and code, and little more: with half of the machine V8 leaves 100 MiB of lines that nobody holds lying about. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=128' };
const SLOW_MS = 6_000;

let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
beforeAll(async () => {
  cluster = await startCluster(HEAP);
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('n1', shop);
}, 60_000);
afterAll(() => cluster.stop());

function rssBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** The most that each of the two grew by since the start. */
function watchMemory(): { readonly stop: () => { readonly plane: number; readonly agent: number } } {
  const processes = { plane: cluster.plane.pid, agent: node.agent.pid };
  const idle = { plane: rssBytes(processes.plane), agent: rssBytes(processes.agent) };
  const most = { plane: 0, agent: 0 };
  const timer = setInterval(() => {
    for (const part of ['plane', 'agent'] as const)
      most[part] = Math.max(most[part], rssBytes(processes[part]) - idle[part]);
  }, 100);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
}

/** Numbers of the lines that came, and where a loss was told, in the order of the stream. */
class Received {
  count = 0;
  last = 0;
  /** Steps that were larger than one, with whether something was said before. */
  readonly gaps: { readonly after: number; readonly to: number; readonly told: boolean }[] = [];
  readonly told: string[] = [];
  #told = false;
  #rest = '';

  take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    if (line.startsWith('data: {') && line.includes('"message":')) {
      this.told.push(line);
      this.#told = true;
    }
    const found = /"line":"(\d+) /.exec(line)?.[1];
    if (found === undefined) return;
    const number = Number(found);
    if (number !== this.last + 1) this.gaps.push({ after: this.last, to: number, told: this.#told });
    this.#told = false;
    this.last = number;
    this.count += 1;
  }
}

describe(`${(LINES * LINE_BYTES) / 1e6} MB of output`, () => {
  afterEach(() => cluster.remove(shop, 'flood'));

  it('followed by a slow reader cost neither control plane nor agent memory, and a loss is told', async () => {
    const awk = `awk 'BEGIN { pad = sprintf("%${LINE_BYTES - 9}s", ""); gsub(/ /, "x", pad); for (i = 1; i <= ${LINES}; i++) printf "%07d %s\\n", i, pad }'`;
    await cluster.deploy(shop, {
      name: 'flood',
      command: ['sh', '-c', `while [ ! -e /tmp/go ]; do sleep 0.1; done; ${awk}; exec sleep 3600`],
    });
    await cluster.phase(shop, 'flood', 'Running');
    const token = await cluster.plane.token('shop', 'viewer');
    const left = new AbortController();
    const response = await fetch(`${cluster.plane.url}/api/v1/deployments/flood/logs?follow=true`, {
      headers: { authorization: `Bearer ${token}` },
      signal: left.signal,
    });
    const memory = watchMemory();
    const received = new Received();
    await cluster.exec(shop, 'flood', ['touch', '/tmp/go']);
    const began = performance.now();
    for await (const piece of response.body ?? []) {
      received.take(Buffer.from(piece).toString());
      if (received.last === LINES) break;
      if (performance.now() - began < SLOW_MS) await pause(20);
    }
    left.abort();
    const grown = memory.stop();
    console.log(
      `${received.count} of ${LINES} lines, ${received.gaps.length} gaps; grown by ${JSON.stringify(grown)} bytes`,
    );
    expect(received.last).toBe(LINES);
    expect(received.gaps.filter(({ told }) => !told)).toEqual([]);
    expect(grown.plane).toBeLessThan(ALLOWED_BYTES);
    expect(grown.agent).toBeLessThan(ALLOWED_BYTES);
  }, 120_000);
});

describe('a followed log', () => {
  it('is joined by the instances of an update, under their names', async () => {
    const print = (word: string) => ['sh', '-c', `echo ${word}; exec sleep 3600`];
    await cluster.deploy(shop, { name: 'talk', command: print('old') });
    await cluster.phase(shop, 'talk', 'Running');
    const token = await cluster.plane.token('shop', 'viewer');
    const left = new AbortController();
    const response = await fetch(`${cluster.plane.url}/api/v1/deployments/talk/logs?follow=true`, {
      headers: { authorization: `Bearer ${token}` },
      signal: left.signal,
    });
    let text = '';
    const read = (async () => {
      for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
    })();
    await cluster.update(shop, 'talk', { command: print('new') });
    await eventually(
      'the new one is heard',
      () => text,
      (all) => all.includes('"line":"new"'),
    );
    const speakers = new Set([...text.matchAll(/"instance":"([^"]+)"[^}]*"line"/g)].map(([, id]) => id));
    expect(speakers.size).toBe(2);
    await cluster.remove(shop, 'talk');
    await read;
    expect(text).toContain('event: end');
  });
});
