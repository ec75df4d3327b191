import { get, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import {
  KUBE_APISERVER,
  KUBE_DEPLOYMENTS,
  KUBE_TOKEN,
  kubeDeployment,
  startKubeApiserver,
} from './support/kube-apiserver.ts';
import { percentile } from './support/one-node.ts';
import { rssMiB, threadSeconds } from './support/process-cost.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * Readers of the stream of events while deployments are created, beside a bare server that commits as much and writes one line to every
 * reader. From sending a create until a reader has its event; processor time of the server with readers less that without.
 * Where BENCH_KUBE_APISERVER has the path of its program: with TLS, beside as many watches of its deployments, and beside a bare server with TLS
 * that does the least Node can do for a reader.
 *   [BENCH_KUBE_APISERVER=/path/of/kube-apiserver] node bench/events.ts [seconds per measurement] [many readers] [etcd]
 */
const SECONDS = Number(process.argv[2] ?? 10);
const MANY = Number(process.argv[3] ?? 5000);
const WITH_ETCD = process.argv.includes('etcd');
const READERS = 100;
const WRITES_PER_SECOND = 50;
const MANY_WRITES_PER_SECOND = 2;
/** What is under way when the writes end. */
const SETTLE_MS = 1000;
const CONNECT_AT_ONCE = 50;
/** Without readers and with them, in turns. */
const ROUNDS = 2;
const BARE = new URL('./support/bare-server.ts', import.meta.url);

interface Process {
  readonly url: string;
  readonly pid: number;
}

interface Target extends Process {
  readonly token: string;
  readonly creates: string;
  readonly body: (name: string) => object;
  /** The path of a stream that begins now. */
  readonly events: () => Promise<string>;
  readonly accept: string;
  /** Between two events of it. */
  readonly separator: string;
  /** Finds the name of what was created. */
  readonly created: RegExp;
}

interface Figure {
  readonly cpuPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly missed: number;
}

let created = 0;

function berth({ url, pid }: Process, image: string): Target {
  return {
    url,
    pid,
    token: BENCH_TOKEN,
    creates: '/api/v1/deployments',
    body: (name) => ({ name, image, replicas: 0 }),
    events: async () => '/api/v1/events',
    accept: 'text/event-stream',
    separator: '\n\n',
    created: /^event: deployment\.created$[^]*"name":"([^"]+)"/m,
  };
}

function kubernetes({ url, pid }: Process, image: string): Target {
  const now = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${KUBE_TOKEN}` };
    const list = await fetch(`${url}${KUBE_DEPLOYMENTS}?limit=1`, { headers });
    const { metadata } = (await list.json()) as { readonly metadata: { readonly resourceVersion: string } };
    return metadata.resourceVersion;
  };
  return {
    url,
    pid,
    token: KUBE_TOKEN,
    creates: KUBE_DEPLOYMENTS,
    body: (name) => kubeDeployment(name, image),
    events: async () => `${KUBE_DEPLOYMENTS}?watch=true&resourceVersion=${await now()}`,
    accept: 'application/json',
    separator: '\n',
    created: /^{"type":"ADDED".*?"name":"([^"]+)"/,
  };
}

function connect(target: Target, path: string): Promise<IncomingMessage> {
  const { url, token } = target;
  return new Promise((resolve, reject) => {
    (url.startsWith('https:') ? getSecurely : get)(
      `${url}${path}`,
      { agent: false, headers: { authorization: `Bearer ${token}`, accept: target.accept } },
      (response) => {
        if (response.statusCode === 200) resolve(response);
        else reject(new Error(`a reader got ${response.statusCode}`));
      },
    ).on('error', reject);
  });
}

/** Creates at a steady pace, each read by so many. */
async function measure(target: Target, readers: number, perSecond: number): Promise<Figure> {
  const { url, pid, token, separator, created: pattern } = target;
  const sent = new Map<string, number>();
  const times: number[] = [];
  const streams: IncomingMessage[] = [];
  const path = await target.events();
  while (streams.length < readers)
    streams.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(CONNECT_AT_ONCE, readers - streams.length) }, () =>
          connect(target, path),
        ),
      )),
    );
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('error', () => undefined);
    stream.on('data', (text: string) => {
      const frames = (rest + text).split(separator);
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const name = pattern.exec(frame)?.[1];
        const at = name === undefined ? undefined : sent.get(name);
        if (at !== undefined) times.push(performance.now() - at);
      }
    });
  }
  await delay(SETTLE_MS);
  const cpu = threadSeconds(pid).all;
  const writes = SECONDS * perSecond;
  const begun = performance.now();
  const answers: Promise<unknown>[] = [];
  for (let write = 0; write < writes; write += 1) {
    await delay(Math.max(0, begun + (write * 1000) / perSecond - performance.now()));
    created += 1;
    const name = `ev-${created}`;
    sent.set(name, performance.now());
    const answer = await fetch(`${url}${target.creates}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(target.body(name)),
    });
    answers.push(answer.text());
    if (answer.status !== 201) throw new Error(`a create got ${answer.status}`);
  }
  await Promise.all(answers);
  await delay(SETTLE_MS);
  const cpuPerSecond = (threadSeconds(pid).all - cpu) / SECONDS;
  for (const stream of streams) stream.destroy();
  if (readers > 0 && times.length === 0) throw new Error(`nobody was told anything by ${url}${path}`);
  await delay(SETTLE_MS);
  return {
    cpuPerSecond,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    missed: writes * readers - times.length,
  };
}

