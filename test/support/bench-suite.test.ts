import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { barsOf, BENCHES } from '../../bench/support/suite.ts';

/** Lines as the benchmarks print them, and the values that the bars take from them, in order. */
const SAMPLES: Readonly<Record<string, readonly [output: string, values: readonly number[]]>> = {
  scheduler: [
    `1,000,000 instances on 5,000 nodes
  10,000 deployments x 100, a deployment at a time                       250,000 decisions/s    260,000 per cpu second  0 unplaced
  20 deployments x 50,000 (7 and 17 spread by force: one per node)       120,500 decisions/s    130,000 per cpu second  90 unplaced
growth with the number of nodes, 20 instances on each
  100 nodes, deployments of 10, one in and the oldest out                 90,000 decisions/s     95,000 per cpu second  0 unplaced
processor time per decision, best of 4: 100 -> 1,000 nodes 1.10x, 100 -> 10,000 nodes 1.43x`,
    [120_500, 1.43],
  ],
  placement: [
    `embedded: 100 deployments x 1,000 on 5,000 nodes   15,000 placements/s    8,000 per cpu second    16,000 per second of the main thread  2,500 commits
embedded: 10,000 deployments x 10 on 5,000 nodes   12,345 placements/s    8,000 per cpu second    16,000 per second of the main thread  9,984 commits
embedded: 100,000 deployments x 1 on 5,000 nodes   10,010 placements/s    8,000 per cpu second    16,000 per second of the main thread  99,968 commits
etcd: 10,000 deployments x 10 on 5,000 nodes   900 placements/s    8,000 per cpu second    16,000 per second of the main thread  9,984 commits`,
    [12_345, 10_010],
  ],
  ingress: [
    `connection set-up  ingress 1507/s  bare Caddy 1679/s  0.97 of the bare one (by start 0.96 0.97 1.01)
requests           ingress 4100/s  bare Caddy 4155/s  0.99 of the bare one (by start 0.98 0.99 1.02)`,
    [0.97],
  ],
  network: [
    `throughput, bare wireguard-go and mesh: 262.70 and 252.74 Mbit/s, ratio 0.96; processor time of the tunnels 18.58 and 18.70 s a GiB, 1.01 of the first
round trip, bare wireguard-go and mesh: 0.71 and 0.78 ms, ratio 0.91
a file, instance and virtual address: 183.86 and 204.32 Mbit/s, ratio 1.11; processor time of the tunnels 22.63 and 21.96 s a GiB, 0.97 of the first
an instance that ended is in no node's answers after 0.92 s`,
    [0.96, 1.01, 1.11, 0.97, 0.92],
  ],
  volumes: [
    `engine btrfs
write      bare 319 MiB/s, without copies 288 MiB/s, volume 277 MiB/s, ratio 0.87, of that without copies 0.96, which is 0.90 of the bare disk; 7 rounds in turn, of the bare disk 0.81 0.87 0.90
fsync p50  bare 1.42 ms, without copies 2.48 ms, volume 2.70 ms, ratio 1.90, of that without copies 1.09
fsync p99  bare 24.80 ms, without copies 33.91 ms, volume 77.02 ms, ratio 3.11, of that without copies 2.27
fsync p99 with nothing but a snapshot a second 61.20 ms, volume 1.26 of it
fsync p99 of a writer on a processor that they are kept off: with nothing but a snapshot a second 2.18 ms, volume 1.47 ms, 0.67 of it
lag under a burst  p50 3738 ms, greatest 5493 ms, 202 samples`,
    [0.87, 0.96, 1.9, 1.09, 3.11, 1.26, 5493],
  ],
  restart: [
    `100,000 deployments, 900,000 records of 315 MiB, file of 518 MiB
start 1: ready in 3.72 s, first list answered after 3.78 s, 6.36 s of processor time, RSS 501 MiB
start 2: ready in 3.38 s, first list answered after 3.87 s, 6.56 s of processor time, RSS 512 MiB
60 s later: RSS 590 MiB
1,000 deployments, no history: first list answered after 0.70 s, 0.80 s of processor time
1,000 deployments, 1,000,000 records of history: first list answered after 0.72 s, 0.84 s of processor time
with history a start takes 1.05 of the processor time
etcd, 20,000 deployments, control plane killed: first list answered after 1.42 s, 1.60 s of processor time
etcd, 20,000 deployments, both killed: first list answered after 1.95 s, 1.70 s of processor time; etcd was well after 1.20 s, with 0.90 s, and the list came 0.75 s later`,
    [3.87, 512, 590, 1.05, 1.42, 1.95, 0.75],
  ],
  tls: [
    `bare             read    plain   1039/s   127 µs  TLS    316/s   352 µs  rate 0.30 of plain, by processor time 0.36
control plane    read    plain    753/s   243 µs  TLS    294/s   624 µs  rate 0.39 of plain, by processor time 0.39
read: by processor time the control plane keeps 1.08 of what Node keeps
create: by processor time the control plane keeps 1.05 of what Node keeps`,
    [1.08],
  ],
  cores: [
    `read    TLS                358/s  main thread  478 µs, all  569 µs, client  424 µs  full at   2090/s with 1 more cores
read    TLS, 1 thread      879/s  main thread  171 µs, all  377 µs, client  202 µs  full at   5838/s with 2 more cores  of TLS without: rate 2.46, main thread 0.36, all 0.66; of plain: main thread 1.05
read    TLS, 2 threads     804/s  main thread  151 µs, all  317 µs, client  190 µs  full at   6623/s with 2 more cores  of TLS without: rate 2.25, main thread 0.32, all 0.56; of plain: main thread 0.98
create  TLS, 2 threads     196/s  main thread  535 µs, all 1151 µs, client  432 µs  full at   1868/s with 2 more cores  of TLS without: rate 2.25, main thread 0.43, all 0.66; of plain: main thread 0.91`,
    [0.32, 0.98],
  ],
  creates: [
    `cold,  1 at once: Berth 400/s, p50 1 ms, p99 9 ms, 2.10 ms CPU; Swarm 500/s, p50 1 ms, p99 9 ms, 0.90 ms CPU; TLS 390/s, p50 2 ms, p99 12 ms, 2.40 ms CPU
 1 at once, 0 replicas: Berth 800/s, p50 1 ms, p99 3 ms, 1.20 ms CPU; Swarm 400/s, p50 2 ms, p99 5 ms, 0.80 ms CPU; Berth makes 2.00 of Swarm (by start 1.80 2.00 2.20) for 1.50 of its CPU; TLS 700/s, p50 1 ms, p99 3 ms, 1.30 ms CPU, 0.88 of plain
64 at once, 0 replicas: Berth 4000/s, p50 15 ms, p99 29 ms, 0.40 ms CPU; Swarm 500/s, p50 90 ms, p99 200 ms, 0.60 ms CPU; Berth makes 8.00 of Swarm (by start 1.80 2.00 2.20) for 0.67 of its CPU; TLS 3000/s, p50 20 ms, p99 39 ms, 0.50 ms CPU, 0.75 of plain
 1 at once, 0 replicas: Berth 600/s, p50 1 ms, p99 3 ms, 1.20 ms CPU; Nomad 300/s, p50 3 ms, p99 9 ms, 4.80 ms CPU; Berth makes 2.00 of Nomad for 0.25 of its CPU
 1 at once, 1 replicas: Berth 600/s, p50 1 ms, p99 3 ms, 1.20 ms CPU; Nomad 375/s, p50 3 ms, p99 9 ms, 4.80 ms CPU; Berth makes 1.60 of Nomad for 0.25 of its CPU
64 at once, 0 replicas: Berth 3000/s, p50 20 ms, p99 30 ms, 0.60 ms CPU; Nomad 1000/s, p50 60 ms, p99 90 ms, 2.40 ms CPU; Berth makes 3.00 of Nomad for 0.25 of its CPU
64 at once, 1 replicas: Berth 3000/s, p50 20 ms, p99 30 ms, 0.60 ms CPU; Nomad 1250/s, p50 60 ms, p99 90 ms, 2.40 ms CPU; Berth makes 2.40 of Nomad for 0.25 of its CPU
 1 at once, etcd and TLS: Berth 450/s, p50 2 ms, p99 5 ms, 1.20 ms CPU; kube-apiserver 250/s, p50 4 ms, p99 9 ms, 3.10 ms CPU; Berth makes 1.80 of kube-apiserver (by start 1.80 1.80 2.20) for 0.39 of its CPU
64 at once, etcd and TLS: Berth 2500/s, p50 25 ms, p99 50 ms, 0.60 ms CPU; kube-apiserver 1000/s, p50 60 ms, p99 90 ms, 1.60 ms CPU; Berth makes 2.50 of kube-apiserver (by start 1.80 1.80 2.20) for 0.38 of its CPU; a bare handler 4300/s, p50 12 ms, p99 60 ms, 0.17 ms CPU, 4.30 of kube-apiserver`,
    [8, 2, 2.4, 1.6, 2.5, 1.8],
  ],
  api: [
    `embedded create                      16 conn     3000/s  p50 5.1 ms  p99 11.0 ms  500 µs CPU  0.70 of the bare one (4300/s, p99 10.0 ms, 150 µs CPU), p99 x1.1, CPU x3.33; TLS 2400/s, 600 µs CPU, 0.80 of plain
embedded create                      64 conn     3100/s  p50 20.0 ms  p99 29.0 ms  400 µs CPU  3 ERRORS  0.62 of the bare one (5000/s, p99 15.3 ms, 130 µs CPU), p99 x1.9, CPU x3.07; TLS 2600/s, 480 µs CPU, 0.84 of plain
embedded read                        64 conn     9000/s  p50 6.0 ms  p99 12.0 ms  42 µs CPU  0.81 of the bare one (11100/s, p99 10.0 ms, 33 µs CPU), p99 x1.2, CPU x1.27; TLS 5000/s, 80 µs CPU, 0.55 of plain
CPU of a create one at a time, Berth: first 500 1.50 ms, warm 1.20 ms, of 64 at once 0.90 ms; first x1.25 of warm, warm x1.33 of one of 64
CPU of a create one at a time, bare node:http, same commit: first 500 0.60 ms, warm 0.40 ms, of 64 at once 0.20 ms; first x1.50 of warm, warm x2.00 of one of 64
one at a time: of the bare handler's factors Berth has 0.83 (first of warm) and 0.67 (warm of one of 64)
etcd create                          64 conn     1900/s  p50 33.0 ms  p99 70.0 ms  450 µs CPU
raw etcd puts from Node                64 conc     3000/s  create is 0.63 of it, the bare one 0.75
etcd read                            64 conn     9000/s  p50 6.0 ms  p99 12.0 ms  42 µs CPU  0.80 of the bare one (11200/s, p99 9.2 ms, 33 µs CPU), p99 x1.3, CPU x1.27`,
    [0.62, 1.9, 0.63, 0.81, 1.25, 1.33, 0.83],
  ],
  etcd: [
    `      commits: 90 % of stock puts, 70 % of own puts, 99 % of five unguarded puts
      commits: 64 % of stock puts, 60 % of own puts, 97 % of five unguarded puts`,
    [64],
  ],
  events: [
    `embedded: readers cost x1.52 of the bare server's, p99 x1.20; their creates alone are answered p99 x1.30
etcd: readers cost x1.80 of the bare server's, p99 x1.41; their creates alone are answered p99 x1.50
embedded with TLS: readers cost x0.50 of kube-apiserver's, p99 x0.80; their creates alone are answered p99 x1.70
etcd with TLS: readers cost x0.60 of kube-apiserver's, p99 x0.90; their creates alone are answered p99 x1.60`,
    [1.52, 1.2, 1.8, 0.6, 0.9],
  ],
  recovery: [
    'killed and started again, 8 rounds: a create answered after p50 650 ms, slowest 700 ms; its container running after p50 1200 ms, slowest 1500 ms',
    [650, 1200],
  ],
  secrets: [
    `resources list, 1000 paths   p50 9.10 ms  p99 20.00 ms   bar 50 ms
consumers of one path         p50 1.20 ms  p99 4.00 ms   bar 5 ms`,
    [9.1, 1.2],
  ],
  growth: [
    `by the number of nodes: 100, 1,000, 10,000
  create with one instance placed (ms)            2.050      2.100      2.300   slope of one 0.03
  read of one (ms)                                0.220      0.210      0.200   slope of one -0.02
  start again (s)                                 0.560      0.610      1.900   slope of all 0.27`,
    [0.03, 0.27],
  ],
  agent: ['agent at rest: 71 MiB, nothing compiled from before\nagent at rest: 66 MiB, after the load', [71]],
  engine: [
    "  Berth is 0.97 of the engine's own rate (bar 0.95), Swarm 0.83; Berth is 1.17 of Swarm (bar 1)",
    [0.97, 1.17],
  ],
  latency: [
    `engine alone  p50 300 ms, p99 400 ms
Berth  POST to running p50 338 ms, p99 420 ms: adds 38 ms (bar 40)
Swarm  POST to running p50 550 ms, p99 620 ms: adds 250 ms`,
    [38],
  ],
  agents: [
    `RSS idle 96 MiB, enrolled 130 MiB, connected 301 MiB
CPU 13.1 % of one core over 30 s; signs of life 2000/s; sessions lost 0, refused 0
explain on 10000 nodes: a page of 41.7 kB, slowest of 5 after 60 ms`,
    [96, 301, 13.1, 41.7],
  ],
  cli: [
    `berth get deployments, 20 of them: p50 101 ms, least 90 ms
without compiled code from before: p50 180 ms, least 160 ms
in a checkout: p50 121 ms, least 99 ms
a bare Node program that asks for the same list: p50 80 ms, least 70 ms
an empty Node program: p50 45 ms, least 40 ms`,
    [101, 180],
  ],
  dashboard: [
    `first load: 185.2 kB compressed; first contentful paint p50 120 ms
5,000 deployments: rows after 250 ms, all of them after 700 ms; frame p50 16.7 ms, p99 30.2 ms, longest 31.0 ms; 25 rows drawn
500 nodes: rows after 200 ms, all of them after 201 ms; frame p50 16.7 ms, p99 17.0 ms, longest 18.0 ms; 21 rows drawn
  sort: p50 40 ms, p95 120 ms, longest 130 ms; processor time p95 30 ms
400 interactions: p50 30 ms, p95 90 ms, longest 130 ms; processor time p95 40 ms
accessibility: 0 findings on 33 pages`,
    [185.2, 250, 30.2, 90, 0],
  ],
};

