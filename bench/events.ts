import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import { percentile } from './support/one-node.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * Readers of the stream of events while deployments are created, beside a bare server that commits as much and writes one line to every
 * reader. From sending a create until a reader has its event; processor time of the server with readers less that without.
 *   node bench/events.ts [seconds per measurement] [many readers] [etcd]
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

interface Target {
  readonly url: string;
  readonly pid: number;
}

interface Figure {
  readonly cpuPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly missed: number;
}

let created = 0;

function connect(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(
      `${url}/api/v1/events`,
      { agent: false, headers: { authorization: `Bearer ${BENCH_TOKEN}`, accept: 'text/event-stream' } },
      (response) => {
        if (response.statusCode === 200) resolve(response);
        else reject(new Error(`a reader got ${response.statusCode}`));
      },
    ).on('error', reject);
  });
}

/** Creates at a steady pace, each read by so many. */
async function measure(
  { url, pid }: Target,
  image: string,
  readers: number,
  perSecond: number,
): Promise<Figure> {
  const sent = new Map<string, number>();
  const times: number[] = [];
  const streams: IncomingMessage[] = [];
  while (streams.length < readers)
    streams.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(CONNECT_AT_ONCE, readers - streams.length) }, () => connect(url)),
      )),
    );
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('error', () => undefined);
    stream.on('data', (text: string) => {
      const frames = (rest + text).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const name = /^event: deployment\.created$[^]*"name":"([^"]+)"/m.exec(frame)?.[1];
        const at = name === undefined ? undefined : sent.get(name);
        if (at !== undefined) times.push(performance.now() - at);
      }
    });
  }
  await delay(SETTLE_MS);
  const cpu = cpuSeconds(pid);
  const writes = SECONDS * perSecond;
  const begun = performance.now();
  const answers: Promise<unknown>[] = [];
  for (let write = 0; write < writes; write += 1) {
    await delay(Math.max(0, begun + (write * 1000) / perSecond - performance.now()));
    created += 1;
    const name = `ev-${created}`;
    sent.set(name, performance.now());
    const answer = await fetch(`${url}/api/v1/deployments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name, image, replicas: 0 }),
    });
    answers.push(answer.text());
    if (answer.status !== 201) throw new Error(`a create got ${answer.status}`);
  }
  await Promise.all(answers);
  await delay(SETTLE_MS);
  const cpuPerSecond = (cpuSeconds(pid) - cpu) / SECONDS;
  for (const stream of streams) stream.destroy();
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

/** Without readers first: what is left is what reading costs. */
async function compare(label: string, target: Target, image: string): Promise<Figure> {
  await measure(target, image, 1, WRITES_PER_SECOND);
  const none = await measure(target, image, 0, WRITES_PER_SECOND);
  const all = await measure(target, image, READERS, WRITES_PER_SECOND);
  show(`${label}, ${WRITES_PER_SECOND} creates/s, no reader`, none);
  show(`${label}, ${WRITES_PER_SECOND} creates/s, ${READERS} readers`, all);
  return { ...all, cpuPerSecond: all.cpuPerSecond - none.cpuPerSecond };
}

const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
const environment = {
  BERTH_LIMITS_STREAMS_PER_TOKEN: '100000',
  BERTH_LIMITS_STREAMS_PER_TENANT: '100000',
};
try {
  const bare = await startChild(new URL('./support/bare-server.ts', import.meta.url), ['events']);
  const base = await compare('bare', { url: `http://127.0.0.1:${bare.port}`, pid: bare.pid }, reference);
  await bare.stop();
  const embedded = await startServerProcess({ environment });
  const ours = await compare('embedded', embedded, reference);
  const ratio = (figure: Figure): string =>
    `readers cost x${(figure.cpuPerSecond / base.cpuPerSecond).toFixed(2)} of the bare server's, p99 x${(figure.p99 / base.p99).toFixed(2)}\n`;
  process.stdout.write(`embedded: ${ratio(ours)}`);
  const before = rssMiB(embedded.pid);
  const many = await measure(embedded, reference, MANY, MANY_WRITES_PER_SECOND);
  show(`embedded, ${MANY_WRITES_PER_SECOND} creates/s, ${MANY} readers`, many);
  process.stdout.write(
    `memory ${before.toFixed(0)} MiB before, ${rssMiB(embedded.pid).toFixed(0)} MiB after ${MANY} readers\n`,
  );
  await embedded.stop();
  if (WITH_ETCD) {
    const etcd = await startEtcd();
    const shared = await startServerProcess({
      args: ['--store', 'etcd', '--etcd', etcd.endpoints[0] ?? ''],
      environment,
    });
    process.stdout.write(`etcd: ${ratio(await compare('etcd', shared, reference))}`);
    await shared.stop();
    await etcd.stop();
  }
} finally {
  await registry.stop();
}
