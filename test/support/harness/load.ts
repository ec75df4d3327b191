import { inTier } from '../fault-tier.ts';

/**
 * Requests one after another, to one or several, and what became of them. One that fails is told with when it was, so that a test can say how
 * long something was away.
 *
 *     const load = await underLoad({ nginx: () => textOf(url) }, () => update());
 *     expect(load.failures).toEqual([]);
 */
export interface Failed {
  readonly asked: string;
  readonly beganMs: number;
  readonly problem: string;
}

export interface Load {
  readonly answered: number;
  readonly failures: readonly Failed[];
  /** Of all answers: their text, and how often. */
  readonly texts: ReadonlyMap<string, number>;
  /** One line for a person: of whom how many failed, and by what. */
  readonly figures: string;
}

export const DEADLINE_MS = 15_000;
const CLIENTS = 6;
/** The clients so ask every three milliseconds; without a pause, asking took more of the processors than what is asked. */
const PAUSE_MS = inTier({ usual: 20, long: 5 });

/** The clients are shared out among those that are asked. */
export async function underLoad(
  asked: Readonly<Record<string, () => Promise<string>>>,
  work: () => Promise<void>,
): Promise<Load> {
  const failures: Failed[] = [];
  const texts = new Map<string, number>();
  const counts = new Map<string, number>();
  let slowestMs = 0;
  const began = performance.now();
  let over = false;
  const client = async (name: string, ask: () => Promise<string>): Promise<void> => {
    while (!over) {
      const beganMs = Math.round(performance.now() - began);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const text = await ask().catch((error: unknown) => {
        failures.push({ asked: name, beganMs, problem: String(error) });
      });
      slowestMs = Math.max(slowestMs, Math.round(performance.now() - began - beganMs));
      if (text !== undefined) texts.set(text, (texts.get(text) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const names = Object.entries(asked);
  const each = Math.max(2, Math.round(CLIENTS / names.length));
  const clients = names.flatMap(([name, ask]) => Array.from({ length: each }, () => client(name, ask)));
  try {
    await work();
  } finally {
    over = true;
    await Promise.all(clients);
  }
  const answered = [...texts.values()].reduce((sum, count) => sum + count, 0);
  const figures = `${figuresOf(counts, failures)}; slowest ${slowestMs} ms`;
  return { answered, failures, texts, figures };
}

function figuresOf(counts: ReadonlyMap<string, number>, failures: readonly Failed[]): string {
  return [...counts]
    .map(([name, count]) => {
      const own = failures.filter(({ asked }) => asked === name);
      const problems = [...new Set(own.map(({ problem }) => problem.slice(0, 80)))];
      const began = own.map(({ beganMs }) => beganMs);
      const told =
        own.length === 0
          ? ''
          : ` within ${Math.max(...began) - Math.min(...began)} ms (${problems.join('; ').replaceAll('\n', ' ')})`;
      return `${name} ${own.length} of ${count}${told}`;
    })
    .join(', ');
}

export async function textOf(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) });
  const text = (await answer.text()).trim();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text.slice(0, 100)}`);
  return text;
}
