import autocannon, { type Options } from 'autocannon';
import { encodeRecord } from '../src/server/store/records.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import { rawPuts } from './support/raw-puts.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * Durable creates and reads over HTTP, against the same machine without us: ratios within one run.
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

function print(what: string, connections: number, figure: Figure, base?: Figure): void {
  const ratio =
    base === undefined ? '' : `  ${(figure.perSecond / base.perSecond).toFixed(2)} of the bare one`;
  process.stdout.write(
    `${what.padEnd(34)} ${String(connections).padStart(4)} conn  ${String(figure.perSecond).padStart(7)}/s  p50 ${figure.p50} ms  p99 ${figure.p99} ms${figure.errors > 0 ? `  ${figure.errors} ERRORS` : ''}${ratio}\n`,
  );
}

/** What one create stored when the bar was set, measured from the real thing: record, snapshot, index, archive, event, audit. */
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
  bare: boolean,
): Promise<Map<number, Figure>> {
  const server = await startServerProcess({ args });
  const body = (name: string) => ({
    kind: 'Deployment',
    name,
    image,
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
  });
  const first = await server.call('POST', '/api/v1/deployments', body('first'));
  if (first.status !== 201) throw new Error(JSON.stringify(first.body));
  const view = first.body as Record<string, unknown>;
  const figures = new Map<number, Figure>();
  for (const connections of CONNECTIONS) {
    const tenant = await server.call('POST', '/api/v1/tenants', { slug: tenantOf(connections) });
    if (tenant.status !== 201) throw new Error(JSON.stringify(tenant.body));
    const commit = bare
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
    print(`${label} create`, connections, figure, base);
    figures.set(connections, figure);
  }
  const reader = await startChild(new URL('./support/bare-server.ts', import.meta.url), [
    'read',
    JSON.stringify({ body: JSON.stringify(view) }),
  ]);
  for (const connections of CONNECTIONS) {
    const base = await reads(`http://127.0.0.1:${reader.port}`, connections);
    print('bare Fastify read', connections, base);
    print(`${label} read`, connections, await reads(server.url, connections), base);
  }
  await reader.stop();
  await server.stop();
  return figures;
}

const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
try {
  await measure('embedded', [], reference, true);
  if (WITH_ETCD) {
    const etcd = await startEtcd();
    const endpoint = etcd.endpoints[0] ?? '';
    const figures = await measure('etcd', ['--store', 'etcd', '--etcd', endpoint], reference, false);
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
}
