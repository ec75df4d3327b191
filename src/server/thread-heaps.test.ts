import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, 'thread-heaps.ts');
const SERVER = import.meta.dirname;

/** In MiB, of a process with these flags: its own limit before and after it started two threads, and theirs. */
function limitsWith(flags: readonly string[]): readonly number[] {
  const script = `
    import { getHeapStatistics } from 'node:v8';
    import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    import { threadHeap } from ${JSON.stringify(SOURCE)};
    const own = () => Math.round(getHeapStatistics().heap_size_limit / 2 ** 20);
    const report = "require('node:worker_threads').parentPort.postMessage(Math.round(require('node:v8').getHeapStatistics().heap_size_limit / 2 ** 20))";
    const of = async (limits) => {
      const [mib] = await once(new Worker(report, { eval: true, execArgv: [], resourceLimits: threadHeap(limits) }), 'message');
      return mib;
    };
    const before = own();
    const small = await of({ maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 });
    const whole = await of();
    console.log(JSON.stringify([before, small, whole, own()]));
  `;
  const words = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '--eval', script];
  const environment = { ...process.env, NODE_OPTIONS: '' };
  const limits: number[] = JSON.parse(
    execFileSync(process.execPath, words, { env: environment, encoding: 'utf8' }),
  );
  return limits;
}

describe('the heap of a thread', () => {
  it.each([
    [[]],
    [['--max-old-space-size=700', '--max-semi-space-size=16']],
    // As bin/berth starts it.
    [['--max-old-space-size-percentage=50', '--max-semi-space-size=16']],
  ])('has its own limit, and the main thread keeps its own (%j)', (flags) => {
    const [before = 0, small = 0, whole = 0, after] = limitsWith(flags);
    expect(small).toBeLessThan(100);
    expect(whole).toBeGreaterThanOrEqual(before);
    expect(whole).toBeLessThan(before + 100);
    expect(after).toBe(before);
    if (flags[0] === '--max-old-space-size=700') expect(before).toBe(748);
  });

  it('is said wherever a thread is started', () => {
    const files = globSync('**/*.ts', { cwd: SERVER }).filter((name) => !name.endsWith('.test.ts'));
    const starting = files.filter((name) => readFileSync(join(SERVER, name), 'utf8').includes('new Worker('));
    expect(starting.length).toBeGreaterThan(3);
    const silent = starting.filter(
      (name) => !readFileSync(join(SERVER, name), 'utf8').includes('resourceLimits: threadHeap('),
    );
    expect(silent).toEqual([]);
  });
});
