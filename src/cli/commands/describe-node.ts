import type { OutputFormat } from '../command.ts';
import { meshStanding } from '../../core/contract/mesh-standing.ts';
import { type Client, named } from '../client.ts';
import { indented, printEvents, rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { adviceLines, meshPaths, PATHS, standingText } from '../mesh.ts';
import { listText, printWhole } from '../output.ts';
import type { Node } from '../records.ts';
import { instances as INSTANCES } from '../resources/deployments.ts';
import { nodes as NODES } from '../resources/nodes.ts';
import type { Session } from '../session.ts';

/** Columns that have a part of their own. */
const ELSEWHERE = new Set(['LABELS', 'SUBNET']);

export async function describeNode(
  session: Session,
  client: Client,
  name: string,
  format: OutputFormat,
): Promise<number> {
  const record = await client.record('GET /api/v1/nodes/{name}', named(name));
  if (await printWhole(session.terminal, format, record)) return EXIT.ok;
  const { terminal } = session;
  const { style } = terminal;
  const now = session.now();
  const head = NODES.columns
    .filter((column) => !ELSEWHERE.has(column.header))
    .map((column) => [column.header.toLowerCase(), column.cell(record, now)] as const);
  terminal.out(`${style.bold(`node/${name}`)}\n${rows(head)}`);
  const labels = Object.entries(record.labels ?? {});
  if (labels.length > 0)
    terminal.out(
      `\n${style.bold('Labels')}\n${labels.map(([key, value]) => `  ${key}=${String(value)}\n`).join('')}`,
    );
  terminal.out(`\n${style.bold('Network')}\n${await networkText(session, client, record)}`);
  const placed = (await client.list('GET /api/v1/deployments')).flatMap((deployment) =>
    (deployment.status?.instances ?? [])
      .filter((instance) => textOf(instance.nodeId) === name)
      .map((instance) => ({ deployment: textOf(deployment.name), ...instance })),
  );
  if (placed.length > 0)
    terminal.out(
      `\n${style.bold('Instances')}\n${indented(listText(terminal, INSTANCES, placed, 'table', now))}`,
    );
  await printEvents(session, client, `Node/${name}`, now);
  const cordoned = record.schedulable === false;
  const ready = textOf(record.status) === 'ready' ? 'berth apply -f FILE' : 'berth doctor';
  terminal.out(`\n${session.next(cordoned ? `berth node uncordon ${name}` : ready)}\n`);
  return EXIT.ok;
}

async function networkText({ terminal, now }: Session, client: Client, node: Node): Promise<string> {
  const { mesh } = node;
  const head = rows([
    ['subnet', textOf(mesh?.subnet)],
    ['port', mesh?.port === undefined ? '' : `UDP ${mesh.port} and ${mesh.port + 1}`],
    ['addresses', (mesh?.addresses ?? []).join(', ')],
    ['state', standingText(meshStanding(node))],
  ]);
  if ((mesh?.peers ?? []).length === 0) return head;
  const all = new Map((await client.list('GET /api/v1/nodes')).map((one) => [one.name, one]));
  const paths = meshPaths(node, all);
  const table = indented(listText(terminal, PATHS_HERE, paths, 'table', now()));
  const fixes = paths.flatMap(({ way }) => way.fix ?? []);
  return `${head}\n${table}${adviceLines(terminal.style, fixes)}`;
}

const PATHS_HERE = { ...PATHS, columns: PATHS.columns.filter(({ header }) => header !== 'FROM') };
