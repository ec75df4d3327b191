import { setTimeout as pause } from 'node:timers/promises';
import { instanceName } from '../../core/model/instance-name.ts';
import { formatBytes, parseDuration } from '../../core/model/quantity.ts';
import { type Client, named } from '../client.ts';
import { type CommandBody, type Input, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat } from '../output.ts';
import { pastFigures } from '../past-figures.ts';
import type { Session } from '../session.ts';
import { tableText } from '../table.ts';

const WHAT = ['deployments', 'nodes', 'instances'] as const;
const AT_ONCE = 8;

interface Measured {
  readonly id: string;
  readonly deployment: string;
  readonly node: string;
  /** Percent of a core; absent: its agent has not measured it, or cannot be asked. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
}

export const top: CommandBody = {
  description: [
    'Shows how much processor and memory running instances take, as their agents measured it last: by deployment, by node or one by one. Processor is in cores.',
    'In a terminal it is drawn again and again; Ctrl-C ends it.',
    'With --since it prints the last hours once: of each deployment or node the mean and the most, and how it went, oldest first; of one of them all figures. A dot stands for a time of which nothing is known.',
  ],
  parameters: [
    {
      term: '[what]',
      description: `${WHAT.join(', ')}, or the name of a deployment. Default: deployments.`,
      values: WHAT,
    },
    { term: '[name]', description: 'With --since: one deployment, or one node.', names: 'kind' },
  ],
  options: [
    { flags: '--interval <duration>', description: 'How often it is drawn.', default: '3s' },
    { flags: '--once', description: 'Print it once.' },
    { flags: '--since <duration>', description: 'The figures since then, from 1m to 24h, e.g. 6h.' },
    {
      flags: '-o, --output <format>',
      description: 'With --since: table, json or yaml, the last two as the control plane has them.',
      default: 'table',
      values: ['table', 'json', 'yaml'],
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth top', what: 'deployments' },
    { line: 'berth top nodes', what: 'what each node is given to do' },
    { line: 'berth top web --once', what: 'the instances of web' },
    { line: 'berth top --since 6h', what: 'what deployments took in the last six hours' },
    { line: 'berth top nodes n1 --since 24h', what: 'all figures of a node' },
  ],
  run: async (session, input) => {
    const { options, parameters } = input;
    const since = options.text('since');
    if (since !== undefined) return pastFigures(session, input, since);
    if (parameters[1] !== undefined)
      throw usage(`${parameters[1]}: a second name goes with --since`, [`berth top ${parameters[1]}`]);
    if (outputFormat(options) !== 'table')
      throw usage('-o goes with --since', ['berth top --since 1h -o json']);
    const everyMs = parseDuration(options.text('interval') ?? '3s');
    if (everyMs === undefined || everyMs < 1000)
      throw usage('--interval: expected a duration of at least 1s');
    const { terminal } = session;
    const isLive = terminal.live && !options.flag('once');
    for (;;) {
      const text = await drawn(session, input);
      if (isLive) terminal.clearScreen();
      terminal.out(text);
      if (!isLive) return EXIT.ok;
      await pause(everyMs, undefined, { signal: session.interrupted });
    }
  },
};

async function drawn(
  session: Session,
  { parameters: [what = 'deployments'], options }: Input,
): Promise<string> {
  const client = session.client(options);
  const isGroup = what === 'deployments' || what === 'nodes';
  const measured = await measure(client, isGroup || what === 'instances' ? undefined : what);
  const { style, live } = session.terminal;
  const columns = live ? session.terminal.columns : undefined;
  if (!isGroup)
    return tableText(
      ['INSTANCE', 'DEPLOYMENT', 'NODE', 'CPU', 'MEMORY'],
      measured
        .toSorted((one, other) => (other.cpuPercent ?? 0) - (one.cpuPercent ?? 0))
        .map((one) => [instanceName(one.deployment, one.id), one.deployment, one.node, ...figures([one])]),
      style,
      columns,
    );
  const groups = Map.groupBy(measured, (one) => (what === 'nodes' ? one.node : one.deployment));
  return tableText(
    [what === 'nodes' ? 'NODE' : 'DEPLOYMENT', 'INSTANCES', 'CPU', 'MEMORY'],
    [...groups]
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([name, members]) => [name, String(members.length), ...figures(members)]),
    style,
    columns,
  );
}

function figures(members: readonly Measured[]): readonly [string, string] {
  const known = members.filter(({ cpuPercent }) => cpuPercent !== undefined);
  if (known.length === 0) return ['-', '-'];
  const cpu = known.reduce((sum, { cpuPercent = 0 }) => sum + cpuPercent, 0);
  const memory = known.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0);
  return [(cpu / 100).toFixed(2), formatBytes(memory)];
}

async function measure(client: Client, only: string | undefined): Promise<readonly Measured[]> {
  const names =
    only === undefined
      ? (await client.list('GET /api/v1/deployments')).map(({ name }) => textOf(name))
      : [only];
  const found: Measured[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const lists = await Promise.all(
      names
        .slice(at, at + AT_ONCE)
        .map((name) => client.list('GET /api/v1/deployments/{name}/instances', named(name))),
    );
    for (const one of lists.flat())
      if (one.state === 'running')
        found.push({
          id: textOf(one.id),
          deployment: textOf(one.deployment),
          node: textOf(one.nodeId),
          ...(one.usage?.cpuPercent === undefined ? {} : { cpuPercent: one.usage.cpuPercent }),
          ...(one.usage?.memoryBytes === undefined ? {} : { memoryBytes: one.usage.memoryBytes }),
        });
  }
  return found;
}
