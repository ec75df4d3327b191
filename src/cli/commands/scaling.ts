import { named } from '../client.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
  type OutputFormat,
} from '../command.ts';
import { confirmDeletion, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat, printWhole } from '../output.ts';
import { alterationLines, warningLines } from '../plan-view.ts';
import type { ScalingPolicy } from '../records.ts';
import type { Session } from '../session.ts';
import { wholeNumber } from './run.ts';

const NAME: Parameter = { term: '<name>', description: 'The deployment.', names: 'deployments' };

export function policyText(policy: Omit<ScalingPolicy, 'status'>): string {
  const bounds = `${textOf(policy.minReplicas)} to ${textOf(policy.maxReplicas)} instances`;
  return `${bounds} at ${textOf(policy.targetCpuPercent)} % CPU, cooldown ${textOf(policy.cooldown)}`;
}

/** What it last saw: a measurement, and why it does nothing when it does nothing. */
export function scalingStatusText(policy: ScalingPolicy): string {
  const state = textOf(policy.status?.state);
  if (state === '') return 'not reconciled yet';
  const percent = textOf(policy.status?.cpuPercent);
  const seen = percent === '' ? '' : `CPU ${percent} % (${textOf(policy.status?.measured)} measured), `;
  return `${state}: ${seen}${textOf(policy.status?.message)}`;
}

async function show(
  session: Session,
  name: string,
  policy: ScalingPolicy,
  format: OutputFormat,
): Promise<number> {
  if (!(await printWhole(session.terminal, format, policy)))
    session.terminal.out(`${name}: ${policyText(policy)}\n  ${scalingStatusText(policy)}\n`);
  return EXIT.ok;
}

const get: Subcommand = {
  name: 'get',
  summary: 'Show the scaling policy of a deployment',
  description: [
    'Shows the bounds and the target, what was measured last, and why the policy waits if it does.',
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth scaling get web', what: 'why does web not scale?' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const client = session.client(options);
    const policy = await client.record('GET /api/v1/deployments/{name}/scaling-policy', named(name));
    return show(session, name, policy, format);
  },
};

function percentOf(text: string): number {
  const value = Number(text.replace(/%$/, ''));
  if (text === '' || !Number.isFinite(value))
    throw usage(`--cpu ${text}: expected a number of per cent such as 70`);
  return value;
}

const set: Subcommand = {
  name: 'set',
  summary: 'Set the scaling policy of a deployment',
  description: [
    'Lets the control plane choose the number of instances between two bounds, so that each uses the given share of its CPU: of resources.limits.cpu, else of requests.cpu, else of one core. A policy is written whole; what is left out gets its default.',
  ],
  parameters: [NAME],
  options: [
    { flags: '--min <replicas>', description: 'Fewest instances. Default: 1.' },
    { flags: '--max <replicas>', description: 'Most instances.' },
    { flags: '--cpu <percent>', description: 'Share of its CPU that each instance is to use, 1 to 100.' },
    { flags: '--cooldown <duration>', description: 'Between two changes, such as 60s. Default: 60s.' },
    ...REMOTE_OPTIONS,
  ],
  examples: [{ line: 'berth scaling set web --min 2 --max 8 --cpu 70', what: 'two to eight instances' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const [min, max, cpu, cooldown] = ['min', 'max', 'cpu', 'cooldown'].map((option) => options.text(option));
    if (max === undefined || cpu === undefined) {
      throw usage('--max and --cpu are needed', [`berth scaling set ${name} --max 5 --cpu 70`]);
    }
    const written = await session.client(options).record('PUT /api/v1/deployments/{name}/scaling-policy', {
      ...named(name),
      body: {
        ...(min === undefined ? {} : { minReplicas: wholeNumber('--min', min) }),
        maxReplicas: wholeNumber('--max', max),
        targetCpuPercent: percentOf(cpu),
        ...(cooldown === undefined ? {} : { cooldown }),
      },
    });
    session.terminal.out(`deployment/${name} scales: ${policyText(written)}\n`);
    for (const line of alterationLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    for (const line of warningLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    return EXIT.ok;
  },
};

const remove: Subcommand = {
  name: 'delete',
  summary: 'Delete the scaling policy of a deployment',
  description: ['The number of instances stays as it is, and is yours again: see berth scale.'],
  parameters: [NAME],
  options: [YES_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth scaling delete web', what: 'choose the number by hand again' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const client = session.client(options);
    await confirmDeletion(session, `the scaling policy of deployment/${name}`, options);
    await client.record('DELETE /api/v1/deployments/{name}/scaling-policy', named(name));
    const { replicas = 0 } = await client.record('GET /api/v1/deployments/{name}', named(name));
    session.terminal.out(`deployment/${name} scales no more and stays at ${replicas}\n`);
    return EXIT.ok;
  },
};

export const scaling: CommandBody = {
  description: [
    'A scaling policy changes the number of instances with the CPU that they use, as measured by the agents. Every change is an event that names the measurement.',
  ],
  examples: [
    { line: 'berth scaling set web --min 2 --max 8 --cpu 70', what: 'two to eight instances' },
    { line: 'berth scaling get web', what: 'what it measured, and why it waits' },
  ],
  subcommands: [get, set, remove],
};
