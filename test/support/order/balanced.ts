/** A file by itself: how long it takes, and how much of that on a processor. */
export interface Cost {
  readonly seconds: number;
  readonly ofProcessor: number;
}

export interface Machine {
  /** Files at a time. */
  readonly slots: number;
  readonly cores: number;
}

/** Of the cores: what is asked of them at most, so that none of the files has to wait for its turn. */
const WANTED = 0.95;
/** What a place in the order by length counts, beside a difference in load of a whole core. */
const LATER = 0.02;

const loadOf = ({ seconds, ofProcessor }: Cost): number => Math.min(ofProcessor / seconds, 1);

/**
 * The order in which files begin, so that those that compute run beside those that wait: the longest first would begin with all that
 * compute, which then wait for one another and miss their times, and leave a core idle in the end. Played through with the costs: whenever a
 * file ends, the next is a long one whose load fits best to those that run.
 */
export function balanced<T>(files: readonly T[], costOf: (file: T) => Cost, machine: Machine): readonly T[] {
  const { slots, cores } = machine;
  const waiting = files
    .map((file) => ({ file, left: costOf(file).seconds, load: loadOf(costOf(file)) }))
    .toSorted((one, other) => other.left - one.left);
  const running: typeof waiting = [];
  const order: T[] = [];
  const total = (): number => running.reduce((sum, { load }) => sum + load, 0);
  while (waiting.length > 0) {
    const fitting = (cores * WANTED - total()) / (slots - running.length);
    const misfit = waiting.map(({ load }, at) => Math.abs(load - fitting) + at * LATER);
    const [next] = waiting.splice(misfit.indexOf(Math.min(...misfit)), 1);
    if (next === undefined) break;
    order.push(next.file);
    running.push(next);
    if (running.length < slots) continue;
    const first = Math.min(...running.map(({ left }) => left));
    for (const each of running) each.left -= first;
    running.splice(0, running.length, ...running.filter(({ left }) => left > 0));
  }
  return order;
}
