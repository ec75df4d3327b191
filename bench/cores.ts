import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { type Child, startChild } from './support/child.ts';
import { loadDeployments } from './support/deployments-load.ts';
import { rssMiB, threadSeconds } from './support/process-cost.ts';
import { secured } from './support/secured.ts';
import { type ServerProcess, startServerProcess } from './support/server-process.ts';
import { median } from './support/turns.ts';

/**
 * What threads for TLS (tls.threads) take off the main thread: processor time of a request there and in all threads, plain, with TLS on the main
 * thread, and with TLS on one thread and on two, in turn in one run, every second round backwards; and of a bare handler that answers a read with the
 * same bytes, plain and behind the same two threads, which is what handing over costs without us. One main thread is full at a million of its microseconds a second, so that its
 * share is what bounds a machine with more cores; the rate is that of these cores, with the load generator on them.
 *   node bench/cores.ts [reads per measurement; a fifth as many creates] [rounds]
 */
const READS = Number(process.argv[2] ?? 20_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const KINDS = ['plain', 'TLS', 'TLS, 1 thread', 'TLS, 2 threads'] as const;
const BARE = new URL('./support/bare-server.ts', import.meta.url);

type Side = Pick<ServerProcess, 'url' | 'pid'>;

interface Seen {
  readonly perSecond: number;
  readonly mainMicros: number;
  readonly allMicros: number;
  readonly clientMicros: number;
}

async function load(what: 'read' | 'create', { url, pid }: Side, image: string, share = 1): Promise<Seen> {
  const before = threadSeconds(pid);
  const ownBefore = process.cpuUsage();
  const amount = Math.ceil((what === 'read' ? READS : READS / 5) * share);
  const { count, seconds } = await loadDeployments(what, url, image, { amount });
  const after = threadSeconds(pid);
  const own = process.cpuUsage(ownBefore);
  return {
    perSecond: count / seconds,
    mainMicros: ((after.main - before.main) * 1e6) / count,
    allMicros: ((after.all - before.all) * 1e6) / count,
    clientMicros: (own.user + own.system) / count,
  };
}

/** Within the rounds, since the machine's speed changes between them. */
function ratio(figure: keyof Seen, ours: readonly Seen[] = [], theirs: readonly Seen[] = []): string {
  return median(ours.map((seen, round) => seen[figure] / (theirs[round]?.[figure] ?? 0))).toFixed(2);
}

const micros = (seen: readonly Seen[] = []): string =>
  median(seen.map(({ mainMicros }) => mainMicros)).toFixed(0);

/** Of each side what every round saw, after a first one that does not count. */
async function inRounds(
  what: 'read' | 'create',
  sides: readonly Side[],
  image: string,
): Promise<readonly (readonly Seen[])[]> {
  for (const side of sides) await load(what, side, image, 0.25);
  const seen = sides.map((): Seen[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = [...sides.entries()];
    for (const [at, side] of round % 2 === 0 ? order : order.toReversed())
      seen[at]?.push(await load(what, side, image));
  }
  return seen;
}

function show(what: 'read' | 'create', seen: readonly (readonly Seen[])[]): void {
  const figures = seen.map((rounds) => ({
    rate: median(rounds.map(({ perSecond }) => perSecond)),
    main: median(rounds.map(({ mainMicros }) => mainMicros)),
    all: median(rounds.map(({ allMicros }) => allMicros)),
    client: median(rounds.map(({ clientMicros }) => clientMicros)),
  }));
  const [plain, usual] = seen;
  for (const [at, { rate, main, all, client }] of figures.entries()) {
    const own = seen[at];
    const compared =
      at === 0
        ? `  of TLS without threads: ${ratio('mainMicros', own, usual)} of its main thread's time`
        : at === 1
          ? ''
          : `  of TLS without: rate ${ratio('perSecond', own, usual)}, main thread ${ratio('mainMicros', own, usual)}, all ${ratio('allMicros', own, usual)}; of plain: main thread ${ratio('mainMicros', own, plain)}`;
    process.stdout.write(
      `${what.padEnd(7)} ${(KINDS[at] ?? '').padEnd(15)} ${rate.toFixed(0).padStart(6)}/s  main thread ${main.toFixed(0).padStart(4)} µs, all ${all.toFixed(0).padStart(4)} µs, client ${client.toFixed(0).padStart(4)} µs  full at ${(1e6 / main).toFixed(0).padStart(6)}/s with ${Math.ceil((all - main) / main)} more cores${compared}\n`,
    );
  }
}

const { args: withTls, tls, remove } = secured();
const registry = await startRegistry();
const servers: ServerProcess[] = [];
const bare: Child[] = [];

try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  for (const args of [[], withTls, [...withTls, '--tls-threads', '1'], [...withTls, '--tls-threads', '2']]) {
    const server = await startServerProcess({ args });
    servers.push(server);
    const first = await server.call('POST', '/api/v1/deployments', { name: 'first', image });
    if (first.status !== 201) throw new Error(JSON.stringify(first.body));
  }
  const atRest = servers.map(({ pid }) => rssMiB(pid));
  const answer = await servers[0]?.call('GET', '/api/v1/deployments/first');
  const body = JSON.stringify(answer?.body);
  for (const threads of [undefined, 2])
    bare.push(await startChild(BARE, ['handed', JSON.stringify({ body, tls, threads })]));
  const [barePlain, bareThreads] = bare.map(({ port, pid }, at) => ({
    url: `${at === 0 ? 'http' : 'https'}://127.0.0.1:${port}`,
    pid,
  }));
  if (barePlain === undefined || bareThreads === undefined) throw new Error('no bare server');
  const reads = await inRounds('read', [...servers, barePlain, bareThreads], image);
  show('read', reads.slice(0, servers.length));
  const [ofPlain, ofThreads] = reads.slice(servers.length);
  process.stdout.write(
    `read    a bare handler  main thread ${micros(ofPlain)} µs plain, ${micros(ofThreads)} µs behind the same 2 threads: ${ratio('mainMicros', ofThreads, ofPlain)} of plain\n`,
  );
  show('create', await inRounds('create', servers, image));
  for (const [at, kind] of KINDS.entries())
    process.stdout.write(
      `memory  ${kind.padEnd(15)} ${(atRest[at] ?? 0).toFixed(0)} MiB at rest, ${rssMiB(servers[at]?.pid ?? 0).toFixed(0)} MiB after the load\n`,
    );
} finally {
  for (const { stop } of [...servers, ...bare]) await stop();
  await registry.stop();
  remove();
}
