import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { Router } from '../test/support/harness/router.ts';
import { startChild } from './support/child.ts';
import { cpuSeconds } from './support/process-cost.ts';
import { type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Three cells behind HAProxy beside one, with and without it, and beside a pipe of Node in its place. Processor time of router and cells
 * by request: on a machine whose cores are full, rates say what the cores are shared with.
 *   node bench/cells.ts [seconds per measurement] [rounds]
 */
const SECONDS = Number(process.argv[2] ?? 4);
const ROUNDS = Number(process.argv[3] ?? 2);
const CONNECTIONS = 64;
const NAMES = ['eu1', 'eu2', 'us1'] as const;

interface Cell {
  readonly name: string;
  readonly server: ServerProcess;
  readonly token: string;
}

interface Figure {
  readonly perSecond: number;
  readonly p99: number;
  /** Microseconds of one request. */
  readonly router: number;
  readonly cells: number;
  readonly errors: number;
}

let created = 0;

/** Of its children too: HAProxy's master does nothing itself. */
function used(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))].reduce(
    (sum, one) => sum + cpuSeconds(one),
    0,
  );
}

async function load(
  url: string,
  cells: readonly Cell[],
  router: number | undefined,
  image: string | undefined,
): Promise<Figure> {
  const before = { router: used(router), cells: cells.map(({ server }) => cpuSeconds(server.pid)) };
  const result = await autocannon({
    url,
    duration: SECONDS,
    connections: CONNECTIONS,
    requests: cells.map(({ token }) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      if (image === undefined) return { method: 'GET', path: '/api/v1/deployments/first', headers };
      return {
        method: 'POST',
        path: '/api/v1/deployments',
        headers,
        setupRequest: (request) => {
          created += 1;
          return { ...request, body: JSON.stringify({ name: `web-${created}`, image, replicas: 1 }) };
        },
      };
    }),
  });
  const answered = result['2xx'];
  const micros = (seconds: number): number => (seconds * 1e6) / answered;
  return {
    perSecond: answered / result.duration,
    p99: result.latency.p99,
    router: micros(used(router) - before.router),
    cells: micros(
      cells.reduce((sum, { server }, at) => sum + cpuSeconds(server.pid) - (before.cells[at] ?? 0), 0),
    ),
    errors: result.errors + result.non2xx,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function show(what: string, figures: readonly Figure[]): void {
  const of = (key: keyof Figure): string => median(figures.map((figure) => figure[key])).toFixed(0);
  const errors = figures.reduce((sum, figure) => sum + figure.errors, 0);
  console.log(
    `${what.padEnd(38)} ${of('perSecond').padStart(6)}/s  p99 ${of('p99').padStart(4)} ms  router ${of('router').padStart(4)} us  cells ${of('cells').padStart(5)} us a request${errors > 0 ? `  ${errors} ERRORS` : ''}`,
  );
}

async function startCell(name: string, image: string): Promise<Cell> {
  const server = await startServerProcess({ environment: { BERTH_CELL: name } });
  const made = await server.call('POST', '/api/v1/tokens', { name: 'bench', role: 'platform-admin' });
  const { token } = made.body as { readonly token: string };
  const first = await server.call('POST', '/api/v1/deployments', { name: 'first', image, replicas: 0 });
  if (first.status !== 201) throw new Error(`a create got ${first.status}`);
  return { name, server, token };
}

const registry = await startRegistry();
const { reference: image } = await pushImage(registry, 'bench/web:1', {});
const cells = await Promise.all(NAMES.map((name) => startCell(name, image)));
const urls = Object.fromEntries(cells.map(({ name, server }) => [name, server.url]));
const router = await Router.start(Object.fromEntries(cells.map(({ name, server }) => [name, [server.url]])));
const bare = await startChild(new URL('./support/bare-router.ts', import.meta.url), [JSON.stringify(urls)]);
try {
  const one = cells.slice(0, 1);
  const ways = [
    { what: 'one cell', url: one[0]?.server.url ?? '', some: one, pid: undefined },
    { what: 'one cell behind HAProxy', url: router.url, some: one, pid: router.pid },
    {
      what: 'one cell behind a pipe of Node',
      url: `http://127.0.0.1:${bare.port}`,
      some: one,
      pid: bare.pid,
    },
    { what: 'three cells behind HAProxy', url: router.url, some: cells, pid: router.pid },
  ];
  for (const [kind, posted] of [
    ['reads', undefined],
    ['creates', image],
  ] as const) {
    for (const { url, some, pid } of ways) await load(url, some, pid, posted);
    const figures = ways.map((): Figure[] => []);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [at, { url, some, pid }] of ways.entries())
        figures[at]?.push(await load(url, some, pid, posted));
    for (const [at, { what }] of ways.entries()) show(`${kind}, ${what}`, figures[at] ?? []);
  }
} finally {
  await bare.stop();
  await router.stop();
  for (const { server } of cells) await server.stop();
  await registry.stop();
}
