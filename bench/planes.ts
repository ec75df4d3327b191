import autocannon, { type Options } from 'autocannon';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Etcd, startEtcd } from '../test/support/etcd.ts';
import { pushImage, startRegistry } from '../test/support/registry.ts';
import { cpuSeconds } from './support/process-cost.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Creates and reads with 1, 2 and 3 control planes on one etcd, the load spread evenly over them, and the share of a core that each
 * part takes: what is at its limit bounds the rest. On a machine with fewer cores than parts, that is the machine.
 *   node bench/planes.ts [seconds per measurement] [connections]
 */
const SECONDS = Number(process.argv[2] ?? 5);
const CONNECTIONS = Number(process.argv[3] ?? 64);
const PLANES = [1, 2, 3];

interface Figure {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  /** Of one core, by part. */
  readonly cores: Readonly<Record<string, number>>;
}

interface Bench {
  readonly etcd: Etcd;
  readonly planes: readonly ServerProcess[];
}

let created = 0;

async function load({ etcd, planes }: Bench, options: (url: string) => Options): Promise<Figure> {
  const parts: readonly (readonly [string, number])[] = [
    ['load', process.pid],
    ...etcd.members.map(({ pid = 0 }) => ['etcd', pid] as const),
    ...planes.map(({ pid }, index) => [`plane${index + 1}`, pid] as const),
  ];
  const before = parts.map(([, pid]) => cpuSeconds(pid));
  const begun = performance.now();
  const connections = Math.max(1, Math.round(CONNECTIONS / planes.length));
  const results = await Promise.all(
    planes.map(({ url }) => autocannon({ duration: SECONDS, connections, ...options(url) })),
  );
  const seconds = (performance.now() - begun) / 1000;
  return {
    perSecond: Math.round(results.reduce((sum, { requests }) => sum + requests.average, 0)),
    p50: Math.max(...results.map(({ latency }) => latency.p50)),
    p99: Math.max(...results.map(({ latency }) => latency.p99)),
    errors: results.reduce((sum, { errors, non2xx }) => sum + errors + non2xx, 0),
    cores: Object.fromEntries(
      parts.map(([name, pid], index) => [name, (cpuSeconds(pid) - (before[index] ?? 0)) / seconds]),
    ),
  };
}

function print(
  what: string,
  count: number,
  { perSecond, p50, p99, errors, cores }: Figure,
  one?: Figure,
): void {
  const ratio = one === undefined ? '' : `  ${(perSecond / one.perSecond).toFixed(2)} of one`;
  const shares = Object.entries(cores).map(([name, share]) => `${name} ${share.toFixed(2)}`);
  process.stdout.write(
    `${what.padEnd(8)} ${count} planes  ${String(perSecond).padStart(6)}/s  p50 ${p50} ms  p99 ${p99} ms${errors > 0 ? `  ${errors} ERRORS` : ''}${ratio}  cores: ${shares.join(', ')}\n`,
  );
}

async function measure(
  count: number,
  image: string,
): Promise<{ readonly creates: Figure; readonly reads: Figure }> {
  const etcd = await startEtcd();
  const keys = mkdtempSync(join(tmpdir(), 'berth-bench-keys-'));
  const planes: ServerProcess[] = [];
  try {
    for (let index = 0; index < count; index += 1) {
      const environment = {
        BERTH_KEYS_TOKEN_KEY_FILE: join(keys, 'token.key'),
        BERTH_KEYS_ROOT_KEY_FILE: join(keys, 'root.key'),
      };
      planes.push(
        await startServerProcess({
          args: ['--store', 'etcd', '--etcd', etcd.endpoints.join(',')],
          environment,
        }),
      );
    }
    const body = (name: string) => ({
      kind: 'Deployment',
      name,
      image,
      replicas: 1,
      secrets: [],
      secretsVersion: 0,
    });
    const first = await planes[0]?.call('POST', '/api/v1/deployments', body('first'));
    if (first?.status !== 201) throw new Error(JSON.stringify(first?.body));
    const headers = { authorization: `Bearer ${BENCH_TOKEN}` };
    const reads = await load({ etcd, planes }, (url) => ({
      url: `${url}/api/v1/deployments/first`,
      headers,
    }));
    const creates = await load({ etcd, planes }, (url) => ({
      url: `${url}/api/v1/deployments`,
      requests: [
        {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          setupRequest: (request) => {
            created += 1;
            return { ...request, body: JSON.stringify(body(`web-${created}`)) };
          },
        },
      ],
    }));
    return { creates, reads };
  } finally {
    await Promise.all(planes.map((plane) => plane.stop()));
    rmSync(keys, { recursive: true, force: true });
    await etcd.stop();
  }
}

const machine = readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length ?? 1;
process.stdout.write(`${CONNECTIONS} connections, ${SECONDS} s each, ${machine} cores for everything\n`);
const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
try {
  let one: Awaited<ReturnType<typeof measure>> | undefined;
  for (const count of PLANES) {
    const figures = await measure(count, reference);
    print('read', count, figures.reads, one?.reads);
    print('create', count, figures.creates, one?.creates);
    one ??= figures;
  }
} finally {
  await registry.stop();
}
