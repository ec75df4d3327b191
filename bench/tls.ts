import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startChild } from './support/child.ts';
import { type DeploymentsLoad, deploymentRequests } from './support/deployments-load.ts';
import { secured as certified } from './support/secured.ts';
import { startServerProcess } from './support/server-process.ts';
import { inTurns, median, middleOf, type Turn, turnOf } from './support/turns.ts';

/**
 * What TLS costs: reads and creates with it of those without, of the control plane and of bare handlers (Fastify for reads, node:http with the
 * same commit for creates). All four take turns; what a bare handler loses in a round, Node loses.
 *   node bench/tls.ts [seconds per turn] [rounds]
 */
const SECONDS = Number(process.argv[2] ?? 0.5);
const ROUNDS = Number(process.argv[3] ?? 15);
/** Until V8 has compiled what each needs. */
const WARM = Math.ceil(60_000 * Math.min(2 * SECONDS, 1));
const WARM_CREATES = WARM / 3;

interface Served {
  readonly url: string;
  readonly pid: number;
}

function load(
  what: DeploymentsLoad,
  { url, pid }: Served,
  image: string,
  until: { readonly duration: number } | { readonly amount: number },
): Promise<Turn> {
  return turnOf({ ...deploymentRequests(what, url, image), pid, ...until });
}

function print(name: string, what: DeploymentsLoad, plain: readonly Turn[], secured: readonly Turn[]): void {
  const [one, other] = [middleOf(plain), middleOf(secured)];
  if (one.errors + other.errors > 0) throw new Error(`errors or refusals: ${name}, ${what}`);
  process.stdout.write(
    `${name.padEnd(16)} ${what.padEnd(7)} plain ${one.perSecond.toFixed(0).padStart(6)}/s ${one.cpuMicros.toFixed(0).padStart(5)} µs  TLS ${other.perSecond.toFixed(0).padStart(6)}/s ${other.cpuMicros.toFixed(0).padStart(5)} µs  rate ${(other.perSecond / one.perSecond).toFixed(2)} of plain, by processor time ${median(kept(plain, secured)).toFixed(2)}\n`,
  );
}

/** Of the processor time of each round with TLS, what is not TLS. */
const kept = (plain: readonly Turn[], secured: readonly Turn[]): number[] =>
  plain.map(({ cpuMicros }, round) => cpuMicros / (secured[round]?.cpuMicros ?? 0));

async function compare(what: DeploymentsLoad, sides: readonly Served[], image: string): Promise<void> {
  for (const side of sides) await load(what, side, image, { amount: what === 'read' ? WARM : WARM_CREATES });
  const [barePlain = [], bareSecured = [], ownPlain = [], ownSecured = []] = await inTurns(
    ROUNDS,
    sides.map((side) => () => load(what, side, image, { duration: SECONDS })),
  );
  print('bare', what, barePlain, bareSecured);
  print('control plane', what, ownPlain, ownSecured);
  const limits = kept(barePlain, bareSecured);
  const ratios = kept(ownPlain, ownSecured).map((own, round) => own / (limits[round] ?? 0));
  process.stdout.write(
    `${what}: by processor time the control plane keeps ${median(ratios).toFixed(2)} of what Node keeps\n`,
  );
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
    const sides = [await bare(kind, { body }), await bare(kind, { body, tls }), plain, secured];
    await compare(what, sides, image);
  }
} finally {
  for (const stop of stops) await stop();
  await registry.stop();
  remove();
}
