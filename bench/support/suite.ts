/** One benchmark of the folder above: how it is run, which of its lines matter, and which bars they are held to. */
export interface Bench {
  /** File in `bench/`, without its ending. */
  readonly name: string;
  readonly args: readonly string[];
  /** Sizes that only show that it works. */
  readonly quickArgs: readonly string[];
  /** Lines worth keeping. Absent: all. */
  readonly lines?: RegExp;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly what: string;
  /** As the reader sees it. */
  readonly bar: string;
  /** Of everything it printed; undefined: it did not say. */
  readonly read: (output: string) => number | undefined;
  readonly isMet: (value: number) => boolean;
}

const number = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text.replaceAll(',', ''));

/** The first group of the pattern. */
const first =
  (pattern: RegExp) =>
  (output: string): number | undefined =>
    number(pattern.exec(output)?.[1]);

/** The worst of all lines that fit: a bar is met by all of them or it is missed. */
const least =
  (pattern: RegExp) =>
  (output: string): number | undefined => {
    const found = [...output.matchAll(pattern)].map((match) => number(match[1]) ?? 0);
    return found.length === 0 ? undefined : Math.min(...found);
  };

const atLeast = (least: number) => (value: number) => value >= least;
const atMost = (most: number) => (value: number) => value <= most;
const below = (limit: number) => (value: number) => value < limit;

/** In the order of a run. A benchmark that is not here is run without arguments and held to nothing. */
export const BENCHES: readonly Bench[] = [
  {
    name: 'scheduler',
    args: [],
    quickArgs: ['quick'],
    bars: [
      {
        what: 'placements in memory, 1,000,000 instances on 5,000 nodes, slowest of the mixes (per second)',
        bar: '≥ 100,000',
        read: least(/^ {2}(?!\d+ nodes).* ([\d,]+) decisions\/s/gm),
        isMet: atLeast(100_000),
      },
      {
        what: 'cost of a placement at 10,000 nodes over that at 100',
        bar: '< 2',
        read: first(/100 -> 10,000 nodes ([\d.]+)x/),
        isMet: below(2),
      },
    ],
  },
  { name: 'store', args: ['2'], quickArgs: ['0.5'], bars: [] },
  {
    name: 'api',
    args: ['5', 'etcd'],
    quickArgs: ['1', 'etcd'],
    lines: / of the bare one| of it|raw etcd/,
    bars: [
      {
        what: 'durable creates over HTTP, embedded store, 64 connections, of a bare handler that commits the same',
        bar: '≥ 0.60',
        read: first(/^embedded create +64 conn.* ([\d.]+) of the bare one/m),
        isMet: atLeast(0.6),
      },
      {
        what: 'the same, p99 (ms)',
        bar: '< 30',
        read: first(/^embedded create +64 conn.* p99 ([\d.]+) ms/m),
        isMet: below(30),
      },
      {
        what: 'durable creates over HTTP on etcd, 64 at once, of raw puts from Node',
        bar: '≥ 0.60',
        read: first(/^raw etcd puts from Node +64 conc.* create is ([\d.]+) of it/m),
        isMet: atLeast(0.6),
      },
      {
        what: 'reads of one deployment, 64 connections, of a bare Fastify handler',
        bar: '≥ 0.70',
        read: first(/^embedded read +64 conn.* ([\d.]+) of the bare one/m),
        isMet: atLeast(0.7),
      },
    ],
  },
  {
    name: 'etcd',
    args: ['2'],
    quickArgs: ['0.3'],
    bars: [
      {
        what: 'guarded commits of five keys, of raw puts with the stock library, worst concurrency (%)',
        bar: '≥ 60',
        read: least(/commits: ([\d.]+) % of stock puts/g),
        isMet: atLeast(60),
      },
    ],
  },
  { name: 'planes', args: ['5', '64'], quickArgs: ['1', '16'], bars: [] },
  {
    name: 'secrets',
    args: [],
    quickArgs: ['100'],
    bars: [
      {
        what: 'list of 1,000 referenced secret paths, p50 (ms)',
        bar: '≤ 50',
        read: first(/^resources list.* p50 ([\d.]+) ms/m),
        isMet: atMost(50),
      },
      {
        what: 'consumers of one path among 1,000, p50 (ms)',
        bar: '≤ 5',
        read: first(/^consumers of one path +p50 ([\d.]+) ms/m),
        isMet: atMost(5),
      },
    ],
  },
  {
    name: 'agent',
    args: [],
    quickArgs: ['3', '10'],
    bars: [
      {
        what: 'agent at rest (MiB)',
        bar: '< 80',
        read: first(/^agent at rest: ([\d.]+) MiB/m),
        isMet: below(80),
      },
    ],
  },
  {
    name: 'engine',
    args: ['100'],
    quickArgs: ['10'],
    bars: [
      {
        what: "100 instances from POST to running, of the engine's own rate",
        bar: '≥ 0.95',
        read: first(/Berth is ([\d.]+) of the engine's own rate/),
        isMet: atLeast(0.95),
      },
      {
        what: 'the same, of Docker Swarm',
        bar: '≥ 1',
        read: first(/Berth is ([\d.]+) of Swarm/),
        isMet: atLeast(1),
      },
    ],
  },
  {
    name: 'latency',
    args: ['20'],
    quickArgs: ['3'],
    bars: [
      {
        what: "one deployment from POST to running, over the engine's own create and start, p50 (ms)",
        bar: '≤ 100',
        read: first(/adds (-?[\d.]+) ms/),
        isMet: atMost(100),
      },
    ],
  },
  { name: 'volumes', args: [], quickArgs: [], bars: [] },
  {
    name: 'agents',
    args: ['10000', '30'],
    quickArgs: ['200', '5'],
    bars: [
      {
        what: 'control plane at rest (MiB)',
        bar: '< 150',
        read: first(/^RSS idle ([\d.]+) MiB/m),
        isMet: below(150),
      },
      {
        what: 'control plane with 10,000 connected agents (MiB)',
        bar: '< 512',
        read: first(/^RSS .*connected ([\d.]+) MiB/m),
        isMet: below(512),
      },
      {
        what: 'the same, share of one core (%)',
        bar: '< 40',
        read: first(/^CPU ([\d.]+) % of one core/m),
        isMet: below(40),
      },
    ],
  },
];

/** Bars that no benchmark here looks at: said, so that their silence is not taken for a pass. */
export const NOT_MEASURED: readonly string[] = [
  'placements made durable on 5,000 nodes (bar: ≥ 10,000/s)',
  'durable creates over HTTP against Docker Swarm in the same run (bar: ≥ 5 ×)',
  'restart with 100,000 deployments stored (bar: ready in < 5 s)',
];