function show(what: string, { cpuPerSecond, p50, p99, missed }: Figure): void {
  process.stdout.write(
    `${what.padEnd(44)} ${(cpuPerSecond * 100).toFixed(1).padStart(6)} % of a core  delivered after p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms${missed > 0 ? `  ${missed} MISSED` : ''}\n`,
  );
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Processor time is the mean of the rounds; times of delivery are those of the quieter one. */
function together(rounds: readonly Figure[]): Figure {
  const [quietest] = rounds.toSorted((a, b) => a.p99 - b.p99);
  if (quietest === undefined) throw new Error('nothing was measured');
  const missed = rounds.reduce((sum, round) => sum + round.missed, 0);
  return { ...quietest, cpuPerSecond: mean(rounds.map(({ cpuPerSecond }) => cpuPerSecond)), missed };
}

/** What is left when that without readers is taken away is what reading costs. */
async function compare(label: string, target: Target): Promise<Figure> {
  await measure(target, 1, WRITES_PER_SECOND);
  const [without, read]: [Figure[], Figure[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    without.push(await measure(target, 0, WRITES_PER_SECOND));
    read.push(await measure(target, READERS, WRITES_PER_SECOND));
  }
  const [none, all] = [together(without), together(read)];
  show(`${label}, ${WRITES_PER_SECOND} creates/s, no reader`, none);
  show(`${label}, ${WRITES_PER_SECOND} creates/s, ${READERS} readers`, all);
  return { ...all, cpuPerSecond: all.cpuPerSecond - none.cpuPerSecond };
}

function ratio(ours: Figure, theirs: Figure, whose: string): string {
  return `readers cost x${(ours.cpuPerSecond / theirs.cpuPerSecond).toFixed(2)} of ${whose}, p99 x${(ours.p99 / theirs.p99).toFixed(2)}\n`;
}

async function onEtcd<Result>(run: (endpoint: string) => Promise<Result>): Promise<Result> {
  const etcd = await startEtcd();
  try {
    return await run(etcd.endpoints[0] ?? '');
  } finally {
    await etcd.stop();
  }
}

const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
const environment = {
  BERTH_LIMITS_STREAMS_PER_TOKEN: '100000',
  BERTH_LIMITS_STREAMS_PER_TENANT: '100000',
};
/** A control plane of its own. */
async function compareBerth(label: string, args: readonly string[]): Promise<Figure> {
  const server = await startServerProcess({ args, environment });
  const figure = await compare(label, berth(server, reference));
  await server.stop();
  return figure;
}

const compareOnEtcd = (label: string, args: readonly string[] = []): Promise<Figure> =>
  onEtcd((endpoint) => compareBerth(label, ['--store', 'etcd', '--etcd', endpoint, ...args]));

async function beside(binary: string): Promise<void> {
  const { tls, args, remove } = secured();
  try {
    const theirs = await onEtcd(async (etcd) => {
      const kube = await startKubeApiserver(binary, { etcd, tls });
      const figure = await compare('kube-apiserver', kubernetes(kube, reference));
      await kube.stop();
      return figure;
    });
    const child = await startChild(BARE, ['events', JSON.stringify({ tls, isStraight: true })]);
    const bare = await compare(
      'bare with TLS',
      berth({ url: `https://127.0.0.1:${child.port}`, pid: child.pid }, reference),
    );
    await child.stop();
    process.stdout.write(
      `bare with TLS, bytes made once, straight to the sockets: x${(bare.cpuPerSecond / theirs.cpuPerSecond).toFixed(2)} of what kube-apiserver's readers cost it, p99 of delivery x${(bare.p99 / theirs.p99).toFixed(2)}\n`,
    );
    const embedded = await compareBerth('embedded with TLS', args);
    process.stdout.write(`embedded with TLS: ${ratio(embedded, theirs, "kube-apiserver's")}`);
    const shared = await compareOnEtcd('etcd with TLS', args);
    process.stdout.write(`etcd with TLS: ${ratio(shared, theirs, "kube-apiserver's")}`);
  } finally {
    remove();
  }
}

try {
  const child = await startChild(BARE, ['events']);
  const bare = berth({ url: `http://127.0.0.1:${child.port}`, pid: child.pid }, reference);
  const base = await compare('bare', bare);
  await child.stop();
  const server = await startServerProcess({ environment });
  const embedded = berth(server, reference);
  process.stdout.write(`embedded: ${ratio(await compare('embedded', embedded), base, "the bare server's")}`);
  const before = rssMiB(server.pid);
  const many = await measure(embedded, MANY, MANY_WRITES_PER_SECOND);
  show(`embedded, ${MANY_WRITES_PER_SECOND} creates/s, ${MANY} readers`, many);
  process.stdout.write(
    `memory ${before.toFixed(0)} MiB before, ${rssMiB(server.pid).toFixed(0)} MiB after ${MANY} readers\n`,
  );
  await server.stop();
  if (WITH_ETCD)
    process.stdout.write(`etcd: ${ratio(await compareOnEtcd('etcd'), base, "the bare server's")}`);
  if (KUBE_APISERVER === undefined)
    process.stdout.write(
      'kube-apiserver: not compared; BENCH_KUBE_APISERVER takes the path of its program\n',
    );
  else await beside(KUBE_APISERVER);
} finally {
  await registry.stop();
}
