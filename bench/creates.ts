import { startBareCommit } from './support/bare-commit.ts';
import { startEngine } from '../test/support/harness/engine.ts';
import { isRecord } from '../src/core/model/values.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import {
  KUBE_APISERVER,
  KUBE_DEPLOYMENTS,
  KUBE_TOKEN,
  kubeDeployment,
  startKubeApiserver,
} from './support/kube-apiserver.ts';
import { jobSpec, NOMAD, startNomad } from './support/nomad.ts';
import { secured } from './support/secured.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';
import { serviceSpec, Swarm } from './support/swarm.ts';
import { inTurns, middleOf, ratioOf, type Turn, type TurnOptions, turnOf } from './support/turns.ts';

/**
 * Durable creates over HTTP: deployments of Berth on its embedded store, services of Docker Swarm on a manager of its own, by the
 * same load generator in alternating turns, of no replica and of one for which there is no node: Swarm's only one is drained, Berth has none.
 * Berth over TLS, by a control plane of its own, in the same turns. Beside Nomad, where BENCH_NOMAD has the path of its program: one server, the
 * same with its jobs. Beside kube-apiserver, where BENCH_KUBE_APISERVER has the path of its program: both with TLS, each on an etcd of its own, with nobody
 * who acts on what is stored. Processor time is that of the two programs, without etcd's.
 * At one connection a bare node:http handler that commits as much as a create, to a store of the same kind, is beside each peer: what is left to be had from Node.
 * What each does just after it was started comes first, as "cold"; then all are warmed up alike, and ratios are of what follows.
 *   [BENCH_NOMAD=/path/of/nomad] [BENCH_KUBE_APISERVER=/path/of/kube-apiserver] node bench/creates.ts [seconds per turn]
 */
const SECONDS = Number(process.argv[2] ?? 2);
const ROUNDS = 3;
/** Node compiles what is used often again and again: after so long a create costs what it costs from then on. */
const WARM_UP = { connections: 64, seconds: SECONDS * 5 };

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

function besidePeer(own: readonly Turn[], peer: readonly Turn[], name: string): string {
  return `Berth ${show(middleOf(own))}; ${name} ${show(middleOf(peer))}; Berth makes ${ratioOf('perSecond', own, peer).toFixed(2)} of ${name} for ${ratioOf('cpuMicros', own, peer).toFixed(2)} of its CPU`;
}

const besideBare = (bare: readonly Turn[], peer: readonly Turn[], name: string): string =>
  bare.length === 0
    ? ''
    : `; a bare handler ${show(middleOf(bare))}, ${ratioOf('perSecond', bare, peer).toFixed(2)} of ${name}`;

