import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Bar, type Bench, BENCHES, NOT_MEASURED } from '../bench/support/suite.ts';
import { ROOT } from './run.ts';

/**
 * Every benchmark in order, and what became of the bars.
 *   npm run bench -- [--quick] [--only api,engine] [--out FILE]
 * A whole run is written to docs/benchmarks.md. With --quick or --only there is nothing to compare, and only --out writes.
 */
const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, only: { type: 'string' }, out: { type: 'string' } },
});
const quick = values.quick === true;
const PAGE = 'docs/benchmarks.md';
const DEADLINE_MS = 30 * 60_000;
const KILL_MS = 20_000;

interface Judged extends Pick<Bar, 'what' | 'bar'> {
  readonly value: number | undefined;
  readonly met: boolean;
}

interface Result {
  readonly bench: Bench;
  readonly args: readonly string[];
  readonly seconds: number;
  /** 0: it ended well. */
  readonly status: number;
  readonly lines: readonly string[];
  readonly bars: readonly Judged[];
}

function benchesOf(only: readonly string[] | undefined): readonly Bench[] {
  const listed = new Set(BENCHES.map(({ name }) => name));
  const others = readdirSync(join(ROOT, 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .filter((name) => !listed.has(name))
    .sort();
  const all = [...BENCHES, ...others.map((name) => ({ name, args: [], quickArgs: [], bars: [] }))];
  const unknown = only?.filter((name) => !all.some((bench) => bench.name === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(
      `no such benchmark: ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`,
    );
  return all.filter(({ name }) => only?.includes(name) ?? true);
}

/** A benchmark stops what it started when it is told to end; only after that it is killed. */
function endLater(child: ChildProcess): () => void {
  let kill: NodeJS.Timeout | undefined;
  const end = setTimeout(() => {
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
  }, DEADLINE_MS);
  return () => {
    clearTimeout(end);
    clearTimeout(kill);
  };
}

async function runBench(bench: Bench): Promise<Result> {
  const args = quick ? bench.quickArgs : bench.args;
  process.stdout.write(`── ${[bench.name, ...args].join(' ')}\n`);
  const begun = performance.now();
  const child = spawn(process.execPath, [join('bench', `${bench.name}.ts`), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = endLater(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  ended();
  const bars = bench.bars.map(({ what, bar, read, isMet }) => {
    const value = read(output);
    return { what, bar, value, met: value !== undefined && isMet(value) };
  });
  for (const one of bars) process.stdout.write(`   ${verdict(one)}: ${one.what}, ${figure(one)}\n`);
  const lines = output.split('\n').filter((line) => line.trim() !== '' && (bench.lines?.test(line) ?? true));
  return { bench, args, seconds: (performance.now() - begun) / 1000, status: code ?? 1, lines, bars };
}

function verdict({ met, value }: Judged): string {
  if (value === undefined) return 'no figure';
  if (quick) return 'too small';
  return met ? 'met' : 'missed';
}

function figure({ value, bar }: Judged): string {
  return `${value === undefined ? '-' : value.toLocaleString('en')} (bar ${bar})`;
}

function git(...args: readonly string[]): string {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() ?? '';
}

function commit(): string {
  const hash = git('rev-parse', '--short=12', 'HEAD');
  if (hash === '') return 'unknown';
  return git('status', '--porcelain') === '' ? hash : `${hash} with changes`;
}

function page(results: readonly Result[], started: Date, loadBefore: number): string {
  const rows = results.flatMap(({ bench, bars }) =>
    bars.map((one) => {
      const value = one.value === undefined ? '-' : one.value.toLocaleString('en');
      return `| ${one.what} | ${one.bar} | ${value} | ${verdict(one)} | [${bench.name}](#${bench.name}) |`;
    }),
  );
  const all = results.flatMap(({ bars }) => bars);
  const sections = results.flatMap(({ bench, args, seconds, status, lines }) => [
    `## ${bench.name}`,
    '',
    `\`node ${['bench/'.concat(bench.name, '.ts'), ...args].join(' ')}\`, ${Math.round(seconds)} s${status === 0 ? '' : `, **ended with status ${status}**`}`,
    '',
    '```text',
    ...lines,
    '```',
    '',
  ]);
  return [
    '# Benchmarks',
    '',
    '<!-- Written by `npm run bench`. -->',
    '',
    'Figures of one run on one machine: compare ratios, which are taken within a run, not rates of different machines.',
    ...(quick
      ? ['', '**Sizes of `--quick`: these figures show that the benchmarks work, and nothing else.**']
      : []),
    '',
    '| | |',
    '|---|---|',
    `| Processor | ${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores |`,
    `| Memory | ${(totalmem() / 2 ** 30).toFixed(1)} GiB |`,
    `| System | Linux ${release()}, Node.js ${process.version} |`,
    `| Load before the run | ${loadBefore.toFixed(2)} (anything above 0.5 makes the figures doubtful) |`,
    `| Commit | ${commit()} |`,
    `| Date | ${started.toISOString()} |`,
    '',
    quick
      ? '## Bars'
      : `## Bars: ${all.filter(({ met }) => met).length} met, ${all.filter(({ met }) => !met).length} not`,
    '',
    '| What | Bar | Seen | | Benchmark |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    'Not measured by any benchmark:',
    '',
    ...NOT_MEASURED.map((what) => `- ${what}`),
    '',
    ...sections,
  ].join('\n');
}

const started = new Date();
const [loadBefore = 0] = loadavg();
const results: Result[] = [];
for (const bench of benchesOf(values.only?.split(','))) results.push(await runBench(bench));

process.stdout.write('\n');
for (const { bench, bars } of results)
  for (const one of bars)
    process.stdout.write(`${verdict(one).padEnd(9)} ${bench.name.padEnd(10)} ${one.what}: ${figure(one)}\n`);
for (const what of NOT_MEASURED) process.stdout.write(`${'unknown'.padEnd(9)} ${'-'.padEnd(10)} ${what}\n`);
const out = values.out ?? (quick || values.only !== undefined ? undefined : PAGE);
if (out !== undefined) {
  writeFileSync(resolve(ROOT, out), page(results, started, loadBefore));
  process.stdout.write(`wrote ${out}\n`);
}
const broken = results.filter(
  ({ status, bars }) => status !== 0 || bars.some(({ value }) => value === undefined),
);
for (const { bench, status } of broken)
  process.stdout.write(
    `${bench.name} ${status === 0 ? 'left out a figure' : `ended with status ${status}`}\n`,
  );
process.exit(broken.length === 0 ? 0 : 1);
