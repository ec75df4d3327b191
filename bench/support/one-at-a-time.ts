import { median, type Turn } from './turns.ts';

/** A system that was just started; `load` creates so many over so many connections. */
export interface Started {
  load(connections: number, amount: number): Promise<Turn>;
  stop(): Promise<void>;
}

const CONNECTIONS = 64;

export interface Lone {
  /** Processor time of a create, in milliseconds. */
  readonly first: number;
  readonly warm: number;
  readonly together: number;
  /** Medians of the ratios of the rounds. */
  readonly firstOfWarm: number;
  readonly warmOfTogether: number;
}

/**
 * What a lone create costs, of systems in turn: one of the first after a start, one of a system that has made twelve times as many, one
 * of many at once. Each round starts another to be measured cold, beside the warm one.
 */
export async function oneAtATime(
  systems: readonly (() => Promise<Started>)[],
  amount: number,
  rounds: number,
): Promise<readonly Lone[]> {
  const warm: Started[] = [];
  const seen = systems.map((): (readonly [number, number, number])[] => []);
  try {
    for (const start of systems) {
      const system = await start();
      warm.push(system);
      await system.load(CONNECTIONS, amount * 12);
    }
    for (let round = 0; round < rounds; round += 1)
      for (const [at, start] of systems.entries()) {
        const fresh = await start();
        const first = await fresh.load(1, amount);
        await fresh.stop();
        const lone = await warm[at]?.load(1, amount);
        const together = await warm[at]?.load(CONNECTIONS, amount * 4);
        seen[at]?.push([first.cpuMicros, lone?.cpuMicros ?? 0, together?.cpuMicros ?? 0]);
      }
  } finally {
    for (const { stop } of warm) await stop();
  }
  return seen.map((costs) => ({
    first: median(costs.map(([first]) => first)) / 1000,
    warm: median(costs.map(([, lone]) => lone)) / 1000,
    together: median(costs.map(([, , together]) => together)) / 1000,
    firstOfWarm: median(costs.map(([first, lone]) => first / lone)),
    warmOfTogether: median(costs.map(([, lone, together]) => lone / together)),
  }));
}
