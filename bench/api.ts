import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startBareCommit } from './support/bare-commit.ts';
import { type Child, startChild } from './support/child.ts';
import { oneAtATime, type Started } from './support/one-at-a-time.ts';
import { rawPuts } from './support/raw-puts.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';
import { inTurns, middleOf, ratioOf, type Turn, type TurnOptions, turnOf } from './support/turns.ts';

/**
 * Durable creates and reads over HTTP, against the same machine without us, in short turns that alternate: ratios of neighbours. On the embedded store
 * whose turn it is not stands still, and what was written is on the disk before a turn begins: what a bare handler has written in a second takes the disk another. The same
 * over TLS, of a control plane of its own on the embedded store; `bench/tls.ts` says how much of that is Node's. Creates stand beside the
 * least that one is, too (`support/judging-server.ts`). Everybody is warm before the first turn. Then what a lone create costs, cold and warm, beside one of many at once.
 *   node bench/api.ts [seconds per turn] [etcd]
 */
const SECONDS = Number(process.argv[2] ?? 1);
const WITH_ETCD = process.argv.includes('etcd');
const CONNECTIONS = [1, 16, 64, 256];
/** The bars are of so many connections; others get less time. */
const JUDGED = 64;
const roundsAt = (connections: number): number => (connections === JUDGED ? 9 : 3);
const secondsAt = (connections: number): number => SECONDS * (connections === JUDGED ? 0.7 : 0.6);
/** V8 still compiles parts of a control plane after 10,000 creates; a bare handler is warm after a thousand. */
const WARM_CREATES = Math.ceil(20_000 * Math.min(SECONDS, 1));
/** Of both a second of reads is not enough: they were 0.74 of the bare ones after it, and 0.96 after three. */
const WARM_READS = 3 * WARM_CREATES;
/** Beyond it, most of a turn would be handshakes. */
const MOST_WITH_TLS = 64;
const LONE_CREATES = Math.ceil(500 * Math.min(SECONDS, 1));
const LONE_ROUNDS = 5;

interface Served {
  readonly url: string;
  readonly pid: number;
}

type Sides = readonly [bare: Served, own: Served, tls?: Served];

const served = ({ port, pid }: Child): Served => ({ url: `http://127.0.0.1:${port}`, pid });

let created = 0;
const tenantOf = (connections: number): string => `conn-${connections}`;

