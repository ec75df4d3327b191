/** What the benchmarks printed of other systems that did the same in the same run: a row each, a column for each system. */

const COLUMNS = ['Berth', 'Docker Swarm', 'Nomad', 'kube-apiserver', 'bare server on Node'] as const;
type Column = (typeof COLUMNS)[number];

interface PeerRow {
  readonly what: string;
  readonly cells: Partial<Record<Column, string>>;
}

/** Output by the name of the benchmark. */
export type Outputs = Readonly<Record<string, string>>;

const NAMES: Readonly<Record<string, Column>> = {
  Berth: 'Berth',
  Swarm: 'Docker Swarm',
  Nomad: 'Nomad',
  'kube-apiserver': 'kube-apiserver',
  'a bare handler': 'bare server on Node',
};

const LINE = /^ *(\d+) at once, ([^:]+): (.*)$/gm;
const SIDE =
  /(Berth|Swarm|Nomad|kube-apiserver|a bare handler) (\d+)\/s, p50 [\d.]+ ms, p99 ([\d.]+) ms(?:, ([\d.]+) ms CPU)?/g;

/** What a system just does after its start is not compared. */
function creates(output: string): readonly PeerRow[] {
  return [...output.matchAll(LINE)].map(([, connections = '', how = '', rest = '']) => {
    const cells: PeerRow['cells'] = Object.fromEntries(
      [...rest.matchAll(SIDE)].map(([, name = '', rate, p99, cpu]) => [
        NAMES[name],
        `${Number(rate).toLocaleString('en')}/s · p99 ${p99} ms${cpu === undefined ? '' : ` · ${cpu} ms CPU`}`,
      ]),
    );
    return { what: `creates, ${connections} connection${connections === '1' ? '' : 's'}, ${how}`, cells };
  });
}

function starts(output: string): readonly PeerRow[] {
  const [, berth, swarm] = /Berth ([\d., ]+)\/s, Swarm ([\d., ]+)\/s/.exec(output) ?? [];
  if (berth === undefined) return [];
  return [
    {
      what: '100 instances from POST to running',
      cells: { Berth: `${berth}/s`, 'Docker Swarm': `${swarm}/s` },
    },
  ];
}

function latency(output: string): readonly PeerRow[] {
  const of = (name: string): string =>
    new RegExp(`^${name} +POST to running (p50 [\\d.]+ ms, p99 [\\d.]+ ms)`, 'm').exec(output)?.[1] ?? '';
  if (of('Berth') === '') return [];
  return [
    {
      what: 'one deployment from POST to running',
      cells: { Berth: of('Berth').replace(',', ' ·'), 'Docker Swarm': of('Swarm').replace(',', ' ·') },
    },
  ];
}

function readers(output: string): readonly PeerRow[] {
  const of = (name: string): string => {
    const [, core, p99] =
      new RegExp(
        `^${name}, 50 creates/s, 100 readers +([\\d.]+) % of a core +delivered after p50 [\\d.]+ ms +p99 ([\\d.]+) ms`,
        'm',
      ).exec(output) ?? [];
    return core === undefined ? '' : `${core} % of a core · p99 ${p99} ms`;
  };
  const cells = {
    Berth: of('etcd with TLS'),
    'kube-apiserver': of('kube-apiserver'),
    'bare server on Node': of('bare with TLS on etcd'),
  };
  return cells['kube-apiserver'] === ''
    ? []
    : [{ what: '50 creates/s with 100 readers of events, etcd and TLS', cells }];
}

/** A table with a heading; empty where no peer was there. */
export function besideOthers({
  creates: made = '',
  engine = '',
  latency: one = '',
  events = '',
}: Outputs): string[] {
  const rows = [...creates(made), ...starts(engine), ...latency(one), ...readers(events)];
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    '## Beside other systems',
    '',
    'Each row is one run in which the systems took turns under the same load. CPU is that of the programs themselves, without etcd; Berth starts anew beside each peer.',
    '',
    line(['', ...COLUMNS]),
    line(['', ...COLUMNS].map(() => '---')),
    ...rows.map(({ what, cells }) => line([what, ...COLUMNS.map((column) => cells[column] || '–')])),
    '',
  ];
}