describe('the bars of the benchmarks', () => {
  it('are looked for in every benchmark of the folder', () => {
    const files = readdirSync(join(import.meta.dirname, '../../bench')).filter((name) =>
      name.endsWith('.ts'),
    );
    expect(BENCHES.map(({ name }) => `${name}.ts`).toSorted()).toEqual(files.toSorted());
  });

  it.each(BENCHES.filter(({ bars }) => bars.length > 0))(
    '$name: are read from what it prints',
    ({ name, bars }) => {
      const [output, values] = SAMPLES[name] ?? ['', []];
      expect(bars.map(({ read }) => read(output))).toEqual(values);
      expect(bars.every(({ read, isMet }) => isMet(read(output) ?? Number.NaN))).toBe(true);
      expect(bars.map(({ read }) => read('it ended early'))).toEqual(values.map(() => undefined));
    },
  );

  it('compare with a peer only where its program was given', () => {
    const peers = (environment: Record<string, string>): string[] =>
      BENCHES.flatMap((bench) => barsOf(bench, environment)).flatMap(({ peer }) => peer ?? []);
    expect(peers({})).toEqual([]);
    expect(new Set(peers({ BENCH_NOMAD: '/nomad' }))).toEqual(new Set(['BENCH_NOMAD']));
    expect(new Set(peers({ BENCH_NOMAD: '/nomad', BENCH_KUBE_APISERVER: '/kube' })).size).toBe(2);
  });

  it('are missed by a figure on the wrong side', () => {
    const wrong = BENCHES.flatMap(({ bars }) => bars).map(({ bar, isMet }) =>
      isMet(bar.startsWith('≥') ? 0 : Number.POSITIVE_INFINITY),
    );
    expect(wrong).not.toContain(true);
  });
});
