import autocannon, { type Options } from 'autocannon';
import { startEngine } from '../test/support/harness/engine.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { jobSpec, NOMAD, startNomad } from './support/nomad.ts';
import { cpuSeconds } from './support/process-cost.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';
import { serviceSpec, Swarm } from './support/swarm.ts';

/**
 * Durable creates over HTTP: deployments of Berth on its embedded store, services of Docker Swarm on a manager of its own, by the
 * same load generator in turn. Neither has anything to start: Swarm is asked for services of no replicas, Berth, which has no node,
 * for deployments of one, whose status it stores too. Berth over TLS, by a control plane of its own, in the same turns.
 * Beside Nomad, where BENCH_NOMAD has the path of its program: one server, jobs of no container and of one for which there is no node,
 * and Berth's the same. Processor time is that of the two programs.
 *   [BENCH_NOMAD=/path/of/nomad] node bench/creates.ts [seconds per measurement]
 */
const SECONDS = Number(process.argv[2] ?? 5);
const ROUNDS = 2;

interface Figure {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly answered: number;
}

let created = 0;

async function load(connections: number, options: Options, body: (name: string) => object): Promise<Figure> {
  const result = await autocannon({
    duration: SECONDS,
    connections,
    ...options,
    requests: [
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...options.headers },
        setupRequest: (request) => {
          created += 1;
          return { ...request, body: JSON.stringify(body(`web-${created}`)) };
        },
      },
    ],
  });
  return {
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    errors: result.errors + result.non2xx,
    answered: result['2xx'],
  };
}

/** Of several rounds: each side's best, since what else the machine does only ever slows down. */
function best(figures: readonly Figure[]): Figure {
  const errors = figures.reduce((sum, figure) => sum + figure.errors, 0);
  const [first] = figures.toSorted((a, b) => b.perSecond - a.perSecond);
  if (first === undefined) throw new Error('nothing was measured');
  return { ...first, errors };
}

function show({ perSecond, p50, p99, errors }: Figure): string {
  return `${perSecond.toFixed(0)}/s, p50 ${p50} ms, p99 ${p99} ms${errors > 0 ? `, ${errors} ERRORS` : ''}`;
}

const registry = await startRegistry();
const daemon = await startEngine();
const server = await startServerProcess();
const certified = secured();
const overTls = await startServerProcess({ args: certified.args });
try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  const swarm = new Swarm(daemon.socketPath);
  await swarm.init();
  const ours = (connections: number, replicas = 1, url = server.url): Promise<Figure> =>
    load(
      connections,
      {
        url: `${url}/api/v1/deployments`,
        headers: { authorization: `Bearer ${BENCH_TOKEN}` },
      },
      (name) => ({ name, image, replicas }),
    );
  const theirs = (connections: number): Promise<Figure> =>
    load(
      connections,
      { url: 'http://localhost/v1.41/services/create', socketPath: daemon.socketPath },
      (name) => serviceSpec({ name, image, command: [], replicas: 0 }),
    );
  let answered = 0;
  for (const connections of [1, 64]) {
    const berth: Figure[] = [];
    const tls: Figure[] = [];
    const peer: Figure[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      peer.push(await theirs(connections));
      berth.push(await ours(connections));
      tls.push(await ours(connections, 1, overTls.url));
    }
    const [us, them, safe] = [best(berth), best(peer), best(tls)];
    answered += peer.reduce((sum, figure) => sum + figure.answered, 0);
    console.log(
      `${String(connections).padStart(2)} at once: Berth ${show(us)}; Swarm ${show(them)}; Berth is ${(us.perSecond / them.perSecond).toFixed(1)} of Swarm; TLS ${show(safe)}, ${(safe.perSecond / us.perSecond).toFixed(2)} of plain`,
    );
  }
  // Of those under way when a measurement ends, some are stored without an answer being waited for.
  const stored = await swarm.services();
  if (stored < answered) throw new Error(`Swarm answered ${answered} creates and has ${stored} services`);
  if (NOMAD === undefined) console.log('Nomad: not compared; BENCH_NOMAD takes the path of its program');
  else {
    const nomad = await startNomad(NOMAD);
    try {
      const jobs = (connections: number, count: number): Promise<Figure> =>
        load(connections, { url: `${nomad.url}/v1/jobs` }, (name) => jobSpec(name, image, count));
      await jobs(64, 0);
      for (const connections of [1, 64])
        for (const count of [0, 1]) {
          const berth: Figure[] = [];
          const peer: Figure[] = [];
          const cost = [0, 0];
          const follow = async (
            at: number,
            pid: number,
            measured: () => Promise<Figure>,
          ): Promise<Figure> => {
            const before = cpuSeconds(pid);
            const figure = await measured();
            cost[at] = (cost[at] ?? 0) + (cpuSeconds(pid) - before) / figure.answered / ROUNDS;
            return figure;
          };
          for (let round = 0; round < ROUNDS; round += 1) {
            peer.push(await follow(1, nomad.pid, () => jobs(connections, count)));
            berth.push(await follow(0, server.pid, () => ours(connections, count)));
          }
          const [us, them] = [best(berth), best(peer)];
          const [own = 0, other = 0] = cost;
          console.log(
            `${String(connections).padStart(2)} at once, ${count} replicas: Berth ${show(us)}, ${(own * 1000).toFixed(2)} ms CPU; Nomad ${show(them)}, ${(other * 1000).toFixed(2)} ms CPU; Berth makes ${(us.perSecond / them.perSecond).toFixed(1)} of Nomad for ${(own / other).toFixed(2)} of its CPU`,
          );
        }
    } finally {
      await nomad.stop();
    }
  }
} finally {
  await server.stop();
  await overTls.stop();
  certified.remove();
  await daemon.stop();
  await registry.stop();
}
