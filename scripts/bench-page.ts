import { spawnSync } from 'node:child_process';
import { cpus, machine as architecture, release, totalmem } from 'node:os';
import type { Bar, Bench } from '../bench/support/suite.ts';
import { besideOthers } from './bench-peers.ts';
import { ROOT } from './run.ts';

export interface Judged extends Pick<Bar, 'what' | 'bar' | 'limit'> {
  readonly value: number | undefined;
  readonly met: boolean;
}

export interface Result {
  readonly bench: Bench;
  readonly args: readonly string[];
  readonly seconds: number;
  /** Absent: it ended well. */
  readonly failure?: string;
  readonly lines: readonly string[];
  readonly bars: readonly Judged[];
}

export interface Run {
  readonly quick: boolean;
  readonly started: Date;
  readonly loadBefore: number;
  readonly results: readonly Result[];
}

export function verdict({ met, value }: Judged, quick: boolean): string {
  if (value === undefined) return 'no figure';
  if (quick) return 'too small';
  return met ? 'met' : 'missed';
}

export function figure({ value }: Judged): string {
  return value === undefined ? '-' : value.toLocaleString('en');
}

function git(...args: readonly string[]): string {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() ?? '';
}

function commit(): string {
  const hash = git('rev-parse', '--short=12', 'HEAD');
  if (hash === '') return 'unknown';
  return git('status', '--porcelain') === '' ? hash : `${hash} with changes`;
}

function machine({ started, loadBefore }: Run): readonly string[] {
  const [first] = cpus();
  return [
    '| | |',
    '|---|---|',
    `| Processor | ${first?.model ?? 'unknown'}, ${cpus().length} cores |`,
    `| Memory | ${(totalmem() / 2 ** 30).toFixed(1)} GiB |`,
    `| System | Linux ${release()} (${architecture()}), Node.js ${process.version} |`,
    `| Load before the run | ${loadBefore.toFixed(2)} (anything above 0.5 makes the figures doubtful) |`,
    `| Commit | ${commit()} |`,
    `| Date | ${started.toISOString()} |`,
  ];
}

function section({ bench, args, seconds, failure, lines }: Result): readonly string[] {
  const command = ['node', `bench/${bench.name}.ts`, ...args].join(' ');
  return [
    `## ${bench.name}`,
    '',
    `\`${command}\`, ${Math.round(seconds)} s${failure === undefined ? '' : `, **${failure}**`}`,
    '',
    '```text',
    ...lines,
    '```',
    '',
  ];
}

/** Of the bars that were missed. */
function limits(bars: readonly Judged[]): readonly string[] {
  const missed = bars.filter(({ met, value, limit }) => !met && value !== undefined && limit !== undefined);
  if (missed.length === 0) return [];
  return ['### What stands in the way', '', ...missed.map(({ what, limit }) => `- ${what}: ${limit}`), ''];
}

/** What became of every bar, on which machine, and what each benchmark said. */
export function page(run: Run): string {
  const { quick, results } = run;
  const bars = results.flatMap(({ bars: own }) => own);
  const met = bars.filter((one) => one.met).length;
  const rows = results.flatMap(({ bench, bars: own }) =>
    own.map(
      (one) =>
        `| ${one.what} | ${one.bar} | ${figure(one)} | ${verdict(one, quick)} | [${bench.name}](#${bench.name}) |`,
    ),
  );
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
    ...machine(run),
    '',
    quick ? '## Bars' : `## Bars: ${met} met, ${bars.length - met} not`,
    '',
    '| What | Bar | Seen | | Benchmark |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...(quick ? [] : limits(bars)),
    ...besideOthers(Object.fromEntries(results.map(({ bench, lines }) => [bench.name, lines.join('\n')]))),
    ...results.flatMap(section),
  ].join('\n');
}
