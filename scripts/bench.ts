import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { arch } from 'node:process';
import { parseArgs } from 'node:util';
import { barsOf, type Bench, BENCHES } from '../bench/support/suite.ts';
import { removeEngineRemains } from '../test/support/harness/engine-remains.ts';
import { buildAll } from '../test/support/harness/built.ts';
import { removeWithMounts } from '../test/support/harness/mounts.ts';
import { figure, page, type Result, verdict } from './bench-page.ts';
import { ROOT } from './run.ts';

/**
 * Every benchmark in order, and what became of the bars.
 *   npm run bench -- [--quick] [--only api,engine] [--out FILE]
 * A whole run is written to docs/benchmarks.md, or beside it where the machine is none of x86-64. With --quick or --only there is nothing to compare, and only --out writes.
 * One that fails or takes too long is said to, and the others go on; so is the status then.
 */
const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, only: { type: 'string' }, out: { type: 'string' } },
});
const quick = values.quick === true;
const PAGE = arch === 'x64' ? 'docs/benchmarks.md' : `docs/benchmarks-${arch}.md`;
/** Of the whole run, 60 minutes beside two peers before `growth`, which comes last: what cannot begin in time is left out, and said to be. */
const WHOLE_MS = 90 * 60_000;
const LEAST_MS = 60_000;
const KILL_MS = 20_000;
const INTERRUPTED = 130;

const begun = performance.now();
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

function benchesOf(only: readonly string[] | undefined): readonly Bench[] {
  const unknown = only?.filter((name) => !BENCHES.some((bench) => bench.name === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(
      `no such benchmark: ${unknown.join(', ')}; there are ${BENCHES.map(({ name }) => name).join(', ')}`,
    );
  return BENCHES.filter(({ name }) => only?.includes(name) ?? true);
}

/** The benchmark and whatever it started that has not left its group of processes. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // Nothing of it is left.
  }
}

/** Told to end after its time, or when the run is; killed when it does not. */
async function ended(child: ChildProcess, deadlineMs: number): Promise<string | undefined> {
  let why: string | undefined;
  let kill: NodeJS.Timeout | undefined;
  const end = (reason: string): void => {
    if (why !== undefined) return;
    why = reason;
    signalGroup(child, 'SIGTERM');
    kill = setTimeout(() => signalGroup(child, 'SIGKILL'), KILL_MS);
  };
  const late = setTimeout(() => end(`ended after ${Math.round(deadlineMs / 60_000)} minutes`), deadlineMs);
  const interrupt = (): void => end('interrupted');
  stopping.signal.addEventListener('abort', interrupt);
  if (stopping.signal.aborted) interrupt();
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  stopping.signal.removeEventListener('abort', interrupt);
  clearTimeout(late);
  clearTimeout(kill);
  signalGroup(child, 'SIGKILL');
  return why ?? (code === 0 ? undefined : `ended with ${signal ?? `status ${code}`}`);
}

/** Engines are in groups and namespaces of their own; they are found by the folder that they were started in. */
async function cleanUp(folder: string): Promise<void> {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith('berth-engine-')))
    await removeEngineRemains(join(folder, name));
  removeWithMounts(folder);
}

async function runBench(bench: Bench, place: string, leftMs: number): Promise<Result> {
  const args = quick ? bench.quickArgs : bench.args;
  const minute = Math.round((performance.now() - begun) / 60_000);
  process.stdout.write(`── ${place} ${[bench.name, ...args].join(' ')} (minute ${minute})\n`);
  const start = performance.now();
  // Short: the sockets of engines are in it.
  const folder = mkdtempSync(join(tmpdir(), 'bb-'));
  let output = '';
  let failure: string | undefined;
  try {
    const child = spawn(process.execPath, [join('bench', `${bench.name}.ts`), ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
      env: { ...process.env, TMPDIR: folder },
    });
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
    });
    failure = await ended(child, Math.min(bench.minutes * 60_000, leftMs));
  } finally {
    await cleanUp(folder);
  }
  const bars = barsOf(bench).map(({ read, isMet, ...shown }) => {
    const value = read(output);
    return { ...shown, value, met: value !== undefined && isMet(value) };
  });
  for (const one of bars)
    process.stdout.write(`   ${verdict(one, quick)}: ${one.what}, ${figure(one)} (bar ${one.bar})\n`);
  if (failure === undefined && bars.some(({ value }) => value === undefined)) failure = 'left out a figure';
  if (failure !== undefined) process.stdout.write(`   FAILED: ${failure}\n`);
  const lines = output.split('\n').filter((line) => line.trim() !== '' && (bench.lines?.test(line) ?? true));
  return {
    bench,
    args,
    seconds: (performance.now() - start) / 1000,
    ...(failure === undefined ? {} : { failure }),
    lines,
    bars,
  };
}

function leftOut(bench: Bench): Result {
  const bars = barsOf(bench).map(({ what, bar }) => ({ what, bar, value: undefined, met: false }));
  process.stdout.write(`── ${bench.name} left out: the run has taken too long\n`);
  return { bench, args: bench.args, seconds: 0, failure: 'left out: no time was left', lines: [], bars };
}

// As an installation runs them: sources are read, and take memory, in another way.
buildAll();
const started = new Date();
const [loadBefore = 0] = loadavg();
const results: Result[] = [];
const chosen = benchesOf(values.only?.split(','));
for (const [at, bench] of chosen.entries()) {
  if (stopping.signal.aborted) break;
  const leftMs = WHOLE_MS - (performance.now() - begun);
  const place = `${at + 1}/${chosen.length}`;
  results.push(leftMs < LEAST_MS ? leftOut(bench) : await runBench(bench, place, leftMs));
}
if (stopping.signal.aborted) {
  process.stdout.write('interrupted: nothing is written\n');
  process.exit(INTERRUPTED);
}

process.stdout.write('\n');
for (const { bench, bars } of results)
  for (const one of bars)
    process.stdout.write(
      `${verdict(one, quick).padEnd(9)} ${bench.name.padEnd(10)} ${one.what}: ${figure(one)} (bar ${one.bar})\n`,
    );
const out = values.out ?? (quick || values.only !== undefined ? undefined : PAGE);
if (out !== undefined) {
  writeFileSync(resolve(ROOT, out), page({ quick, started, loadBefore, results }));
  process.stdout.write(`wrote ${out}\n`);
}
for (const { bench, failure } of results)
  if (failure !== undefined) process.stdout.write(`${bench.name}: ${failure}\n`);
process.exit(results.some(({ failure }) => failure !== undefined) ? 1 : 0);
