/** One benchmark of the folder above: how it is run, which of its lines matter, and which bars they are held to. */
export interface Bench {
  /** File in `bench/`, without its ending. */
  readonly name: string;
  readonly args: readonly string[];
  /** Sizes that only show that it works. */
  readonly quickArgs: readonly string[];
  /** It is ended after so long, and counts as failed. */
  readonly minutes: number;
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
  /** What stands in its way and how that is known; for the reader of a page on which it is missed. */
  readonly limit?: string;
  /** The variable that has the path of the program it compares with; without it there is no such bar. */
  readonly peer?: 'BENCH_NOMAD' | 'BENCH_KUBE_APISERVER';
}

/** Those that can be had in this run. */
export function barsOf(
  { bars }: Bench,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): readonly Bar[] {
  return bars.filter(({ peer }) => peer === undefined || environment[peer] !== undefined);
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

const greatest =
  (pattern: RegExp) =>
  (output: string): number | undefined => {
    const found = [...output.matchAll(pattern)].map((match) => number(match[1]) ?? 0);
    return found.length === 0 ? undefined : Math.max(...found);
  };

const atLeast = (least: number) => (value: number) => value >= least;
const atMost = (most: number) => (value: number) => value <= most;
const below = (limit: number) => (value: number) => value < limit;

const LARGE_FILE =
  'the file system on its loop device is below the bar without copies already (`which is … of the bare disk`): a large file is written through a second file system, which checksums it';

const FILE_SYSTEM =
  'the file system and its loop device take nearly all of it, as they do without copies: an append is a commit of the image and of the disk below it';

const ALONE =
  'a bare node:http handler with the same commit has these factors, too (its line in api): a lone request wakes the thread of the store and a core that idles, and the first requests run before Node has compiled what they run';

const LEAST =
  'a bare handler that only reads, judges and hashes the deployment and stores its six rows, guarded and in the view, makes two thirds to three quarters of it (the line `the least that a create is`): the rest of the bar would have to do for callers, limits, the registry, the first plan, controllers, readers of events, the log and figures';

const SNAPSHOT =
  'a snapshot is a commit of the file system, and fsyncs wait for it: nothing but one a second, sent nowhere, costs as much (`with nothing but a snapshot a second`); without copies the file system and its loop device alone take most of the bar';

const TUNNELS =
  'wireguard-go fills the cores, and the rates of two runs of the same tunnel differ by more than the bar allows: what the tunnels spend on the same bytes stands beside the rate';

/** In the order of a run: every file of the folder, which `test/support/bench-suite.test.ts` sees to. */
export const BENCHES: readonly Bench[] = [
  {
    name: 'scheduler',
    args: [],
    quickArgs: ['quick'],
    minutes: 4,
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
  {
    name: 'placement',
    args: ['100000', '5000', 'etcd'],
    quickArgs: ['2000', '500', 'etcd'],
    minutes: 5,
    bars: [
      {
        what: 'placements made durable on 5,000 nodes, embedded store, deployments of 10 to 1,000 instances, slowest (per second)',
        bar: '≥ 10,000',
        read: least(/^embedded: [\d,]+ deployments x (?!1 ).* ([\d,]+) placements\/s/gm),
        isMet: atLeast(10_000),
      },
      {
        what: 'the same, deployments of one instance, each with a commit of its own (per second)',
        bar: '≥ 10,000',
        read: first(/^embedded: [\d,]+ deployments x 1 .* ([\d,]+) placements\/s/m),
        isMet: atLeast(10_000),
      },
    ],
  },
  { name: 'store', args: ['2'], quickArgs: ['0.5'], minutes: 2, bars: [] },
  {
    name: 'restart',
    args: ['100000', '3', '60', 'history=1000000', 'etcd=20000'],
    quickArgs: ['2000', '1', '1', 'history=2000', 'etcd=200'],
    minutes: 12,
    bars: [
      {
        what: 'restart with 100,000 deployments stored, until ready and a list answered, slowest start (s)',
        bar: '≤ 3.9',
        read: greatest(/^start \d+: .*first list answered after ([\d.]+) s/gm),
        isMet: atMost(3.9),
      },
      {
        what: 'its memory then, largest start (MiB)',
        bar: '≤ 520',
        read: greatest(/^start \d+: .*RSS (\d+) MiB/gm),
        isMet: atMost(520),
      },
      {
        what: 'its memory a minute later (MiB)',
        bar: '≤ 650',
        read: first(/^\d+ s later: RSS (\d+) MiB/m),
        isMet: atMost(650),
      },
      {
        what: 'processor time of a restart with 1,000,000 records of history, of one without',
        bar: '≤ 1.2',
        read: first(/^with history a start takes ([\d.]+) of the processor time/m),
        isMet: atMost(1.2),
      },
      {
        what: 'kill of a control plane with 20,000 deployments on etcd, until its successor has answered a list, slowest (s)',
        bar: '≤ 2',
        read: greatest(/^etcd, .*control plane killed: first list answered after ([\d.]+) s/gm),
        isMet: atMost(2),
      },
      {
        what: 'the same when etcd is killed, too, one with an election timeout of 300 ms (s)',
        bar: '≤ 2',
        read: greatest(/^etcd, .*both killed: first list answered after ([\d.]+) s/gm),
        isMet: atMost(2),
        limit:
          "etcd's own start, which takes nearly as long where no control plane waits for it (the lines `no control plane` and `empty etcd` of the run); what comes after it has a bar of its own",
      },
      {
        what: 'of that, from the moment etcd is well until the list (s)',
        bar: '≤ 1',
        read: greatest(/^etcd, .*both killed: .*and the list came ([\d.]+) s later/gm),
        isMet: atMost(1),
      },
    ],
  },
  {
    name: 'api',
    args: ['1', 'etcd'],
    quickArgs: ['0.3', 'etcd'],
    minutes: 8,
    bars: [
      {
        what: 'durable creates over HTTP, embedded store, 64 connections, of a bare handler that commits six rows as long',
        bar: '≥ 0.60',
        read: first(/^embedded create +64 conn.* ([\d.]+) of the bare one/m),
        isMet: atLeast(0.6),
        limit: LEAST,
      },
      {
        what: 'the same, p99, of that of the bare handler',
        bar: '≤ 2',
        read: first(/^embedded create +64 conn.* p99 x([\d.]+)/m),
        isMet: atMost(2),
        limit: LEAST,
      },
      {
        what: 'durable creates over HTTP on etcd, 64 at once, of raw puts from Node',
        bar: '≥ 0.50',
        read: first(/^raw etcd puts from Node +64 conc.* create is ([\d.]+) of it/m),
        isMet: atLeast(0.5),
        limit:
          'a bare handler that commits as much to etcd makes about 0.75 of them (`the bare one` in the same lines), so that the bar asks for two thirds of it; what is between is the processor time of the create itself, as on the embedded store',
      },
      {
        what: 'reads of one deployment, 64 connections, of a bare Fastify handler',
        bar: '≥ 0.80',
        read: first(/^embedded read +64 conn.* ([\d.]+) of the bare one/m),
        isMet: atLeast(0.8),
      },
      {
        what: 'processor time of a create one at a time, first 500 after a start, of warm ones',
        bar: '≤ 1.3',
        read: first(/^CPU of a create one at a time, Berth: .* first x([\d.]+) of warm/m),
        isMet: atMost(1.3),
        limit: ALONE,
      },
      {
        what: 'the same of a warm one, of one of 64 at once',
        bar: '≤ 1.5',
        read: first(/^CPU of a create one at a time, Berth: .* warm x([\d.]+) of one of 64/m),
        isMet: atMost(1.5),
        limit: ALONE,
      },
      {
        what: "the greater of these two factors, of the bare handler's",
        bar: '≤ 1.1',
        read: greatest(/(?<=^one at a time: of the bare .*)(\d\.\d+) \(/gm),
        isMet: atMost(1.1),
      },
    ],
  },
  {
    name: 'tls',
    args: ['0.5', '15'],
    quickArgs: ['0.1', '1'],
    minutes: 3,
    bars: [
      {
        what: 'reads with TLS of plain ones by processor time, 64 connections, of the same ratio of a bare Fastify handler',
        bar: '≥ 0.95',
        read: first(/^read: .* keeps ([\d.]+) of what/m),
        isMet: atLeast(0.95),
      },
    ],
  },
  {
    name: 'cores',
    args: ['20000', '9'],
    quickArgs: ['2000', '1'],
    minutes: 6,
    bars: [
      {
        what: "main thread's time of a read with TLS on 2 threads, of one with TLS on the main thread, 64 connections",
        bar: '≤ 0.60',
        read: first(/^read +TLS, 2 threads .* main thread ([\d.]+), all/m),
        isMet: atMost(0.6),
        limit:
          'threads take TLS off the main thread and nothing else: what is left is about a plain read (the next bar), and the line of plain reads says what part of one with TLS that is, in the same run',
      },
      {
        what: 'the same, of a plain one',
        bar: '≤ 1.1',
        read: first(/^read +TLS, 2 threads .* of plain: main thread ([\d.]+)/m),
        isMet: atMost(1.1),
        limit:
          'with two cores the client, the main thread and both threads share them: the line of a bare handler says what handing over the same bytes costs without a control plane, in the same run',
      },
    ],
  },
  {
    name: 'events',
    args: ['4', '5000', 'etcd'],
    quickArgs: ['1', '200', 'etcd'],
    minutes: 12,
    bars: [
      {
        what: 'cost of 100 readers of events at 50 creates/s, of a bare server that tells as many, embedded store',
        bar: '≤ 2',
        read: first(/^embedded: readers cost x([\d.]+)/m),
        isMet: atMost(2),
      },
      {
        what: 'the same, p99 of delivery',
        bar: '≤ 2',
        read: first(/^embedded: .* of the bare server's, p99 x([\d.]+)/m),
        isMet: atMost(2),
      },
      {
        what: 'cost of the same readers on etcd, of the same bare server',
        bar: '≤ 2',
        read: first(/^etcd: readers cost x([\d.]+)/m),
        isMet: atMost(2),
      },
      {
        what: "cost of the same readers with TLS, of as many watches of kube-apiserver's, dearer of both stores",
        bar: '≤ 0.7',
        read: greatest(/: readers cost x([\d.]+) of kube-apiserver's/gm),
        isMet: atMost(0.7),
        limit:
          'once everybody is warm, a bare server that writes bytes made once straight to its sockets with TLS takes about as much for its readers as kube-apiserver does for its watches (the lines of the bare servers): the bar asks for less than Node takes for the writes alone. With all readers, Berth takes less of a core than kube-apiserver in the same lines',
        peer: 'BENCH_KUBE_APISERVER',
      },
      {
        what: 'the same, p99 of delivery, slower of both stores',
        bar: '≤ 1',
        read: greatest(/of kube-apiserver's, p99 x([\d.]+)/gm),
        isMet: atMost(1),
        peer: 'BENCH_KUBE_APISERVER',
        limit:
          'the slowest hundredth of deliveries are those of creates that were answered as late: the same lines say after how long creates were answered, and how much later readers had the event. On etcd a create is one transaction and one sync of its log, and how long the slowest two of 200 take differs between rounds of the same server by more than a factor of two',
      },
    ],
  },
  {
    name: 'recovery',
    args: ['8'],
    quickArgs: ['1'],
    minutes: 2,
    bars: [
      {
        what: 'control plane killed and started again: a create answered, p50 (ms)',
        bar: '≤ 700',
        read: first(/a create answered after p50 (\d+) ms/),
        isMet: atMost(700),
      },
      {
        what: 'the same, its container running, p50 (ms)',
        bar: '≤ 1,500',
        read: first(/its container running after p50 (\d+) ms/),
        isMet: atMost(1500),
      },
    ],
  },
  {
    name: 'creates',
    args: ['1'],
    quickArgs: ['0.2'],
    minutes: 18,
    bars: [
      {
        what: 'durable creates over HTTP, embedded store, 64 connections, of Docker Swarm, of no replica and of one, the lesser',
        bar: '≥ 1.5',
        read: least(/^64 at once, .*Berth makes ([\d.]+) of Swarm/gm),
        isMet: atLeast(1.5),
      },
      {
        what: 'the same, 1 connection',
        bar: '≥ 1.0',
        read: least(/^ *1 at once, .*Berth makes ([\d.]+) of Swarm/gm),
        isMet: atLeast(1),
      },
      {
        what: 'the same, 64 connections, of Nomad',
        bar: '≥ 2',
        read: least(/^64 at once, .*Berth makes ([\d.]+) of Nomad/gm),
        isMet: atLeast(2),
        peer: 'BENCH_NOMAD',
      },
      {
        what: 'the same, 1 connection, of Nomad',
        bar: '≥ 1.5',
        read: least(/^ *1 at once, .*Berth makes ([\d.]+) of Nomad/gm),
        isMet: atLeast(1.5),
        peer: 'BENCH_NOMAD',
      },
      {
        what: 'durable creates with TLS on etcd, 64 connections, of kube-apiserver on the same etcd',
        bar: '≥ 2',
        read: first(/^64 at once, .*Berth makes ([\d.]+) of kube-apiserver/m),
        isMet: atLeast(2),
        peer: 'BENCH_KUBE_APISERVER',
      },
      {
        what: 'the same, 1 connection, of kube-apiserver',
        bar: '≥ 1.5',
        read: first(/^ *1 at once, .*Berth makes ([\d.]+) of kube-apiserver/m),
        isMet: atLeast(1.5),
        limit:
          'a bare handler that commits as much to an etcd of the same kind, with TLS, makes 1.6 to 2.0 of kube-apiserver (`a bare handler` in the same line): the bar asks for three quarters of it or more, and the least that a create is makes three quarters of the bare handler on the embedded store; kube-apiserver stores one record for a create, Berth six',
        peer: 'BENCH_KUBE_APISERVER',
      },
    ],
  },
  {
    name: 'etcd',
    args: ['2'],
    quickArgs: ['0.3'],
    minutes: 3,
    bars: [
      {
        what: 'guarded commits of five keys, of raw puts with the stock library, worst concurrency (%)',
        bar: '≥ 60',
        read: least(/commits: ([\d.]+) % of stock puts/g),
        isMet: atLeast(60),
      },
    ],
  },
  { name: 'cells', args: ['5', '3'], quickArgs: ['1', '1'], minutes: 4, bars: [] },
  { name: 'planes', args: ['5', '64'], quickArgs: ['1', '16'], minutes: 3, bars: [] },
  {
    name: 'secrets',
    args: [],
    quickArgs: ['100'],
    minutes: 2,
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
    args: ['10', '50'],
    quickArgs: ['3', '10'],
    minutes: 4,
    bars: [
      {
        what: 'agent at rest, after a cold start and after the load, more of the two (MiB)',
        bar: '< 80',
        read: greatest(/^agent at rest: ([\d.]+) MiB/gm),
        isMet: below(80),
      },
    ],
  },
  {
    name: 'engine',
    args: ['100'],
    quickArgs: ['10'],
    minutes: 9,
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
    minutes: 4,
    bars: [
      {
        what: "one deployment from POST to running, over the engine's own create and start, p50 (ms)",
        bar: '≤ 40',
        read: first(/^Berth .*: adds (-?[\d.]+) ms/m),
        isMet: atMost(40),
      },
    ],
  },
  {
    name: 'ingress',
    args: ['4', '7'],
    quickArgs: ['1', '1'],
    minutes: 4,
    bars: [
      {
        what: 'connections and requests through the ingress, of those through bare Caddy',
        bar: '≥ 0.95',
        read: least(/([\d.]+) of the bare one$/gm),
        isMet: atLeast(0.95),
      },
    ],
  },
  {
    name: 'volumes',
    args: [],
    quickArgs: [],
    minutes: 4,
    bars: [
      {
        what: 'write and fsync of a large file on a replicated volume, of the bare disk',
        bar: '≥ 0.85',
        read: first(/^write .* ratio ([\d.]+),/m),
        isMet: atLeast(0.85),
        limit: LARGE_FILE,
      },
      {
        what: 'the same, of that on the same file system without copies',
        bar: '≥ 0.85',
        read: first(/^write .* of that without copies ([\d.]+)/m),
        isMet: atLeast(0.85),
      },
      {
        what: 'fsync of a small append on it, p50, over that on the bare disk',
        bar: '≤ 2',
        read: first(/^fsync p50 .* ratio ([\d.]+),/m),
        isMet: atMost(2),
        limit: FILE_SYSTEM,
      },
      {
        what: 'the same, over that on the same file system without copies',
        bar: '≤ 1.2',
        read: first(/^fsync p50 .* without copies ([\d.]+)$/m),
        isMet: atMost(1.2),
      },
      {
        what: 'the same append, p99, over that on the bare disk',
        bar: '≤ 6',
        read: first(/^fsync p99 .* ratio ([\d.]+),/m),
        isMet: atMost(6),
        limit: SNAPSHOT,
      },
      {
        what: 'the same, over that with nothing but a snapshot a second',
        bar: '≤ 2',
        read: first(/^fsync p99 with nothing .* volume ([\d.]+) of it$/m),
        isMet: atMost(2),
      },
    ],
  },
  {
    name: 'agents',
    args: ['10000', '30'],
    quickArgs: ['200', '5'],
    minutes: 5,
    bars: [
      {
        what: 'control plane at rest (MiB)',
        bar: '< 100',
        read: first(/^RSS idle ([\d.]+) MiB/m),
        isMet: below(100),
      },
      {
        what: 'control plane with 10,000 connected agents (MiB)',
        bar: '< 350',
        read: first(/^RSS .*connected ([\d.]+) MiB/m),
        isMet: below(350),
      },
      {
        what: 'the same, share of one core (%)',
        bar: '< 15',
        read: first(/^CPU ([\d.]+) % of one core/m),
        isMet: below(15),
        limit:
          'sockets alone, with the same messages and signs of life and nothing behind them, take the share that the line `sockets alone` says: a write and a read of the kernel for each',
      },
      {
        what: 'why none of 10,000 nodes takes a deployment, a page of `explain` (kB)',
        bar: '≤ 50',
        read: first(/^explain on .* page of ([\d.]+) kB/m),
        isMet: atMost(50),
      },
    ],
  },
  {
    name: 'network',
    args: ['5'],
    quickArgs: ['1'],
    minutes: 5,
    bars: [
      {
        what: 'throughput through the mesh over bare wireguard-go',
        bar: '≥ 0.95',
        read: first(/^throughput, .* ratio ([\d.]+)/m),
        isMet: atLeast(0.95),
        limit: TUNNELS,
      },
      {
        what: 'the same, processor time of the tunnels for the same bytes',
        bar: '≤ 1.05',
        read: first(/^throughput, .* GiB, ([\d.]+) of the first/m),
        isMet: atMost(1.05),
      },
      {
        what: 'a file from a virtual address over one from the instance',
        bar: '≥ 0.95',
        read: first(/^a file, .* ratio ([\d.]+)/m),
        isMet: atLeast(0.95),
        limit: TUNNELS,
      },
      {
        what: 'the same, processor time of the tunnels for the same bytes',
        bar: '≤ 1.05',
        read: first(/^a file, .* GiB, ([\d.]+) of the first/m),
        isMet: atMost(1.05),
      },
      {
        what: "an instance that ended is in no node's answers (s)",
        bar: '≤ 2',
        read: first(/^an instance that ended .* after ([\d.]+) s/m),
        isMet: atMost(2),
      },
    ],
  },
  {
    name: 'cli',
    args: ['30'],
    quickArgs: ['3'],
    minutes: 2,
    bars: [
      {
        what: '`berth get deployments`, from start to end, p50 (ms)',
        bar: '≤ 120',
        read: first(/^berth get deployments, .* p50 ([\d.]+) ms/m),
        isMet: atMost(120),
      },
      {
        what: 'the same, nothing compiled before, p50 (ms)',
        bar: '≤ 250',
        read: first(/^without compiled code from before: p50 ([\d.]+) ms/m),
        isMet: atMost(250),
      },
    ],
  },
  {
    name: 'dashboard',
    args: ['5000', '500'],
    quickArgs: ['100', '60'],
    minutes: 4,
    bars: [
      {
        what: 'first visit, compressed (kB)',
        bar: '≤ 200',
        read: first(/^first load: ([\d.]+) kB/m),
        isMet: atMost(200),
      },
      {
        what: 'rows of 5,000 deployments on the screen after (ms)',
        bar: '≤ 300',
        read: first(/ deployments: rows after (\d+) ms/),
        isMet: atMost(300),
      },
      {
        what: 'frames while 5,000 deployments are scrolled, p99 (ms)',
        bar: '≤ 32',
        read: first(/ deployments: .* frame p50 [\d.]+ ms, p99 ([\d.]+) ms/),
        isMet: atMost(32),
      },
      {
        what: 'from a key or click to its result with 5,000 deployments, p95 (ms)',
        bar: '≤ 100',
        read: first(/^\d+ interactions: p50 \d+ ms, p95 (\d+) ms/m),
        isMet: atMost(100),
      },
      {
        what: 'findings of accessibility on all pages',
        bar: '0',
        read: first(/^accessibility: (\d+) findings/m),
        isMet: atMost(0),
      },
    ],
  },
  // The longest comes last: the others have their time whatever it takes.
  {
    name: 'growth',
    args: ['10000'],
    quickArgs: ['1000', 'nodes'],
    minutes: 20,
    bars: [
      {
        what: 'steepest growth of what one request costs, with tenants, nodes, deployments or instances (slope)',
        bar: '≤ 0.25',
        read: greatest(/slope of one (-?[\d.]+)$/gm),
        isMet: atMost(0.25),
      },
      {
        what: 'the same of what all of them cost (1: with their number; n·log n: 1.15)',
        bar: '≤ 1.15',
        read: greatest(/slope of all (-?[\d.]+)$/gm),
        isMet: atMost(1.15),
      },
    ],
  },
];
