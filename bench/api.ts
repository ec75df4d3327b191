import autocannon, { type Options } from 'autocannon';
import { encodeRecord } from '../src/server/store/records.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import { rawPuts } from './support/raw-puts.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Durable creates and reads over HTTP, against the same machine without us: ratios within one run. The same over TLS, of a control
 * plane of its own on the embedded store; `bench/tls.ts` says how much of that is Node's.
 *   node bench/api.ts [seconds per measurement] [etcd]
 */
const SECONDS = Number(process.argv[2] ?? 5);
const WITH_ETCD = process.argv.includes('etcd');
const CONNECTIONS = [1, 16, 64, 256];

interface Figure {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

async function load(options: Options): Promise<Figure> {
  const result = await autocannon({ duration: SECONDS, ...options });
  return {
    // What was refused is no create, and is answered sooner.
    perSecond: Math.round(result['2xx'] / result.duration),
    p50: result.latency.p50,
    p99: result.latency.p99,
    errors: result.errors + result.non2xx,
  };
}

let created = 0;
const tenantOf = (connections: number): string => `conn-${connections}`;

/** In a tenant of their own for each number of connections, so that each begins with none. */
function creates(url: string, connections: number, body: (name: string) => object): Promise<Figure> {
  return load({
    url: `${url}/api/v1/deployments`,
    connections,
    requests: [
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${BENCH_TOKEN}`,
          'content-type': 'application/json',
          'x-tenant-id': tenantOf(connections),
        },
        setupRequest: (request) => {
          created += 1;
          return { ...request, body: JSON.stringify(body(`web-${process.pid}-${created}`)) };
        },
      },
    ],
  });
}

function reads(url: string, connections: number): Promise<Figure> {
  return load({
    url: `${url}/api/v1/deployments/first`,
    connections,
    headers: { authorization: `Bearer ${BENCH_TOKEN}` },
  });
}

/** Beside what it is compared with: the same without us, the same over TLS. */
function print(what: string, connections: number, figure: Figure, base?: Figure, tls?: Figure): void {
  const bare =
    base === undefined
      ? ''
      : `  ${(figure.perSecond / base.perSecond).toFixed(2)} of the bare one, p99 x${(figure.p99 / Math.max(base.p99, 1)).toFixed(1)}`;
  const ratio =
    tls === undefined
      ? bare
      : `${bare}; TLS ${tls.perSecond}/s, ${(tls.perSecond / figure.perSecond).toFixed(2)} of plain`;
  process.stdout.write(
    `${what.padEnd(34)} ${String(connections).padStart(4)} conn  ${String(figure.perSecond).padStart(7)}/s  p50 ${figure.p50} ms  p99 ${figure.p99} ms${figure.errors > 0 ? `  ${figure.errors} ERRORS` : ''}${ratio}\n`,
  );
}

/**
 * What the bare handler commits: the six rows that a create stored for its own sake when the bar was set (record, snapshot, index,
 * archive, event, audit), as long as those of the real thing. A create without a node stores six today, too: record, event and audit,
 * and of the first plan its status, rollout and event.
 */
function storedValues(view: Record<string, unknown>, image: string): readonly string[] {
  const spec = {
    kind: 'Deployment',
    name: 'web-1234-12345',
    image,
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
  };
  const subject = { kind: 'Deployment', name: spec.name };
  const at = new Date().toISOString();
  const { id, tenantId, specHash } = view;
  return [
    encodeRecord({ id, tenantId, spec, specHash, version: 1, createdAt: at, updatedAt: at }),
    encodeRecord(spec),
    encodeRecord({ name: spec.name }),
    encodeRecord({ version: 1, change: 'created', at, by: 'bootstrap', spec, specHash }),
    encodeRecord({
      id,
      at,
      kind: 'deployment.created',
      tenantId,
      subject,
      message: 'web created: version 1',
      details: { version: 1, specHash, replicas: 1 },
    }),
    encodeRecord({
      id,
      at,
      actor: 'bootstrap',
      role: 'platform-admin',
      tenantId,
      action: 'deployment.created',
      subject,
      result: 'accepted',
      requestId: id,
    }),
  ];
}

async function rawEtcdPuts(endpoint: string, concurrency: number): Promise<number> {
  const raw = rawPuts(endpoint);
  const end = performance.now() + SECONDS * 1000;
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
  return Math.round(done / SECONDS);
}

async function measure(
  label: string,
  args: readonly string[],
  image: string,
  tls?: readonly string[],
): Promise<Map<number, Figure>> {
  const server = await startServerProcess({ args });
  const overTls = tls && (await startServerProcess({ args: [...args, ...tls] }));
  const body = (name: string) => ({
    kind: 'Deployment',
    name,
    image,
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
  });
  const view = await made(server, '/api/v1/deployments', body('first'));
  if (overTls) await made(overTls, '/api/v1/deployments', body('first'));
  const figures = new Map<number, Figure>();
  for (const connections of CONNECTIONS) {
    for (const each of overTls ? [server, overTls] : [server])
      await made(each, '/api/v1/tenants', { slug: tenantOf(connections) });
    const commit = tls
      ? await startChild(new URL('./support/bare-server.ts', import.meta.url), [
          'commit',
          JSON.stringify({ values: storedValues(view, image) }),
        ])
      : undefined;
    const base =
      commit === undefined ? undefined : await creates(`http://127.0.0.1:${commit.port}`, connections, body);
    await commit?.stop();
    if (base !== undefined) print('bare node:http, same commit', connections, base);
    const figure = await creates(server.url, connections, body);
    const secure = overTls && (await creates(overTls.url, connections, body));
    print(`${label} create`, connections, figure, base, secure);
    figures.set(connections, figure);
  }
  const reader = await startChild(new URL('./support/bare-server.ts', import.meta.url), [
    'read',
    JSON.stringify({ body: JSON.stringify(view) }),
  ]);
  for (const connections of CONNECTIONS) {
    const base = await reads(`http://127.0.0.1:${reader.port}`, connections);
    print('bare Fastify read', connections, base);
    const figure = await reads(server.url, connections);
    print(`${label} read`, connections, figure, base, overTls && (await reads(overTls.url, connections)));
  }
  await reader.stop();
  await server.stop();
  await overTls?.stop();
  return figures;
}

async function made(server: ServerProcess, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await server.call('POST', path, body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body as Record<string, unknown>;
}

const certified = secured();
const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
try {
  await measure('embedded', [], reference, certified.args);
  if (WITH_ETCD) {
    const etcd = await startEtcd();
    const endpoint = etcd.endpoints[0] ?? '';
    const figures = await measure('etcd', ['--store', 'etcd', '--etcd', endpoint], reference);
    for (const connections of CONNECTIONS) {
      const raw = await rawEtcdPuts(endpoint, connections);
      const ours = figures.get(connections)?.perSecond ?? 0;
      process.stdout.write(
        `raw etcd puts from Node              ${String(connections).padStart(4)} conc  ${String(raw).padStart(7)}/s  create is ${(ours / raw).toFixed(2)} of it\n`,
      );
    }
    await etcd.stop();
  }
} finally {
  await registry.stop();
  certified.remove();
}
