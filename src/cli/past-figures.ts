import { formatBytes, parseDuration } from '../core/model/quantity.ts';
import { type Client, named } from './client.ts';
import type { Input } from './command.ts';
import { EXIT } from './exit-code.ts';
import { usage } from './failure.ts';
import { textOf } from './fields.ts';
import { outputFormat, printWhole } from './output.ts';
import type { Session } from './session.ts';
import { sparkline } from './sparkline.ts';
import { tableText } from './table.ts';

const AT_ONCE = 8;
const LEAST_MS = 60_000;
const MOST_MS = 86_400_000;
/** Of a line over time, in characters. */
const NARROWEST = 8;
const WIDEST = 60;
/** What stands beside the lines of a list, and beside the one of a single record. */
const BESIDE_LIST = 64;
const BESIDE_ONE = 40;

type Kind = 'deployments' | 'nodes';
type History = Awaited<ReturnType<typeof read>>;
type Figures = readonly (number | null)[];

const WORDS: Readonly<Record<string, Kind>> = {
  deployments: 'deployments',
  deployment: 'deployments',
  nodes: 'nodes',
  node: 'nodes',
};

function read(client: Client, kind: Kind, name: string, query: { since: string; step: string }) {
  return kind === 'nodes'
    ? client.record('GET /api/v1/nodes/{name}/history', { ...named(name), query })
    : client.record('GET /api/v1/deployments/{name}/history', { ...named(name), query });
}

/** `berth top --since`: of all, or of one. */
export async function pastFigures(
  session: Session,
  { parameters: [what = 'deployments', name], options }: Input,
  since: string,
): Promise<number> {
  const sinceMs = parseDuration(since) ?? 0;
  if (sinceMs < LEAST_MS || sinceMs > MOST_MS)
    throw usage(`--since ${since}: expected a duration from 1m to 24h, such as 6h`);
  if (what === 'instances')
    throw usage('there is no history of single instances', [`berth top deployments --since ${since}`]);
  const group = WORDS[what];
  if (group === undefined && name !== undefined)
    throw usage(`${what}: expected deployment or node before the name`, [
      `berth top ${what} --since ${since}`,
    ]);
  const one = group === undefined ? what : name;
  const { terminal } = session;
  const columns = terminal.columns - (one === undefined ? BESIDE_LIST : BESIDE_ONE);
  const width = Math.max(NARROWEST, Math.min(WIDEST, one === undefined ? Math.floor(columns / 2) : columns));
  const asked = { since, step: `${Math.ceil(sinceMs / width / 1000)}s` };
  const client = session.client(options);
  const format = outputFormat(options);
  const kind = group ?? 'deployments';
  if (one !== undefined) {
    const history = await read(client, kind, one, asked);
    if (!(await printWhole(terminal, format, history))) terminal.out(oneText(session, history));
    return EXIT.ok;
  }
  const histories = await readAll(client, kind, asked);
  if (!(await printWhole(terminal, format, histories))) terminal.out(listText(session, kind, histories));
  return EXIT.ok;
}

async function readAll(
  client: Client,
  kind: Kind,
  asked: Parameters<typeof read>[3],
): Promise<readonly History[]> {
  const records = await (kind === 'nodes'
    ? client.list('GET /api/v1/nodes')
    : client.list('GET /api/v1/deployments'));
  const names = records.map(({ name }) => textOf(name));
  const found: History[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE)
    found.push(
      ...(await Promise.all(names.slice(at, at + AT_ONCE).map((name) => read(client, kind, name, asked)))),
    );
  return found;
}

function known(figures: Figures | undefined): readonly number[] {
  return figures?.filter((one) => one !== null) ?? [];
}

/** A dash where nothing is known. */
function mean(figures: Figures | undefined, shown: (value: number) => string): string {
  const values = known(figures);
  return values.length === 0 ? '-' : shown(values.reduce((sum, one) => sum + one, 0) / values.length);
}

function most(figures: Figures | undefined, shown: (value: number) => string): string {
  const values = known(figures);
  return values.length === 0 ? '-' : shown(Math.max(...values));
}

function total(figures: Figures | undefined): string {
  const values = known(figures);
  return values.length === 0 ? '-' : String(values.reduce((sum, one) => sum + one, 0));
}

const cores = (value: number): string => value.toFixed(2);
const bytes = (value: number): string => formatBytes(Math.round(value));
const perSecond = (value: number): string => `${bytes(value)}/s`;
const whole = (value: number): string => String(Math.round(value));

function listText({ terminal }: Session, kind: Kind, histories: readonly History[]): string {
  return tableText(
    [kind === 'nodes' ? 'NODE' : 'DEPLOYMENT', 'CPU', 'MAX', '', 'MEMORY', 'MAX', '', 'FAILED'],
    histories.map((one) => [
      textOf(one.name),
      mean(one.cpuCores, cores),
      most(one.cpuCoresMax, cores),
      sparkline(one.cpuCores ?? []),
      mean(one.memoryBytes, bytes),
      most(one.memoryBytesMax, bytes),
      sparkline(one.memoryBytes ?? []),
      total(one.failures),
    ]),
    terminal.style,
    terminal.live ? terminal.columns : undefined,
  ).concat(note(histories));
}

function oneText({ terminal }: Session, one: History): string {
  const row = (title: string, figures: Figures | undefined, top: Figures | undefined, shown: typeof cores) =>
    known(figures).length === 0
      ? []
      : [[title, mean(figures, shown), most(top, shown), sparkline(figures ?? [])]];
  return tableText(
    ['', 'MEAN', 'MAX', `SINCE ${textOf(one.start).slice(0, 16).replace('T', ' ')} UTC`],
    [
      ...row('CPU (cores)', one.cpuCores, one.cpuCoresMax, cores),
      ...row('Memory', one.memoryBytes, one.memoryBytesMax, bytes),
      ...row('Received', one.receivedBytesPerSecond, one.receivedBytesPerSecond, perSecond),
      ...row('Sent', one.sentBytesPerSecond, one.sentBytesPerSecond, perSecond),
      ...row('Running', one.running, one.running, whole),
      ...row('Wanted', one.wanted, one.wanted, whole),
      ['Failed', '', total(one.failures), sparkline(one.failures ?? [])],
    ],
    terminal.style,
    terminal.live ? terminal.columns : undefined,
  ).concat(note([one]));
}

function note(histories: readonly History[]): string {
  const without = histories.filter(({ recorded }) => recorded === false);
  return [
    ...(without.length === 0
      ? []
      : [
          `Nothing is recorded yet of ${without.length} of ${histories.length}, or there is no room (limits.historyBytes).`,
        ]),
    ...(histories.some(({ partial }) => partial === true)
      ? ['A control plane did not answer: what its agents measured is missing.']
      : []),
  ]
    .map((line) => `${line}\n`)
    .join('');
}
