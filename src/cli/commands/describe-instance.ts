import type { OutputFormat } from '../command.ts';
import { standingOf } from '../../core/contract/instance-standing.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import type { Client } from '../client.ts';
import { indented, rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { findInstance } from '../instances.ts';
import { lastLogLines } from '../log-source.ts';
import { listText, printWhole } from '../output.ts';
import type { InstanceDetail } from '../records.ts';
import { EVENTS } from '../resources/events.ts';
import type { Session } from '../session.ts';
import { age } from '../table.ts';
import { failureText } from '../waiting.ts';

const LAST_LINES = 10;

export async function describeInstance(
  session: Session,
  client: Client,
  word: string,
  format: OutputFormat,
): Promise<number> {
  const { deployment, id, name } = await findInstance(client, word, 'look');
  const params = { params: { name: deployment, instance: id } };
  const record = await client.record('GET /api/v1/deployments/{name}/instances/{instance}', params);
  if (await printWhole(session.terminal, format, record)) return EXIT.ok;
  const { terminal } = session;
  const { style } = terminal;
  const now = session.now();
  terminal.out(`${style.bold(`instance/${name}`)}\n${rows(headOf(record, now))}`);
  const section = (title: string, text: string): void => {
    if (text !== '') terminal.out(`\n${style.bold(title)}\n${indented(text)}`);
  };
  section('Health checks', (record.checks ?? []).map((check) => `${checkText(check, now)}\n`).join(''));
  const failures = record.failures ?? [];
  section('Failures', failures.map((one) => `${age(one.at, now)} ago  ${failureText(one)}\n`).join(''));
  const query = { subject: `Instance/${id}`, since: textOf(record.createdAt) };
  const events = await client.list('GET /api/v1/events', { query });
  if (events.length > 0) section('Events', listText(terminal, EVENTS, events, 'table', now));
  // A node that does not answer has no output to give: the rest is shown all the same.
  const lines = record.node?.connected
    ? await lastLogLines(client, deployment, { instance: id, tail: LAST_LINES })
    : [];
  section('Last output', lines.map(({ text }) => `${text}\n`).join(''));
  terminal.out(`\n${session.next(nextFor(record, deployment, name))}\n`);
  return EXIT.ok;
}

function headOf(record: InstanceDetail, now: number): readonly (readonly [string, string])[] {
  const { usage, order, secrets = [] } = record;
  const ago = (at: unknown) => (age(at, now) === '' ? '' : `${age(at, now)} ago`);
  const ports = (record.ports ?? []).map(({ container, host }) => `${host} → ${container}`);
  return [
    ['id', textOf(record.id)],
    ['deployment', `${textOf(record.deployment)}${record.canary === true ? ', of its canary' : ''}`],
    ['node', nodeText(record, now)],
    ['state', stateText(record)],
    ['leaving', textOf(record.leaving)],
    ['asked for', order === undefined ? '' : `${textOf(order.kind)}, ${ago(order.at)}`],
    ['created', ago(record.createdAt)],
    ['started', ago(record.startedAt)],
    ['restarts', restartsText(record)],
    [
      'takes',
      usage === undefined
        ? ''
        : `${((usage.cpuPercent ?? 0) / 100).toFixed(2)} cores, ${formatBytes(usage.memoryBytes ?? 0)}`,
    ],
    ['address', textOf(record.address)],
    ['ports', ports.join(', ')],
    ['container', `${textOf(record.containerName)} ${textOf(record.containerId).slice(0, 12)}`.trim()],
    ['image', textOf(record.image)],
    ['runs', textOf(record.imageDigest)],
    [
      'spec',
      `${textOf(record.specHash).slice(0, 19)}, ${record.current === true ? 'the current one' : 'not the current one'}`,
    ],
    [
      'secrets',
      [
        `secretsVersion ${record.observedSecretsVersion ?? record.secretsVersion ?? 0}`,
        ...secrets.map(({ path, current }) => `${textOf(path)} version ${current ?? 0}`),
      ].join(', '),
    ],
  ];
}

function nodeText({ node, nodeId }: InstanceDetail, now: number): string {
  const engine =
    node?.engine === undefined ? '' : `, ${textOf(node.engine.kind)} ${textOf(node.engine.version)}`;
  const about = `${textOf(nodeId)}, agent ${textOf(node?.agentVersion) || 'unknown'}${engine}`;
  if (node?.status === 'ready') return about;
  const since = age(node?.lastSeenAt, now);
  return `${about}; it does not answer${since === '' ? '' : `, last seen ${since} ago`}: what follows was seen then`;
}

function stateText(record: InstanceDetail): string {
  const { state, health, nodeStatus, reason, message, exitCode } = record;
  const code = exitCode === undefined ? '' : `exit code ${exitCode}`;
  const seen = [textOf(state), textOf(health), textOf(reason), code, textOf(message)]
    .filter((word) => word !== '')
    .join(', ');
  return nodeStatus === undefined ? seen : `${standingOf(record).state}; seen last: ${seen}`;
}

function restartsText({ restarts = 0, healthRestarts = 0, attempt = 0 }: InstanceDetail): string {
  const parts = [
    restarts === 0 ? '' : `${restarts} after its container ended`,
    healthRestarts === 0 ? '' : `${healthRestarts} because it was unhealthy`,
    attempt === 0 ? '' : `its container was made anew ${attempt === 1 ? 'once' : `${attempt} times`}`,
  ];
  return parts.filter((part) => part !== '').join('; ') || 'none';
}

function checkText(check: NonNullable<InstanceDetail['checks']>[number], now: number): string {
  const [first = '', ...more] = textOf(check.output).split('\n');
  return `${age(check.at, now)} ago  exit code ${check.exitCode ?? 'unknown'}  ${first}${more.length === 0 ? '' : ' …'}`.trimEnd();
}

/** What a person would type now. */
function nextFor(record: InstanceDetail, deployment: string, name: string): string {
  if (record.node?.status !== 'ready') return `berth describe node ${textOf(record.nodeId)}`;
  if ((record.failures ?? []).length > 0)
    return `berth logs ${deployment} --instance ${textOf(record.id)} --previous`;
  const isWell = textOf(record.state) === 'running' && textOf(record.health) !== 'unhealthy';
  return isWell
    ? `berth logs ${deployment} --instance ${textOf(record.id)} -f`
    : `berth restart instance ${name}`;
}
