import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import { loadDeployments } from './support/deployments-load.ts';
import { cpuSeconds } from './support/process-cost.ts';
import { secured as certified } from './support/secured.ts';
import { startServerProcess } from './support/server-process.ts';

/**
 * What TLS costs: reads and creates with it of those without, of the control plane and of bare handlers (Fastify for reads, node:http with the
 * same commit for creates), in turn in one run. What a bare handler loses, Node loses.
 *   node bench/tls.ts [seconds per measurement] [rounds]
 */
const SECONDS = Number(process.argv[2] ?? 4);
const ROUNDS = Number(process.argv[3] ?? 3);

interface Served {
  readonly url: string;
  readonly pid: number;
}

/** Best of the rounds: others use the machine, too. */
interface Best {
  perSecond: number;
  cpuMicros: number;
}

async function load(what: 'read' | 'create', { url, pid }: Served, image: string): Promise<Best> {
  const before = cpuSeconds(pid);
  const { count, seconds } = await loadDeployments(what, url, image, { duration: SECONDS });
  return { perSecond: count / seconds, cpuMicros: ((cpuSeconds(pid) - before) * 1e6) / count };
}

async function compare(
  name: string,
  what: 'read' | 'create',
  servers: readonly [plain: Served, secured: Served],
  image: string,
): Promise<number> {
  const best = servers.map((): Best => ({ perSecond: 0, cpuMicros: Infinity }));
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [at, server] of servers.entries()) {
      const seen = await load(what, server, image);
      const kept = best[at];
      if (kept === undefined) continue;
      kept.perSecond = Math.max(kept.perSecond, seen.perSecond);
      kept.cpuMicros = Math.min(kept.cpuMicros, seen.cpuMicros);
    }
  const [plain = { perSecond: 1, cpuMicros: 1 }, secured = plain] = best;
  process.stdout.write(
    `${name.padEnd(16)} ${what.padEnd(7)} plain ${plain.perSecond.toFixed(0).padStart(6)}/s ${plain.cpuMicros.toFixed(0).padStart(5)} µs  TLS ${secured.perSecond.toFixed(0).padStart(6)}/s ${secured.cpuMicros.toFixed(0).padStart(5)} µs  rate ${(secured.perSecond / plain.perSecond).toFixed(2)} of plain, by processor time ${(plain.cpuMicros / secured.cpuMicros).toFixed(2)}\n`,
  );
  return plain.cpuMicros / secured.cpuMicros;
}

const { tls, args, remove } = certified();
const registry = await startRegistry();
const stops: (() => Promise<void>)[] = [];

async function berth(args: readonly string[], image: string): Promise<Served & { readonly view: unknown }> {
  const server = await startServerProcess({ args });
  stops.push(server.stop);
  const first = await server.call('POST', '/api/v1/deployments', { name: 'first', image });
  if (first.status !== 201) throw new Error(JSON.stringify(first.body));
  return { ...server, view: first.body };
}

async function bare(kind: 'read' | 'commit', payload: object): Promise<Served> {
  const script = new URL('./support/bare-server.ts', import.meta.url);
  const child = await startChild(script, [kind, JSON.stringify(payload)]);
  stops.push(child.stop);
  return { url: `${'tls' in payload ? 'https' : 'http'}://127.0.0.1:${child.port}`, pid: child.pid };
}

try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  const plain = await berth([], image);
  const secured = await berth(args, image);
  const body = JSON.stringify(plain.view);
  for (const what of ['read', 'create'] as const) {
    const kind = what === 'read' ? 'read' : 'commit';
    const limit = await compare(
      'bare',
      what,
      [await bare(kind, { body }), await bare(kind, { body, tls })],
      image,
    );
    const own = await compare('control plane', what, [plain, secured], image);
    process.stdout.write(
      `${what}: by processor time the control plane keeps ${(own / limit).toFixed(2)} of what Node keeps\n`,
    );
  }
} finally {
  for (const stop of stops) await stop();
  await registry.stop();
  remove();
}
