import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openEtcdKv } from '../src/server/store/etcd/open.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';
import { type ServerProcess, startServerProcess } from './support/server-process.ts';
import { until } from './support/one-node.ts';
import { addHistory, copyDeployment, inEmbedded } from './support/stored-copies.ts';

/**
 * A control plane that starts on a store with many deployments: until it says that it is ready, and until it has answered a list.
 * One deployment is made by a request and settled by the controllers; the others are its records under other names.
 * The last one is left alone for a while: its controllers reconcile everything once.
 *   node bench/restart.ts [deployments] [starts] [seconds] [history=RECORDS] [etcd=DEPLOYMENTS]
 * With `history`: starts with a hundredth of the deployments, in turn without and with so many events and audit lines.
 * With `etcd`: etcd alone is killed, empty and with the deployments, then a control plane on it, and then both.
 */
const numbers = process.argv.slice(2).filter((word) => !word.includes('='));
const DEPLOYMENTS = Number(numbers[0] ?? 100_000);
const STARTS = Number(numbers[1] ?? 3);
const SECONDS = Number(numbers[2] ?? 60);
const named = (name: string): number =>
  Number(process.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? 0);
const HISTORY = named('history');
const ON_ETCD = named('etcd');

const count = (value: number): string => value.toLocaleString('en');
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function makeTemplate(server: ServerProcess, image: string): Promise<void> {
  const created = await server.call('POST', '/api/v1/deployments', { name: 'template', image });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
  await until(
    async () => {
      const { body } = await server.call('GET', '/api/v1/deployments/template');
      return (body as { status?: { phase?: string } }).status?.phase === 'Pending';
    },
    'the status of the deployment',
    20,
  );
}

interface Start {
  readonly server: ServerProcess;
  readonly readyMs: number;
  readonly listedMs: number;
  readonly cpu: number;
}

async function started(
  options: Parameters<typeof startServerProcess>[0],
  deployments: number,
): Promise<Start> {
  const begun = performance.now();
  const server = await startServerProcess(options);
  const readyMs = performance.now() - begun;
  const ready = await fetch(`${server.url}/readyz`);
  const list = await server.call('GET', '/api/v1/deployments?limit=100');
  const listedMs = performance.now() - begun;
  if (ready.status !== 200 || (list.body as readonly unknown[]).length !== Math.min(100, deployments))
    throw new Error(`${ready.status}, ${JSON.stringify(list.body).slice(0, 200)}`);
  return { server, readyMs, listedMs, cpu: cpuSeconds(server.pid) };
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2);

