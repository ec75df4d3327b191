import { canaryText } from './canary.ts';
import { policyText, scalingStatusText } from './scaling.ts';
import { boundsText } from '../../core/model/container-defaults.ts';
import { namesOf } from '../../core/contract/mesh-standing.ts';
import { type Client, named } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS, type OutputFormat } from '../command.ts';
import { indented, printEvents, rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { listText, outputFormat, printWhole, structuredText } from '../output.ts';
import type { Deployment } from '../records.ts';
import { instances as INSTANCES } from '../resources/deployments.ts';
import { resourceOf } from '../resources/index.ts';
import { SERVER_OWNED } from '../../core/contract/server-owned.ts';
import { JOB_RUNS } from '../resources/jobs.ts';
import type { Session } from '../session.ts';
import { age } from '../table.ts';
import { failureText } from '../waiting.ts';
import { describeInstance } from './describe-instance.ts';
import { describeNode } from './describe-node.ts';
import { describeTenant } from './describe-tenant.ts';
import { describeVolume } from './describe-volume.ts';

const notWritten = new Set<string>(SERVER_OWNED);

export const describe: CommandBody = {
  description: [
    'Shows a deployment, an instance, a job, a volume, a node or a tenant with everything around it: what is wanted, what is observed, the instances, what happened lately, and the command that is useful next.',
  ],
  parameters: [
    {
      term: '<kind>',
      description: 'deployment, instance, job, volume, node or tenant.',
      values: ['deployment', 'instance', 'job', 'volume', 'node', 'tenant'],
    },
    {
      term: '<name>',
      description:
        'Which one. An instance: its id, the deployment and the end of the id (web-k3n9x2af), or its place, oldest first (web-3).',
      names: 'kind',
    },
  ],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth describe deployment web', what: 'why is web not healthy?' },
    { line: 'berth describe instance web-3', what: 'what happens to this one?' },
    { line: 'berth describe volume pg-data', what: 'its copies, and what would be lost now' },
    { line: 'berth describe node berlin-1', what: 'what runs on it, and what it offers' },
    { line: 'berth describe tenant acme', what: 'its limits, and what it has stored' },
  ],
  run: async (session, { parameters: [kind = '', name = ''], options }) => {
    const format = outputFormat(options);
    const resource = resourceOf(kind);
    const client = session.client(options);
    if (resource.name === 'deployments') return describeDeployment(session, client, name, format);
    if (resource.name === 'instances') return describeInstance(session, client, name, format);
    if (resource.name === 'jobs') return describeJob(session, client, name, format);
    if (resource.name === 'nodes') return describeNode(session, client, name, format);
    if (resource.name === 'volumes') return describeVolume(session, client, name, format);
    if (resource.name === 'tenants') return describeTenant(session, client, name, format);
    throw usage(
      `describe shows deployments, instances, jobs, volumes, nodes and tenants, not ${resource.name}`,
      [`berth get ${resource.name} -o yaml`],
    );
  },
};

async function describeDeployment(
  session: Session,
  client: Client,
  name: string,
  format: OutputFormat,
): Promise<number> {
  const record = await client.record('GET /api/v1/deployments/{name}', named(name));
  if (await printWhole(session.terminal, format, record)) return EXIT.ok;
  const { terminal } = session;
  const { style } = terminal;
  const now = session.now();
  const spec = Object.fromEntries(Object.entries(record).filter(([key]) => !notWritten.has(key)));
  const instances = await client.attempt('GET /api/v1/deployments/{name}/instances', named(name));
  const observed = instances.ok ? instances.body : (record.status?.instances ?? []);
  const policy = await client.recordUnless(
    ['scaling_policy_not_found'],
    'GET /api/v1/deployments/{name}/scaling-policy',
    named(name),
  );
  const running = record.status?.canary;
  const head: readonly (readonly [string, string])[] = [
    ['phase', `${textOf(record.status?.phase)}  ${textOf(record.status?.message)}`],
    [
      'instances',
      (['desired', 'placed', 'running', 'healthy', 'updated'] as const)
        .map((count) => `${record.status?.[count] ?? 0} ${count}`)
        .join(', '),
    ],
    ['revision', `${textOf(record.revision)}, spec ${textOf(record.specHash).slice(0, 19)}`],
    ['runs', textOf(record.imageDigest)],
    ['address', addressText(record)],
    [
      'rotation',
      `secretsVersion ${textOf(record.secretsVersion) || '0'}, next phase: ${textOf(record.status?.rotation?.next)}`,
    ],
    ['bounded by', boundsText(record.containerDefaults ?? {})],
    ['scaling', policy === undefined ? '' : `${policyText(policy)}  ${scalingStatusText(policy)}`],
    ['canary', running === undefined ? '' : canaryText({ ...running, status: running })],
    [
      'changed',
      `${age(textOf(record.updatedAt), now)} ago, created ${age(textOf(record.createdAt), now)} ago`,
    ],
  ];
  terminal.out(`${style.bold(`deployment/${textOf(record.name)}`)}\n${rows(head)}\n${style.bold('Spec')}\n`);
  terminal.out(indented(await structuredText('yaml', spec)));
  if (observed.length > 0) {
    terminal.out(
      `\n${style.bold('Instances')}\n${indented(
        listText(
          terminal,
          INSTANCES,
          observed.map((instance) => ({ deployment: name, ...instance })),
          'table',
          now,
        ),
      )}`,
    );
  }
  const failed = await client.attempt('GET /api/v1/deployments/{name}/failures', named(name));
  const kept = failed.ok ? failed.body : [];
  if (kept.length > 0) {
    const lines = kept.map((one) => `${age(textOf(one.at), now)} ago  ${failureText(one)}\n`);
    terminal.out(`\n${style.bold('Failures')}\n${indented(lines.join(''))}`);
  }
  await printEvents(session, client, `Deployment/${textOf(record.name)}`, now);
  terminal.out(`\n${session.next(nextCommand(record, kept.length > 0))}\n`);
  return EXIT.ok;
}

