import autocannon, { type Options } from 'autocannon';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Etcd, startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { boundOf, type Shares } from './support/bound.ts';
import { busySeconds, cpuSeconds } from './support/process-cost.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Creates and reads with 1, 2 and 3 control planes on one etcd member. The same number of connections and the same tenants each time,
 * the connections spread evenly over the control planes; tenants are of different shards, so that decisions are spread, too. Beside
 * each figure: the share of a core that each part took, how long etcd's disk was busy, and what that says about the bound.
 *   node bench/planes.ts [seconds per measurement] [connections]
 */
const SECONDS = Number(process.argv[2] ?? 5);
const CONNECTIONS = Number(process.argv[3] ?? 64);
const PLANES = [1, 2, 3];
const TENANTS = 12;
const MACHINE_CORES = availableParallelism();

interface Figure {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly shares: Shares;
}

interface Bench {
  readonly etcd: Etcd;
  readonly planes: readonly ServerProcess[];
}

let created = 0;
let turn = 0;

/** How long the members' disks were busy with their logs until now, in seconds; the busiest of them. */
async function fsyncSeconds({ members }: Etcd): Promise<number> {
  const sums = await Promise.all(
    members.map(async (member) => {
      const line = /^etcd_disk_wal_fsync_duration_seconds_sum (\S+)$/m.exec(await member.metrics());
      return Number(line?.[1] ?? 0);
    }),
  );
  return Math.max(...sums);
}

async function load({ etcd, planes }: Bench, options: (url: string) => Options): Promise<Figure> {
  const parts: readonly (readonly [string, number])[] = [
    ['load', process.pid],
    ...etcd.members.map(({ pid = 0 }) => ['etcd', pid] as const),
    ...planes.map(({ pid }, index) => [`plane${index + 1}`, pid] as const),
  ];
  const before = parts.map(([, pid]) => cpuSeconds(pid));
  const fsyncBefore = await fsyncSeconds(etcd);
  const busyBefore = busySeconds();
  const begun = performance.now();
  const connections = Math.max(1, Math.round(CONNECTIONS / planes.length));
  const results = await Promise.all(
    planes.map(({ url }) => autocannon({ duration: SECONDS, connections, ...options(url) })),
  );
  const seconds = (performance.now() - begun) / 1000;
  const cores = Object.fromEntries(
    parts.map(([name, pid], index) => [name, (cpuSeconds(pid) - (before[index] ?? 0)) / seconds]),
  );
  const busyCores = (busySeconds() - busyBefore) / seconds;
  const fsync = ((await fsyncSeconds(etcd)) - fsyncBefore) / seconds;
  return {
    perSecond: Math.round(results.reduce((sum, { requests }) => sum + requests.average, 0)),
    p50: Math.max(...results.map(({ latency }) => latency.p50)),
    p99: Math.max(...results.map(({ latency }) => latency.p99)),
    errors: results.reduce((sum, { errors, non2xx }) => sum + errors + non2xx, 0),
    shares: { cores, fsync, machineCores: MACHINE_CORES, busyCores },
  };
}

function print(
  what: string,
  count: number,
  { perSecond, p50, p99, errors, shares }: Figure,
  one?: Figure,
): void {
  const ratio = one === undefined ? '' : `  ${(perSecond / one.perSecond).toFixed(2)} of one`;
  const told = Object.entries(shares.cores).map(([name, share]) => `${name} ${share.toFixed(2)}`);
  const failed = errors > 0 ? `  ${errors} ERRORS` : '';
  const head = `${what.padEnd(8)} ${count} planes`;
  process.stdout.write(
    `${head}  ${String(perSecond).padStart(6)}/s  p50 ${p50} ms  p99 ${p99} ms${failed}${ratio}\n` +
      `${' '.repeat(head.length)}  cores: ${told.join(', ')}; etcd's disk busy ${Math.round(shares.fsync * 100)} %\n` +
      `${' '.repeat(head.length)}  bound by ${boundOf(shares)}\n`,
  );
}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status !== 201) throw new Error(await answer.text());
  return answer.text();
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
}

async function tenantTokens({ url }: ServerProcess): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (let index = 0; index < TENANTS; index += 1) {
    const slug = `tenant-${index}`;
    await post(`${url}/api/v1/tenants`, { slug }, headersOf(BENCH_TOKEN));
    const asked = { name: 'bench', role: 'tenant-admin' };
    const acting = { ...headersOf(BENCH_TOKEN), 'x-tenant-id': slug };
    const { token } = JSON.parse(await post(`${url}/api/v1/tokens`, asked, acting)) as { token: string };
    tokens.push(token);
  }
  return tokens;
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
    const [plane] = planes;
    if (plane === undefined) throw new Error('no control plane');
    const tokens = await tenantTokens(plane);
    const body = (name: string) => ({ kind: 'Deployment', name, image, replicas: 1 });
    for (const token of tokens)
      await post(`${plane.url}/api/v1/deployments`, body('first'), headersOf(token));
    const next = (): Record<string, string> => {
      turn += 1;
      return headersOf(tokens[turn % tokens.length] ?? BENCH_TOKEN);
    };
    const reads = await load({ etcd, planes }, (url) => ({
      url: `${url}/api/v1/deployments/first`,
      requests: [{ method: 'GET', setupRequest: (request) => ({ ...request, headers: next() }) }],
    }));
    const creates = await load({ etcd, planes }, (url) => ({
      url: `${url}/api/v1/deployments`,
      requests: [
        {
          method: 'POST',
          setupRequest: (request) => {
            created += 1;
            return { ...request, headers: next(), body: JSON.stringify(body(`web-${created}`)) };
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

process.stdout.write(
  `${CONNECTIONS} connections in all, ${SECONDS} s each, ${TENANTS} tenants, one etcd member, ${MACHINE_CORES} cores for everything\n`,
);
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
if (MACHINE_CORES < 2 + Math.max(...PLANES))
  process.stdout.write(
    `${MACHINE_CORES} cores are fewer than there are parts (load, etcd, ${Math.max(...PLANES)} control planes): more control planes cannot be faster here, only share what there is.\n`,
  );