async function embedded(image: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    const first = await startServerProcess({ dir });
    await makeTemplate(first, image);
    await first.stop();
    const { records, bytes } = await inEmbedded(join(dir, 'store'), (kv) =>
      copyDeployment(kv, 'template', DEPLOYMENTS - 1),
    );
    console.log(
      `${count(DEPLOYMENTS)} deployments, ${count(records)} records of ${(bytes / 2 ** 20).toFixed(0)} MiB, file of ${(statSync(join(dir, 'store', 'berth.db')).size / 2 ** 20).toFixed(0)} MiB`,
    );
    for (let start = 1; start <= STARTS; start += 1) {
      const { server, readyMs, listedMs, cpu } = await started({ dir }, DEPLOYMENTS);
      console.log(
        `start ${start}: ready in ${seconds(readyMs)} s, first list answered after ${seconds(listedMs)} s, ${cpu.toFixed(2)} s of processor time, RSS ${rssMiB(server.pid).toFixed(0)} MiB`,
      );
      if (start === STARTS) {
        await pause(SECONDS * 1000);
        console.log(`${SECONDS} s later: RSS ${rssMiB(server.pid).toFixed(0)} MiB`);
      }
      await server.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What a start costs may not depend on how much happened before. */
async function withHistory(image: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const deployments = Math.max(1, DEPLOYMENTS / 100);
  try {
    const [without, withIt] = [join(dir, 'without'), join(dir, 'with')];
    const first = await startServerProcess({ dir: without });
    await makeTemplate(first, image);
    await first.stop();
    await inEmbedded(join(without, 'store'), (kv) => copyDeployment(kv, 'template', deployments - 1));
    cpSync(without, withIt, { recursive: true });
    await inEmbedded(join(withIt, 'store'), (kv) => addHistory(kv, HISTORY));
    const sides = [
      { what: 'no history', dir: without, starts: [] as Start[] },
      { what: `${count(HISTORY)} records of history`, dir: withIt, starts: [] as Start[] },
    ];
    // In turn, so that whatever else the machine does meets both; the first of each is not counted: it brings the files into memory.
    for (let start = 0; start <= 2 * STARTS + 1; start += 1)
      for (const side of sides) {
        const one = await started({ dir: side.dir }, deployments);
        await one.server.kill();
        if (start > 0) side.starts.push(one);
      }
    const cpus = sides.map(({ what, starts }) => {
      const [ms, cpu] = [
        median(starts.map(({ listedMs }) => listedMs)),
        median(starts.map(({ cpu }) => cpu)),
      ];
      console.log(
        `${count(deployments)} deployments, ${what}, ${starts.length} starts: first list answered after p50 ${seconds(ms)} s, p50 ${cpu.toFixed(2)} s of processor time`,
      );
      return cpu;
    });
    const [before = Number.NaN, after = Number.NaN] = cpus;
    console.log(`with history a start takes ${(after / before).toFixed(2)} of the processor time`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What the guide asks for where members are in one network: an etcd that was killed waits for an election before it serves. */
const SHORT_ELECTION = ['--heartbeat-interval=30', '--election-timeout=300'];

/** An etcd with nothing in it, killed and started: what anybody has to wait for. */
async function emptyEtcd(args: readonly string[]): Promise<void> {
  const etcd = await startEtcd({ args });
  const [member] = etcd.members;
  try {
    for (let at = 0; at < STARTS; at += 1) {
      const begun = performance.now();
      await member?.restart();
      console.log(
        `empty etcd, ${args.join(' ') || 'default settings'}: killed, and well after ${seconds(performance.now() - begun)} s, with ${cpuSeconds(member?.pid ?? 0).toFixed(2)} s of processor time`,
      );
    }
  } finally {
    await etcd.stop();
  }
}

async function onEtcd(image: string): Promise<void> {
  for (const args of [[], SHORT_ELECTION]) await emptyEtcd(args);
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const etcd = await startEtcd({ args: SHORT_ELECTION });
  const [member] = etcd.members;
  const options = { dir, args: ['--store', 'etcd', '--etcd', etcd.endpoints[0] ?? ''] };
  try {
    let server = await startServerProcess(options);
    await makeTemplate(server, image);
    await server.stop();
    const kv = await openEtcdKv({ endpoints: etcd.endpoints, timeoutMs: 30_000 });
    await copyDeployment(kv, 'template', ON_ETCD - 1);
    await kv.close();
    for (let at = 0; at < STARTS; at += 1) {
      const begun = performance.now();
      await member?.restart();
      console.log(
        `etcd, ${count(ON_ETCD)} deployments, no control plane: etcd killed, and well after ${seconds(performance.now() - begun)} s, with ${cpuSeconds(member?.pid ?? 0).toFixed(2)} s of processor time`,
      );
    }
    ({ server } = await started(options, ON_ETCD));
    for (let at = 0; at < STARTS; at += 1) {
      await server.kill();
      const alone = await started(options, ON_ETCD);
      console.log(
        `etcd, ${count(ON_ETCD)} deployments, control plane killed: first list answered after ${seconds(alone.listedMs)} s, ${alone.cpu.toFixed(2)} s of processor time`,
      );
      await Promise.all([alone.server.kill(), member?.kill()]);
      const begun = performance.now();
      const both = started(options, ON_ETCD);
      await member?.restart();
      const etcdMs = performance.now() - begun;
      const { server: next, listedMs, cpu } = await both;
      console.log(
        `etcd, ${count(ON_ETCD)} deployments, both killed: first list answered after ${seconds(listedMs)} s, ${cpu.toFixed(2)} s of processor time; etcd was well after ${seconds(etcdMs)} s, with ${cpuSeconds(member?.pid ?? 0).toFixed(2)} s, and the list came ${seconds(listedMs - etcdMs)} s later`,
      );
      server = next;
    }
    await server.stop();
  } finally {
    await etcd.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const registry = await startRegistry();
try {
  const { reference } = await pushImage(registry, 'bench/web:1', {});
  await embedded(reference);
  if (HISTORY > 0) await withHistory(reference);
  if (ON_ETCD > 0) await onEtcd(reference);
} finally {
  await registry.stop();
}