/** The address that stays, and the names that containers of the tenant ask for. */
function addressText({ name, status }: Deployment): string {
  const address = textOf(status?.virtualAddress);
  if (address === '') return '';
  const { own, instances } = namesOf(textOf(name));
  return `${address}, by the names ${textOf(name)} and ${own}; every instance: ${instances}`;
}

/** What a person would type now. */
export function nextCommand(record: Deployment, hasFailed = false): string {
  const name = textOf(record.name);
  if (textOf(record.status?.phase) === 'Running' && record.status?.canary !== undefined)
    return `berth canary promote ${name} · berth canary abort ${name}`;
  switch (textOf(record.status?.phase)) {
    case 'Pending':
    case 'Waiting':
      return `berth explain ${name}`;
    case 'Progressing':
      return `berth rollout status ${name}`;
    case 'Degraded':
      return `berth logs ${name} ${hasFailed ? '--previous' : '--tail 50'}`;
    case 'Stopped':
      return `berth scale ${name} 1`;
    default:
      return `berth logs ${name} -f`;
  }
}

const SHOWN_FAILURES = 10;

function nextJobCommand(name: string, state: string): string {
  if (['Pending', 'Running', 'Retrying'].includes(state)) return `berth job logs ${name} -f`;
  return state === 'Failed' ? `berth job logs ${name} --previous` : `berth job run ${name}`;
}

async function describeJob(
  session: Session,
  client: Client,
  name: string,
  format: OutputFormat,
): Promise<number> {
  const record = await client.record('GET /api/v1/jobs/{name}', named(name));
  if (await printWhole(session.terminal, format, record)) return EXIT.ok;
  const { terminal } = session;
  const { style } = terminal;
  const now = session.now();
  const spec = Object.fromEntries(Object.entries(record).filter(([key]) => !notWritten.has(key)));
  const runs = record.status?.runs ?? [];
  const head = [
    ['phase', `${textOf(record.status?.phase)}  ${textOf(record.status?.message)}`],
    ['next run', textOf(record.status?.nextRunAt)],
    ['runs', textOf(record.imageDigest)],
    ['bounded by', boundsText(record.containerDefaults ?? {})],
    ['created', `${age(textOf(record.createdAt), now)} ago`],
  ] as const;
  terminal.out(`${style.bold(`job/${name}`)}\n${rows(head)}\n${style.bold('Spec')}\n`);
  terminal.out(indented(await structuredText('yaml', spec)));
  if (runs.length > 0)
    terminal.out(`\n${style.bold('Runs')}\n${indented(listText(terminal, JOB_RUNS, runs, 'table', now))}`);
  const failed = runs.flatMap(({ id, failures = [] }) =>
    failures
      .toReversed()
      .map(
        (one) =>
          `${age(textOf(one.at), now)} ago  ${textOf(id)}, attempt ${one.attempt ?? 0} on ${textOf(one.nodeId)}: ${textOf(one.message)}\n`,
      ),
  );
  if (failed.length > 0)
    terminal.out(`\n${style.bold('Failures')}\n${indented(failed.slice(0, SHOWN_FAILURES).join(''))}`);
  await printEvents(session, client, `Job/${name}`, now);
  terminal.out(`\n${session.next(nextJobCommand(name, textOf(runs[0]?.state)))}\n`);
  return EXIT.ok;
}
