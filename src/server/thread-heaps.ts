import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MIB = 2 ** 20;
/** For new objects: as `bin/berth` gives the main thread. */
const YOUNG_MIB = 48;

/**
 * How large the heap of a thread may become; unless said, as large as that of the main thread. A flag for the heap of the process (`bin/berth` gives one,
 * NODE_OPTIONS may) stands above this for every heap that is made while it is set. The main thread's is made, and keeps what the flag said.
 */
export function threadHeap(limits: ResourceLimits = {}): ResourceLimits {
  for (const flag of ['--max-old-space-size', '--max-semi-space-size']) setFlagsFromString(`${flag}=0`);
  const mainMib = Math.floor(getHeapStatistics().heap_size_limit / MIB);
  return { maxOldGenerationSizeMb: mainMib, maxYoungGenerationSizeMb: YOUNG_MIB, ...limits };
}
