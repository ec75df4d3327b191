import { get, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { type Child, startChild } from './support/child.ts';
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
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Readers of the stream of events while deployments are created, beside a bare server that commits as much and writes one line to every
 * reader. From sending a create until a reader has its event, and what of that is the create itself; processor time of the server with readers less that without.
 * Where BENCH_KUBE_APISERVER has the path of its program: with TLS, beside as many watches of its deployments, and beside bare servers with TLS
 * that do the least Node can do for a reader, one for each kind of store.
 *   [BENCH_KUBE_APISERVER=/path/of/kube-apiserver] node bench/events.ts [seconds per measurement] [many readers] [etcd]
 */
const SECONDS = Number(process.argv[2] ?? 4);
const MANY = Number(process.argv[3] ?? 5000);
const WITH_ETCD = process.argv.includes('etcd');
const READERS = 100;
const WRITES_PER_SECOND = 50;
const MANY_WRITES_PER_SECOND = 2;
/** What is under way when the writes end. */
const SETTLE_MS = 500;
const CONNECT_AT_ONCE = 50;
const WARM_CREATES = Math.ceil(5_000 * Math.min(SECONDS / 4, 1));
const WARM_READERS = 20;
const WARM_WRITERS = 16;
const ROUNDS = 5;
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
  /** Of the creates: until each was answered. */
  readonly answeredP99: number;
  /** From the answer to a create on until a reader had its event. */
  readonly afterP99: number;
  readonly missed: number;
}

