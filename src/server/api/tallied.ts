import { Counter, Histogram, type Registry } from 'prom-client';

interface Described<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly registry: Registry;
}

type Labels<L extends string> = Readonly<Record<L, string>>;

/** The library looks its labels up with every figure; these are looked up once, added to plain numbers, and read when somebody asks. */
export function talliedCounter<L extends string>({
  registry,
  ...described
}: Described<L>): (labels: Labels<L>) => () => void {
  const tallies: { readonly labels: Labels<L>; count: number }[] = [];
  new Counter<L>({
    ...described,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of tallies) this.inc(labels, count);
    },
  });
  return (labels) => {
    const tally = { labels, count: 0 };
    tallies.push(tally);
    return () => {
      tally.count += 1;
    };
  };
}

interface Tally<L extends string> {
  readonly labels: Labels<L>;
  /** By bucket; the last is of what is beyond all of them. */
  readonly counts: number[];
  sum: number;
}

class TalliedHistogram<L extends string> extends Histogram<L> {
  readonly #bounds: readonly number[];
  readonly #described: Pick<Described<L>, 'name' | 'help'>;
  readonly #tallies: Tally<L>[] = [];

  constructor({ registry, ...described }: Described<L>, buckets: readonly number[]) {
    super({ ...described, buckets: [...buckets], registers: [registry] });
    this.#bounds = buckets;
    this.#described = described;
  }

  tally(labels: Labels<L>): (value: number) => void {
    const tally = { labels, counts: [...this.#bounds.map(() => 0), 0], sum: 0 };
    this.#tallies.push(tally);
    return (value) => {
      let at = 0;
      for (let bound = this.#bounds[at]; bound !== undefined && value > bound; bound = this.#bounds[at])
        at += 1;
      tally.counts[at] = (tally.counts[at] ?? 0) + 1;
      tally.sum += value;
    };
  }

  /** What the registry and `get` ask for. */
  async getForPromString() {
    const values = this.#tallies.flatMap((tally) => this.#values(tally));
    return {
      name: this.#described.name,
      help: this.#described.help,
      type: 'histogram',
      aggregator: 'sum',
      values,
    };
  }

  #values({ labels: sharedLabels, counts, sum }: Tally<L>) {
    const { name } = this.#described;
    let count = 0;
    const buckets = counts.map((more, at) => {
      count += more;
      const le = this.#bounds[at] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
    ];
  }
}

export function talliedHistogram<L extends string>(
  described: Described<L>,
  buckets: readonly number[],
): (labels: Labels<L>) => (value: number) => void {
  const histogram = new TalliedHistogram(described, buckets);
  return (labels) => histogram.tally(labels);
}
