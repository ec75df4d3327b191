import { startBareCommit } from './support/bare-commit.ts';
import { startEngine } from '../test/support/harness/engine.ts';
import { isRecord } from '../src/core/model/values.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { freePort } from '../test/support/harness/free-port.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import {
  KUBE_APISERVER,
  KUBE_DEPLOYMENTS,
  KUBE_TOKEN,
  kubeDeployment,
  startKubeApiserver,
} from './support/kube-apiserver.ts';
import type { Child } from './support/child.ts';
import { jobSpec, NOMAD, startNomad } from './support/nomad.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';
import { serviceSpec, Swarm } from './support/swarm.ts';
import {
  inTurns,
  median,
  middleOf,
  overStarts,
  ratioOf,
  type Turn,
  type TurnOptions,
  turnOf,
} from './support/turns.ts';

/**
 * Durable creates over HTTP: deployments of Berth on its embedded store, services of Docker Swarm on a manager of its own, by the
 * same load generator in alternating turns, of no replica and of one for which there is no node: Swarm's only one is drained, Berth has none.
 * All over TCP; what Swarm makes by its Unix socket, which spares it a part of a lone request, is beside it.
 * Berth over TLS, by a control plane of its own, in the same turns. Beside Nomad, where BENCH_NOMAD has the path of its program: one server, the
 * same with its jobs. Beside kube-apiserver, where BENCH_KUBE_APISERVER has the path of its program: both with TLS, each on an etcd of its own, with nobody
 * who acts on what is stored. Processor time is that of the two programs, without etcd's.
 * Beside each peer Berth begins anew, with an empty store, as the peer does. Whose turn it is not stands still (SIGSTOP), but for programs that hold leases in etcd.
 * At one connection a bare node:http handler that commits as much as a create, to a store of the same kind, is beside each peer: what is left to be had from Node.
 * Beside kube-apiserver it is there at 64, too: how much of the times is etcd's and the machine's.
 * What Berth, Swarm and Nomad do just after they were started comes first, as "cold"; then all are warmed up alike, and ratios are of what follows.
 * All are started several times: a ratio is taken within a start, and the median of the starts counts.
 *   [BENCH_NOMAD=/path/of/nomad] [BENCH_KUBE_APISERVER=/path/of/kube-apiserver] node bench/creates.ts [seconds per turn] [starts]
 */
const SECONDS = Number(process.argv[2] ?? 1);
const STARTS = Number(process.argv[3] ?? 5);
/** The machine is twice as fast in one second as in another: many short rounds tell more than few long ones. */
const ROUNDS = 2;
/** It works for most of a minute on what it accepted in a turn. */
const STARTS_OF_NOMAD = Math.min(STARTS, 2);
/** Node compiles what is used often again and again: after so long a create costs what it costs from then on. */
const WARM_UP = { connections: 64, seconds: SECONDS * 10 };

type Creates = (connections: number, seconds?: number) => Promise<Turn>;

let created = 0;

