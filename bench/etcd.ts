/**
 * Guarded commits of five keys against raw puts of one, on the same server in the same run. Raw puts are made twice:
 * with the stock gRPC library, which is what "raw puts from Node" means in the bar (commits at 60 % of them), and
 * with the adapter's own wire. Five puts in one transaction without guards show what etcd itself makes of five keys.
 * Usage: node bench/etcd.ts [seconds per case] [endpoint]
 */
import { EtcdCluster } from '../src/server/store/etcd/cluster.ts';
import { keySpaceUnder } from '../src/server/store/etcd/key-space.ts';
import { METHODS } from '../src/server/store/etcd/messages.ts';
import { openEtcdKv } from '../src/server/store/etcd/open.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { rawPuts } from './support/raw-puts.ts';

const CONCURRENCIES = [1, 16, 64, 256];
const KEYS_PER_COMMIT = 5;
const ROUNDS = 3;
const BARE = keySpaceUnder('/bench/');
const value = JSON.stringify({ name: 'web', image: 'registry.example/web:1', note: 'x'.repeat(400) });

interface Rate {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
}

async function measure(
  concurrency: number,
  seconds: number,
  run: (worker: number) => Promise<void>,
): Promise<Rate> {
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  const worker = async (id: number): Promise<void> => {
    while (performance.now() < end) {
      const start = performance.now();
      await run(id);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, id) => worker(id)));
  const elapsed = (performance.now() - begin) / 1_000;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / elapsed,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    cpuMicros: (used.user + used.system) / latencies.length,
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

async function compare(endpoints: readonly string[], concurrency: number, seconds: number): Promise<void> {
  const cluster = new EtcdCluster({ endpoints, timeoutMs: 10_000 });
  const kv = await openEtcdKv({ endpoints, timeoutMs: 10_000 });
  const revisions = Array.from({ length: concurrency }, () => 0);
  const keysOf = (id: number): string[] =>
    Array.from({ length: KEYS_PER_COMMIT }, (_, index) => `bench/${concurrency}/${id}/${index}`);
  for (const id of revisions.keys()) revisions[id] = (await kv.get(keysOf(id)[0] ?? ''))?.modRevision ?? 0;

  const stock = rawPuts(endpoints[0] ?? '');
  const stockPut = (id: number): Promise<void> => stock.put(`/bench/${id}`, value);
  const put = async (id: number): Promise<void> => {
    await cluster.call(METHODS.put, { key: `/bench/${id}`, value }, { repeatable: false });
  };
  const bareTxn = async (id: number): Promise<void> => {
    const puts = keysOf(id).map((key) => ({ key, value }));
    await cluster.call(METHODS.txn, { commits: [{ puts }], guards: [], keys: BARE }, { repeatable: false });
  };
  const commit = async (id: number): Promise<void> => {
    const keys = keysOf(id);
    const modRevision = revisions[id] ?? 0;
    const result = await kv.commit({
      guards: keys.map((key) => ({ key, modRevision })),
      puts: keys.map((key) => ({ key, value })),
    });
    if (!result.ok) throw new Error(`unexpected conflict on ${result.failed.join(', ')}`);
    revisions[id] = result.revision;
  };

  const stockPuts: Rate[] = [];
  const puts: Rate[] = [];
  const bareTxns: Rate[] = [];
  const commits: Rate[] = [];
  // In turns, so that a disturbance of the machine meets both.
  for (let round = 0; round < ROUNDS; round += 1) {
    stockPuts.push(await measure(concurrency, seconds, stockPut));
    puts.push(await measure(concurrency, seconds, put));
    bareTxns.push(await measure(concurrency, seconds, bareTxn));
    commits.push(await measure(concurrency, seconds, commit));
  }
  const show = (name: string, rates: readonly Rate[]): void => {
    const [perSecond, p99Ms, cpuMicros] = (['perSecond', 'p99Ms', 'cpuMicros'] as const).map((part) =>
      median(rates.map((rate) => rate[part])),
    );
    console.log(
      `${String(concurrency).padStart(4)}  ${name.padEnd(22)} ${perSecond?.toFixed(0).padStart(6)}/s   ` +
        `p99 ${p99Ms?.toFixed(1).padStart(6)} ms   client ${cpuMicros?.toFixed(0).padStart(4)} µs`,
    );
  };
  const rateOf = (rates: readonly Rate[]): number => median(rates.map((rate) => rate.perSecond));
  const share = (rates: readonly Rate[]): string =>
    `${((rateOf(commits) / rateOf(rates)) * 100).toFixed(0)} %`;
  show('puts, stock library', stockPuts);
  show('puts, own wire', puts);
  show('5 puts without guards', bareTxns);
  show('commits of 5 keys', commits);
  console.log(
    `      commits: ${share(stockPuts)} of stock puts, ${share(puts)} of own puts, ${share(bareTxns)} of five unguarded puts`,
  );
  stock.close();
  cluster.close();
  await kv.close();
}

const seconds = Number(process.argv[2] ?? 2);
const given = process.argv[3];
const etcd =
  given === undefined ? await startEtcd({ args: ['--quota-backend-bytes=8589934592'] }) : undefined;
try {
  for (const concurrency of CONCURRENCIES) {
    await compare(etcd ? etcd.endpoints : [given ?? ''], concurrency, seconds);
  }
} finally {
  await etcd?.stop();
}