/** In a tenant of their own for each number of connections, so that each begins with none; absent: the usual one. */
function creates(
  { url, pid }: Served,
  image: string,
  options: Partial<TurnOptions>,
  tenant?: string,
): Promise<Turn> {
  return turnOf({
    url: `${url}/api/v1/deployments`,
    pid,
    ...options,
    requests: [
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${BENCH_TOKEN}`,
          'content-type': 'application/json',
          ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
        },
        setupRequest: (request) => {
          created += 1;
          return { ...request, body: JSON.stringify(deployment(`web-${process.pid}-${created}`, image)) };
        },
      },
    ],
  });
}

function deployment(name: string, image: string): object {
  return { kind: 'Deployment', name, image, replicas: 1, secrets: [], secretsVersion: 0 };
}

function reads({ url, pid }: Served, options: Partial<TurnOptions>): Promise<Turn> {
  return turnOf({
    url: `${url}/api/v1/deployments/first`,
    pid,
    ...options,
    headers: { authorization: `Bearer ${BENCH_TOKEN}` },
  });
}

function show({ perSecond, p50, p99, errors, cpuMicros }: Turn): string {
  const cost = cpuMicros === 0 ? '' : `  ${cpuMicros.toFixed(0)} µs CPU`;
  return `${perSecond.toFixed(0).padStart(7)}/s  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms${cost}${errors > 0 ? `  ${errors} ERRORS` : ''}`;
}

/** Beside what it is compared with: the same without us, the same over TLS. */
function print(
  what: string,
  connections: number,
  own: readonly Turn[],
  bare: readonly Turn[],
  tls: readonly Turn[] = [],
): void {
  const base = middleOf(bare);
  const secure = middleOf(tls);
  const overTls =
    tls.length === 0
      ? ''
      : `; TLS ${secure.perSecond.toFixed(0)}/s, ${secure.cpuMicros.toFixed(0)} µs CPU, ${ratioOf('perSecond', tls, own).toFixed(2)} of plain`;
  process.stdout.write(
    `${what.padEnd(34)} ${String(connections).padStart(4)} conn  ${show(middleOf(own))}  ${ratioOf('perSecond', own, bare).toFixed(2)} of the bare one (${base.perSecond.toFixed(0)}/s, p99 ${base.p99.toFixed(1)} ms, ${base.cpuMicros.toFixed(0)} µs CPU), p99 x${ratioOf('p99', own, bare).toFixed(1)}, CPU x${ratioOf('cpuMicros', own, bare).toFixed(2)}${overTls}\n`,
  );
}

async function rawEtcdPuts(endpoint: string, concurrency: number): Promise<Turn> {
  const raw = rawPuts(endpoint);
  const begun = performance.now();
  const end = begun + secondsAt(concurrency) * 1000;
  let done = 0;
  const value = 'x'.repeat(400);
  await Promise.all(
    Array.from({ length: concurrency }, async (_, worker) => {
      while (performance.now() < end) {
        await raw.put(`/raw/${worker}/${done}`, value);
        done += 1;
      }
    }),
  );
  raw.close();
  return {
    perSecond: (done * 1000) / (performance.now() - begun),
    p50: 0,
    p99: 0,
    errors: 0,
    answered: done,
    cpuMicros: 0,
  };
}

async function made(server: ServerProcess, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await server.call('POST', path, body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body as Record<string, unknown>;
}

async function started(args: readonly string[], image: string) {
  const server = await startServerProcess({ args });
  const view = await made(server, '/api/v1/deployments', deployment('first', image));
  for (const connections of CONNECTIONS)
    await made(server, '/api/v1/tenants', { slug: tenantOf(connections) });
  return { server, view };
}

async function bareReader(view: object): Promise<Served & { stop(): Promise<void> }> {
  const child = await startChild(new URL('./support/bare-server.ts', import.meta.url), [
    'read',
    JSON.stringify({ body: JSON.stringify(view) }),
  ]);
  return { ...served(child), stop: child.stop };
}

/** Whoever serves TLS is left out where there are too many connections. */
const comparedAt = (connections: number, [bare, own, tls]: Sides): readonly Served[] =>
  tls === undefined || connections > MOST_WITH_TLS ? [bare, own] : [bare, own, tls];

/** Nothing is written, so that nobody has to stand still: more and shorter turns in the same time. */
async function compareReads(label: string, sides: Sides): Promise<void> {
  for (const side of comparedAt(JUDGED, sides))
    await reads(side, { connections: JUDGED, amount: WARM_READS });
  for (const connections of CONNECTIONS) {
    const options = { connections, duration: secondsAt(connections) / 2 };
    const [bare = [], own = [], tls] = await inTurns(
      3 * roundsAt(connections),
      comparedAt(connections, sides).map((side) => () => reads(side, options)),
    );
    print(`${label} read`, connections, own, bare, tls);
  }
}

async function embedded(image: string, tlsArgs: readonly string[]): Promise<void> {
  const { server, view } = await started([], image);
  const { server: overTls } = await started(tlsArgs, image);
  const commit = await startBareCommit(view, image);
  const judging = await startChild(new URL('./support/judging-server.ts', import.meta.url), []);
  const reader = await bareReader(view);
  try {
    const sides: Sides = [served(commit), server, overTls];
    const least = served(judging);
    const compared = [server, overTls, commit, judging, reader].map(({ pid }) => pid);
    for (const side of [...comparedAt(JUDGED, sides), least])
      await creates(side, image, { connections: JUDGED, amount: WARM_CREATES, compared });
    for (const connections of CONNECTIONS) {
      const [judged = [], base = [], own = [], tls] = await inTurns(
        roundsAt(connections),
        [least, ...comparedAt(connections, sides)].map(
          (side) => () =>
            creates(
              side,
              image,
              { connections, duration: secondsAt(connections), compared },
              tenantOf(connections),
            ),
        ),
      );
      print('embedded create', connections, own, base, tls);
      print('the least that a create is', connections, judged, base);
    }
    await compareReads('embedded', [reader, server, overTls]);
  } finally {
    for (const { stop } of [server, overTls, commit, judging, reader]) await stop();
  }
  await lone(image, view);
}

async function lone(image: string, view: Record<string, unknown>): Promise<void> {
  const system = (served: Served, stop: () => Promise<void>): Started => ({
    load: (connections, amount) => creates(served, image, { connections, amount }),
    stop,
  });
  const [own, bare] = await oneAtATime(
    [
      async () => {
        const server = await startServerProcess();
        return system(server, server.stop);
      },
      async () => {
        const child = await startBareCommit(view, image);
        return system(served(child), child.stop);
      },
    ],
    LONE_CREATES,
    LONE_ROUNDS,
  );
  if (own === undefined || bare === undefined) throw new Error('nothing was measured');
  for (const [name, { first, warm, together, firstOfWarm, warmOfTogether }] of [
    ['Berth', own],
    ['bare node:http, same commit', bare],
  ] as const)
    process.stdout.write(
      `CPU of a create one at a time, ${name}: first ${LONE_CREATES} ${first.toFixed(2)} ms, warm ${warm.toFixed(2)} ms, of 64 at once ${together.toFixed(2)} ms; first x${firstOfWarm.toFixed(2)} of warm, warm x${warmOfTogether.toFixed(2)} of one of 64\n`,
    );
  process.stdout.write(
    `one at a time: of the bare handler's factors Berth has ${(own.firstOfWarm / bare.firstOfWarm).toFixed(2)} (first of warm) and ${(own.warmOfTogether / bare.warmOfTogether).toFixed(2)} (warm of one of 64)\n`,
  );
}

async function onEtcd(image: string): Promise<void> {
  const etcd = await startEtcd();
  const endpoint = etcd.endpoints[0] ?? '';
  const { server, view } = await started(['--store', 'etcd', '--etcd', endpoint], image);
  const commit = await startBareCommit(view, image, { etcd: endpoint });
  const reader = await bareReader(view);
  try {
    const bare = served(commit);
    for (const side of [bare, server])
      await creates(side, image, { connections: JUDGED, amount: WARM_CREATES });
    await rawEtcdPuts(endpoint, JUDGED);
    for (const connections of CONNECTIONS) {
      const options = { connections, duration: secondsAt(connections) };
      const [raw = [], base = [], own = []] = await inTurns(roundsAt(connections), [
        () => rawEtcdPuts(endpoint, connections),
        ...[bare, server].map((side) => () => creates(side, image, options, tenantOf(connections))),
      ]);
      print('etcd create', connections, own, base);
      process.stdout.write(
        `raw etcd puts from Node              ${String(connections).padStart(4)} conc  ${middleOf(raw).perSecond.toFixed(0).padStart(7)}/s  create is ${ratioOf('perSecond', own, raw).toFixed(2)} of it, the bare one ${ratioOf('perSecond', base, raw).toFixed(2)}\n`,
      );
    }
    await compareReads('etcd', [reader, server]);
  } finally {
    for (const { stop } of [server, commit, reader, etcd]) await stop();
  }
}

const certified = secured();
const registry = await startRegistry();
try {
  const { reference } = await pushImage(registry, 'bench/web:1', {});
  await embedded(reference, certified.args);
  if (WITH_ETCD) await onEtcd(reference);
} finally {
  await registry.stop();
  certified.remove();
}