interface Create {
  readonly sentMs: number;
  answeredMs: number;
  readonly deliveredMs: number[];
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

/** So many readers of what happens from now on. */
async function connectAll(target: Target, readers: number): Promise<readonly IncomingMessage[]> {
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
  for (const stream of streams) stream.on('error', () => undefined);
  return streams;
}

async function create({ url, token, creates, body }: Target, name: string): Promise<void> {
  const answer = await fetch(`${url}${creates}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body(name)),
  });
  if (answer.status !== 201) throw new Error(`a create got ${answer.status}`);
  await answer.text();
}

/** Until most of what runs is compiled: at the pace of a measurement that would take minutes, and what a compiler takes is no part of what reading costs. */
async function warm(target: Target): Promise<void> {
  const streams = await connectAll(target, WARM_READERS);
  for (const stream of streams) stream.resume();
  const last = created + WARM_CREATES;
  const writer = async (): Promise<void> => {
    while (created < last) {
      created += 1;
      await create(target, `ev-${created}`);
    }
  };
  await Promise.all(Array.from({ length: WARM_WRITERS }, writer));
  for (const stream of streams) stream.destroy();
}

/** Creates at a steady pace, each read by so many. */
async function measure(target: Target, readers: number, perSecond: number): Promise<Figure> {
  const { pid, separator, created: pattern } = target;
  const creates = new Map<string, Create>();
  const streams = await connectAll(target, readers);
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      const frames = (rest + text).split(separator);
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const name = pattern.exec(frame)?.[1];
        if (name !== undefined) creates.get(name)?.deliveredMs.push(performance.now());
      }
    });
  }
  const post = async (): Promise<Create> => {
    created += 1;
    const name = `ev-${created}`;
    const made: Create = { sentMs: performance.now(), answeredMs: 0, deliveredMs: [] };
    creates.set(name, made);
    await create(target, name);
    made.answeredMs = performance.now();
    return made;
  };
  await delay(SETTLE_MS);
  // Opens the connection that the others go over, and does not count.
  await post();
  await delay(SETTLE_MS);
  const cpu = threadSeconds(pid).all;
  const writes = SECONDS * perSecond;
  const begun = performance.now();
  const counted: Create[] = [];
  for (let write = 0; write < writes; write += 1) {
    await delay(Math.max(0, begun + (write * 1000) / perSecond - performance.now()));
    counted.push(await post());
  }
  await delay(SETTLE_MS);
  const cpuPerSecond = (threadSeconds(pid).all - cpu) / SECONDS;
  for (const stream of streams) stream.destroy();
  const times = counted.flatMap(({ sentMs, deliveredMs }) => deliveredMs.map((ms) => ms - sentMs));
  if (readers > 0 && times.length === 0) throw new Error(`nobody was told anything by ${target.url}`);
  await delay(SETTLE_MS);
  return {
    cpuPerSecond,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    answeredP99: percentile(
      counted.map(({ sentMs, answeredMs }) => answeredMs - sentMs),
      0.99,
    ),
    afterP99: percentile(
      counted.flatMap(({ answeredMs, deliveredMs }) => deliveredMs.map((ms) => Math.max(0, ms - answeredMs))),
      0.99,
    ),
    missed: writes * readers - times.length,
  };
}

function show(what: string, { cpuPerSecond, p50, p99, answeredP99, afterP99, missed }: Figure): void {
  process.stdout.write(
    `${what.padEnd(44)} ${(cpuPerSecond * 100).toFixed(1).padStart(6)} % of a core  delivered after p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms; creates answered after p99 ${answeredP99.toFixed(1)} ms, readers have it p99 ${afterP99.toFixed(1)} ms later${missed > 0 ? `  ${missed} MISSED` : ''}\n`,
  );
}

interface Side {
  readonly label: string;
  readonly target: Target;
}

/**
 * Without readers and with them, every side in each round, every second one backwards: the machine is another one some minutes later. Everybody is warm then. What is left when that without readers
 * is taken away is what reading costs; of it and of the times, the median of the rounds.
 */
async function compare(sides: readonly Side[]): Promise<(label: string) => Figure> {
  const rounds = new Map(sides.map(({ label }) => [label, { none: [] as Figure[], all: [] as Figure[] }]));
  for (const { target } of sides) await warm(target);
  const none = async ({ label, target }: Side): Promise<void> => {
    rounds.get(label)?.none.push(await measure(target, 0, WRITES_PER_SECOND));
  };
  const all = async ({ label, target }: Side): Promise<void> => {
    rounds.get(label)?.all.push(await measure(target, READERS, WRITES_PER_SECOND));
  };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      for (const part of round % 2 === 0 ? [none, all] : [all, none]) await part(side);
  const reading = new Map<string, Figure>();
  for (const [label, { none, all }] of rounds) {
    show(`${label}, ${WRITES_PER_SECOND} creates/s, no reader`, middle(none));
    show(`${label}, ${WRITES_PER_SECOND} creates/s, ${READERS} readers`, middle(all));
    const costs = all.map(({ cpuPerSecond }, round) => cpuPerSecond - (none[round]?.cpuPerSecond ?? 0));
    reading.set(label, { ...middle(all), cpuPerSecond: percentile(costs, 0.5) });
  }
  return (label) => {
    const found = reading.get(label);
    if (found === undefined) throw new Error(`${label} was not measured`);
    return found;
  };
}

function middle(rounds: readonly Figure[]): Figure {
  const of = (field: (round: Figure) => number): number => percentile(rounds.map(field), 0.5);
  return {
    cpuPerSecond: of(({ cpuPerSecond }) => cpuPerSecond),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    answeredP99: of(({ answeredP99 }) => answeredP99),
    afterP99: of(({ afterP99 }) => afterP99),
    missed: rounds.reduce((sum, { missed }) => sum + missed, 0),
  };
}

function ratio(ours: Figure, theirs: Figure, whose: string): string {
  return `readers cost x${(ours.cpuPerSecond / theirs.cpuPerSecond).toFixed(2)} of ${whose}, p99 x${(ours.p99 / theirs.p99).toFixed(2)}; their creates alone are answered p99 x${(ours.answeredP99 / theirs.answeredP99).toFixed(2)}\n`;
}

const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
const environment = {
  BERTH_LIMITS_STREAMS_PER_TOKEN: '100000',
  BERTH_LIMITS_STREAMS_PER_TENANT: '100000',
};

const startBerth = (args: readonly string[]): Promise<ServerProcess> =>
  startServerProcess({ args, environment });

async function startBerthOnEtcd(args: readonly string[]): Promise<ServerProcess> {
  const etcd = await startEtcd();
  const server = await startBerth(['--store', 'etcd', '--etcd', etcd.endpoints[0] ?? '', ...args]);
  return {
    ...server,
    stop: async () => {
      await server.stop();
      await etcd.stop();
    },
  };
}

async function beside(binary: string): Promise<void> {
  const { tls, args, remove } = secured();
  try {
    const etcd = await startEtcd();
    const kube = await startKubeApiserver(binary, { etcd: etcd.endpoints[0] ?? '', tls });
    const ofBare = await startEtcd();
    const startBare = (store: { readonly etcd?: string }) =>
      startChild(BARE, ['events', JSON.stringify({ tls, isStraight: true, ...store })]);
    const child = await startBare({});
    const onEtcd = await startBare({ etcd: ofBare.endpoints[0] ?? '' });
    const bare = ({ port, pid }: Child): Target =>
      berth({ url: `https://127.0.0.1:${port}`, pid }, reference);
    const embedded = await startBerth(args);
    const shared = await startBerthOnEtcd(args);
    const figures = await compare([
      { label: 'kube-apiserver', target: kubernetes(kube, reference) },
      { label: 'bare with TLS', target: bare(child) },
      { label: 'bare with TLS on etcd', target: bare(onEtcd) },
      { label: 'embedded with TLS', target: berth(embedded, reference) },
      { label: 'etcd with TLS', target: berth(shared, reference) },
    ]);
    for (const started of [shared, embedded, onEtcd, child, kube, ofBare, etcd]) await started.stop();
    const theirs = figures('kube-apiserver');
    for (const label of ['bare with TLS', 'bare with TLS on etcd']) {
      const least = figures(label);
      process.stdout.write(
        `${label}, bytes made once, straight to the sockets: x${(least.cpuPerSecond / theirs.cpuPerSecond).toFixed(2)} of what kube-apiserver's readers cost it, p99 of delivery x${(least.p99 / theirs.p99).toFixed(2)}\n`,
      );
    }
    for (const label of ['embedded with TLS', 'etcd with TLS'])
      process.stdout.write(`${label}: ${ratio(figures(label), theirs, "kube-apiserver's")}`);
  } finally {
    remove();
  }
}

try {
  const child = await startChild(BARE, ['events']);
  const server = await startBerth([]);
  const shared = WITH_ETCD ? await startBerthOnEtcd([]) : undefined;
  const embedded = berth(server, reference);
  const figures = await compare([
    { label: 'bare', target: berth({ url: `http://127.0.0.1:${child.port}`, pid: child.pid }, reference) },
    { label: 'embedded', target: embedded },
    ...(shared === undefined ? [] : [{ label: 'etcd', target: berth(shared, reference) }]),
  ]);
  await child.stop();
  await shared?.stop();
  for (const label of shared === undefined ? ['embedded'] : ['embedded', 'etcd'])
    process.stdout.write(`${label}: ${ratio(figures(label), figures('bare'), "the bare server's")}`);
  const before = rssMiB(server.pid);
  const many = await measure(embedded, MANY, MANY_WRITES_PER_SECOND);
  show(`embedded, ${MANY_WRITES_PER_SECOND} creates/s, ${MANY} readers`, many);
  process.stdout.write(
    `memory ${before.toFixed(0)} MiB before, ${rssMiB(server.pid).toFixed(0)} MiB after ${MANY} readers\n`,
  );
  await server.stop();
  if (KUBE_APISERVER === undefined)
    process.stdout.write(
      'kube-apiserver: not compared; BENCH_KUBE_APISERVER takes the path of its program\n',
    );
  else await beside(KUBE_APISERVER);
} finally {
  await registry.stop();
}