const registry = await startRegistry();
const daemon = await startEngine();
const server = await startServerProcess();
const certified = secured();
const overTls = await startServerProcess({ args: certified.args });
const ends: (() => Promise<void>)[] = [];
try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  const { body: view } = await server.call('POST', '/api/v1/deployments', { name: 'first', image });
  if (!isRecord(view)) throw new Error(`no deployment was created: ${String(view)}`);
  const bare = await startBareCommit(view, image);
  ends.push(() => bare.stop());
  const swarm = new Swarm(daemon.socketPath);
  await swarm.init();
  await swarm.drain();
  const berth = ({ url, pid }: ServerProcess, replicas = 1): Creates =>
    creates(
      { url: `${url}/api/v1/deployments`, headers: { authorization: `Bearer ${BENCH_TOKEN}` }, pid },
      (name) => ({ name, image, replicas }),
    );
  let answered = 0;
  // It answers before it has looked for a node: what it does after its turn is its own, too.
  const services = (replicas: number): Creates => {
    const create = creates(
      {
        url: 'http://localhost/v1.41/services/create',
        socketPath: daemon.socketPath,
        pid: daemon.pid,
        isSettled: true,
      },
      (name) => serviceSpec({ name, image, command: [], replicas }),
    );
    return async (connections, seconds) => {
      const turn = await create(connections, seconds);
      answered += turn.answered;
      return turn;
    };
  };
  const ofBare = creates({ url: `http://127.0.0.1:${bare.port}`, pid: bare.pid }, (name) => ({
    name,
    image,
  }));
  const sidesOf = (replicas: number): readonly Creates[] => [
    services(replicas),
    berth(server, replicas),
    berth(overTls, replicas),
    ofBare,
  ];
  /** The bare handler at one connection only. */
  const comparedAt = (connections: number, all: readonly Creates[]): readonly Creates[] =>
    connections === 1 ? all : all.slice(0, -1);
  const cold: string[] = [];
  for (const side of sidesOf(0)) cold.push(show(await side(1, SECONDS / 2)));
  console.log(`cold, ${atOnce(1)}: Berth ${cold[1]}; Swarm ${cold[0]}; TLS ${cold[2]}`);
  for (const side of sidesOf(0)) await side(WARM_UP.connections, WARM_UP.seconds);
  for (const replicas of [0, 1])
    for (const connections of [1, 64]) {
      const turns = await inTurns(
        ROUNDS,
        comparedAt(connections, sidesOf(replicas)).map((side) => () => side(connections)),
      );
      const [peer = [], own = [], tls = [], alone = []] = turns;
      console.log(
        `${atOnce(connections)}, ${replicas} replicas: ${besidePeer(own, peer, 'Swarm')}; TLS ${show(middleOf(tls))}, ${ratioOf('perSecond', tls, own).toFixed(2)} of plain${besideBare(alone, peer, 'Swarm')}`,
      );
    }
  // Of those under way when a turn ends, some are stored without an answer being waited for.
  const stored = await swarm.services();
  if (stored < answered) throw new Error(`Swarm answered ${answered} creates and has ${stored} services`);
  // It goes on looking for a node for each of them, which would be in the turns of those who follow.
  await daemon.stop();
  if (NOMAD === undefined) console.log('Nomad: not compared; BENCH_NOMAD takes the path of its program');
  else {
    const nomad = await startNomad(NOMAD);
    try {
      // It answers before it has evaluated a job: what it does after its turn is its own, too.
      const jobs = (count: number): Creates =>
        creates({ url: `${nomad.url}/v1/jobs`, pid: nomad.pid, isSettled: true }, (name) =>
          jobSpec(name, image, count),
        );
      console.log(`cold, ${atOnce(1)}: Nomad ${show(await jobs(0)(1, SECONDS / 2))}`);
      await jobs(0)(WARM_UP.connections, WARM_UP.seconds);
      for (const connections of [1, 64])
        for (const count of [0, 1]) {
          const [peer = [], own = [], alone = []] = await inTurns(
            ROUNDS,
            comparedAt(connections, [jobs(count), berth(server, count), ofBare]).map(
              (side) => () => side(connections),
            ),
          );
          console.log(
            `${atOnce(connections)}, ${count} replicas: ${besidePeer(own, peer, 'Nomad')}${besideBare(alone, peer, 'Nomad')}`,
          );
        }
    } finally {
      await nomad.stop();
    }
  }
  if (KUBE_APISERVER === undefined)
    console.log('kube-apiserver: not compared; BENCH_KUBE_APISERVER takes the path of its program');
  else {
    const [forUs, forThem] = [await startEtcd(), await startEtcd()];
    const shared = await startServerProcess({
      args: ['--store', 'etcd', '--etcd', forUs.endpoints[0] ?? '', ...certified.args],
    });
    const kube = await startKubeApiserver(KUBE_APISERVER, {
      etcd: forThem.endpoints[0] ?? '',
      tls: certified.tls,
    });
    const bareOnEtcd = await startBareCommit(view, image, {
      etcd: forUs.endpoints[0] ?? '',
      tls: certified.tls,
    });
    try {
      const objects = creates(
        {
          url: `${kube.url}${KUBE_DEPLOYMENTS}`,
          headers: { authorization: `Bearer ${KUBE_TOKEN}` },
          pid: kube.pid,
        },
        (name) => kubeDeployment(name, image),
      );
      const onEtcd = creates(
        { url: `https://127.0.0.1:${bareOnEtcd.port}`, pid: bareOnEtcd.pid },
        (name) => ({
          name,
          image,
        }),
      );
      const compared = [objects, berth(shared), onEtcd] as const;
      for (const side of compared) await side(WARM_UP.connections, WARM_UP.seconds);
      for (const connections of [1, 64]) {
        const [peer = [], own = [], alone = []] = await inTurns(
          ROUNDS,
          comparedAt(connections, compared).map((side) => () => side(connections)),
        );
        console.log(
          `${atOnce(connections)}, etcd and TLS: ${besidePeer(own, peer, 'kube-apiserver')}${besideBare(alone, peer, 'kube-apiserver')}`,
        );
      }
    } finally {
      await bareOnEtcd.stop();
      await kube.stop();
      await shared.stop();
      await forUs.stop();
      await forThem.stop();
    }
  }
} finally {
  for (const end of ends) await end();
  await server.stop();
  await overTls.stop();
  certified.remove();
  await daemon.stop();
  await registry.stop();
}