function creates(options: TurnOptions, body: (name: string) => object): Creates {
  return (connections, seconds = SECONDS) =>
    turnOf({
      duration: seconds,
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
}

function show({ perSecond, p50, p99, errors, cpuMicros }: Turn): string {
  const cost = cpuMicros === 0 ? '' : `, ${(cpuMicros / 1000).toFixed(2)} ms CPU`;
  return `${perSecond.toFixed(0)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${cost}${errors > 0 ? `, ${errors} ERRORS` : ''}`;
}

const atOnce = (connections: number): string => `${String(connections).padStart(2)} at once`;
const ofReplicas = (replicas: number): string => `${replicas} replica${replicas === 1 ? '' : 's'}`;

/** The same side in each start. */
type Starts = readonly (readonly Turn[])[];
/** Of one start: what was compared, and the turns of each side. */
type Compared = Map<string, readonly (readonly Turn[])[]>;

const COLD = 'cold';
const middle = (starts: Starts): Turn => middleOf(starts.flat());
const ratios = (figure: 'perSecond' | 'cpuMicros', ours: Starts, theirs: Starts): readonly number[] =>
  ours.map((turns, start) => ratioOf(figure, turns, theirs[start] ?? []));
const ratio = (figure: 'perSecond' | 'cpuMicros', ours: Starts, theirs: Starts): string =>
  median(ratios(figure, ours, theirs)).toFixed(2);

function besidePeer(own: Starts, peer: Starts, name: string): string {
  const each = ratios('perSecond', own, peer);
  const byStart = each.map((one) => one.toFixed(2)).join(' ');
  return `Berth ${show(middle(own))}; ${name} ${show(middle(peer))}; Berth makes ${median(each).toFixed(2)} of ${name} (by start ${byStart}) for ${ratio('cpuMicros', own, peer)} of its CPU`;
}

const besideBare = (bare: Starts, peer: Starts, name: string): string =>
  bare.flat().length === 0
    ? ''
    : `; a bare handler ${show(middle(bare))}, ${ratio('perSecond', bare, peer)} of ${name}`;

/** What all starts of it compared, a line for each: the peer first, Berth next, then the others by their names. */
async function compare(
  starts: number,
  start: () => Promise<Compared>,
  line: (side: (at: number) => Starts, what: string) => string,
): Promise<void> {
  for (const [what, seen] of await overStarts(starts, start))
    console.log(`${what}: ${line((at) => seen.map((sides) => sides[at] ?? []), what)}`);
}

/** Berth on a store of its own, and a bare handler that commits as much to one. */
interface Own {
  readonly server: ServerProcess;
  readonly bare: Child;
}

const begun = new AsyncDisposableStack();
const started = async <Program extends { stop(): Promise<void> }>(
  stack: AsyncDisposableStack,
  program: Promise<Program>,
): Promise<Program> => stack.adopt(await program, (running) => running.stop());

const registry = await started(begun, startRegistry());
const { reference: image } = await pushImage(registry, 'bench/web:1', {});
const certified = begun.adopt(secured(), (files) => files.remove());

async function startOwn(stack: AsyncDisposableStack, etcd?: string): Promise<Own> {
  const args = etcd === undefined ? [] : ['--store', 'etcd', '--etcd', etcd, ...certified.args];
  const server = await started(stack, startServerProcess({ args }));
  const { body: view } = await server.call('POST', '/api/v1/deployments', { name: 'first', image });
  if (!isRecord(view)) throw new Error(`no deployment was created: ${String(view)}`);
  const bare = startBareCommit(view, image, etcd === undefined ? {} : { etcd, tls: certified.tls });
  return { server, bare: await started(stack, bare) };
}

const berth = ({ url, pid }: ServerProcess, replicas: number, compared: readonly number[] = []): Creates =>
  creates(
    {
      url: `${url}/api/v1/deployments`,
      headers: { authorization: `Bearer ${BENCH_TOKEN}` },
      pid,
      isSettled: true,
      compared,
    },
    (name) => ({ name, image, replicas }),
  );

const ofBare = ({ port, pid }: Child, scheme: string, compared: readonly number[] = []): Creates =>
  creates({ url: `${scheme}://127.0.0.1:${port}`, pid, compared }, (name) => ({ name, image }));

/** The last side, which says what is left to be had, at one connection only. */
const rounds = (connections: number, sides: readonly Creates[]): Promise<readonly (readonly Turn[])[]> =>
  inTurns(
    ROUNDS,
    (connections === 1 ? sides : sides.slice(0, -1)).map((side) => () => side(connections)),
  );

async function startBesideSwarm(): Promise<Compared> {
  await using stack = new AsyncDisposableStack();
  const port = await freePort();
  const listen = `--host=tcp://127.0.0.1:${port}`;
  const daemon = await started(stack, startEngine({ namespace: false, network: 'none', args: [listen] }));
  const swarm = new Swarm(daemon.socketPath);
  await swarm.init();
  await swarm.drain();
  const { server, bare } = await startOwn(stack);
  const overTls = await started(stack, startServerProcess({ args: certified.args }));
  const running = [daemon.pid, server.pid, overTls.pid, bare.pid];
  let answered = 0;
  // It answers before it has looked for a node: what it does after its turn is its own, too.
  const services = (replicas: number, socket: { readonly socketPath?: string } = {}): Creates => {
    const url = `http://127.0.0.1:${port}/v1.41/services/create`;
    const create = creates({ url, ...socket, pid: daemon.pid, isSettled: true, compared: running }, (name) =>
      serviceSpec({ name, image, command: [], replicas }),
    );
    return async (connections, seconds) => {
      const turn = await create(connections, seconds);
      answered += turn.answered;
      return turn;
    };
  };
  const sidesOf = (replicas: number): readonly Creates[] => [
    services(replicas),
    berth(server, replicas, running),
    berth(overTls, replicas, running),
    ofBare(bare, 'http', running),
  ];
  const compared: Compared = new Map();
  const cold: (readonly Turn[])[] = [];
  for (const side of sidesOf(0)) cold.push([await side(1, SECONDS)]);
  compared.set(`${COLD}, ${atOnce(1)}`, cold);
  for (const side of sidesOf(0)) await side(WARM_UP.connections, WARM_UP.seconds);
  for (const replicas of [0, 1])
    for (const connections of [1, 64])
      compared.set(
        `${atOnce(connections)}, ${ofReplicas(replicas)}`,
        await rounds(connections, [
          ...sidesOf(replicas).slice(0, -1),
          services(replicas, { socketPath: daemon.socketPath }),
          ofBare(bare, 'http', running),
        ]),
      );
  // Of those under way when a turn ends, some are stored without an answer being waited for.
  const stored = await swarm.services();
  if (stored < answered) throw new Error(`Swarm answered ${answered} creates and has ${stored} services`);
  return compared;
}

const besideSwarm = (): Promise<void> =>
  compare(STARTS, startBesideSwarm, (side, what) => {
    const [peer, own, tls, unix, alone] = [side(0), side(1), side(2), side(3), side(4)];
    if (what.startsWith(COLD))
      return `Berth ${show(middle(own))}; Swarm ${show(middle(peer))}; TLS ${show(middle(tls))}`;
    return `${besidePeer(own, peer, 'Swarm')}; by its Unix socket Swarm makes ${middle(unix).perSecond.toFixed(0)}/s, ${ratio('perSecond', unix, peer)} of that; TLS ${show(middle(tls))}, ${ratio('perSecond', tls, own)} of plain${besideBare(alone, peer, 'Swarm')}`;
  });

async function startBesideNomad(program: string): Promise<Compared> {
  await using stack = new AsyncDisposableStack();
  const nomad = await started(stack, startNomad(program));
  const { server, bare } = await startOwn(stack);
  const running = [nomad.pid, server.pid, bare.pid];
  // It answers before it has evaluated a job: what it does after its turn is its own, too.
  const jobs = (count: number): Creates =>
    creates({ url: `${nomad.url}/v1/jobs`, pid: nomad.pid, isSettled: true, compared: running }, (name) =>
      jobSpec(name, image, count),
    );
  const compared: Compared = new Map([[`${COLD}, ${atOnce(1)}`, [[await jobs(0)(1, SECONDS)]]]]);
  const sidesOf = (count: number): readonly Creates[] => [
    jobs(count),
    berth(server, count, running),
    ofBare(bare, 'http', running),
  ];
  for (const side of sidesOf(0)) await side(WARM_UP.connections, WARM_UP.seconds);
  for (const connections of [1, 64])
    for (const count of [0, 1])
      compared.set(`${atOnce(connections)}, ${ofReplicas(count)}`, await rounds(connections, sidesOf(count)));
  return compared;
}

const besideNomad = (program: string): Promise<void> =>
  compare(
    STARTS_OF_NOMAD,
    () => startBesideNomad(program),
    (side, what) =>
      what.startsWith(COLD)
        ? `Nomad ${show(middle(side(0)))}`
        : `${besidePeer(side(1), side(0), 'Nomad')}${besideBare(side(2), side(0), 'Nomad')}`,
  );

async function startBesideKubeApiserver(program: string): Promise<Compared> {
  await using stack = new AsyncDisposableStack();
  const [forUs, forThem] = [await started(stack, startEtcd()), await started(stack, startEtcd())];
  const { server, bare } = await startOwn(stack, forUs.endpoints[0] ?? '');
  const etcd = forThem.endpoints[0] ?? '';
  const kube = await started(stack, startKubeApiserver(program, { etcd, tls: certified.tls }));
  const objects = creates(
    {
      url: `${kube.url}${KUBE_DEPLOYMENTS}`,
      headers: { authorization: `Bearer ${KUBE_TOKEN}` },
      pid: kube.pid,
      isSettled: true,
      compared: [],
    },
    (name) => kubeDeployment(name, image),
  );
  const sides = [objects, berth(server, 1), ofBare(bare, 'https')];
  for (const side of sides) await side(WARM_UP.connections, WARM_UP.seconds);
  const compared: Compared = new Map();
  for (const connections of [1, 64])
    compared.set(
      `${atOnce(connections)}, etcd and TLS`,
      await inTurns(
        ROUNDS,
        sides.map((side) => () => side(connections)),
      ),
    );
  return compared;
}

const besideKubeApiserver = (program: string): Promise<void> =>
  compare(
    STARTS,
    () => startBesideKubeApiserver(program),
    (side) =>
      `${besidePeer(side(1), side(0), 'kube-apiserver')}${besideBare(side(2), side(0), 'kube-apiserver')}`,
  );

try {
  await besideSwarm();
  if (NOMAD === undefined) console.log('Nomad: not compared; BENCH_NOMAD takes the path of its program');
  else await besideNomad(NOMAD);
  if (KUBE_APISERVER === undefined)
    console.log('kube-apiserver: not compared; BENCH_KUBE_APISERVER takes the path of its program');
  else await besideKubeApiserver(KUBE_APISERVER);
} finally {
  await begun.disposeAsync();
}
