import { Session } from 'node:inspector/promises';

/** Longer is not asked of a control plane, whatever the report lasts. */
const LONGEST_MS = 30_000;
const SHORTEST_MS = 1000;
const INTERVAL_MICROS = 1000;

/** Where this thread spends its time, for DevTools (`.cpuprofile`): names of functions and files. */
export async function cpuProfile(forMs: number, pause: (ms: number) => Promise<void>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_MICROS });
    await session.post('Profiler.start');
    await pause(Math.min(Math.max(forMs, SHORTEST_MS), LONGEST_MS));
    const { profile } = await session.post('Profiler.stop');
    const { nodes, samples = [], timeDeltas = [], startTime, endTime } = profile;
    // A node to a line, so that what is looked through has no line without an end.
    const rows = nodes.map((node) => JSON.stringify(node)).join(',\n');
    return `{"startTime":${startTime},"endTime":${endTime},"nodes":[\n${rows}\n],\n"samples":[\n${numbers(samples)}\n],\n"timeDeltas":[\n${numbers(timeDeltas)}\n]}\n`;
  } finally {
    session.disconnect();
  }
}

function numbers(list: readonly number[]): string {
  const rows: string[] = [];
  for (let at = 0; at < list.length; at += 100) rows.push(list.slice(at, at + 100).join(','));
  return rows.join(',\n');
}
