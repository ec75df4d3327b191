import { type CommandBody, OUTPUT_OPTION, type Parameter, REMOTE_OPTIONS } from '../command.ts';
import { rows } from '../describing.ts';
import type { OptionValues } from '../option-values.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat, printRecord } from '../output.ts';
import type { Tenant } from '../records.ts';
import { deleteCommand, listCommand } from '../record-commands.ts';
import { resourceOf } from '../resources/index.ts';
import { wholeNumber } from './run.ts';
import { imagePolicyCommand } from './tenant-image-policy.ts';
import { quotaCommand } from './tenant-quota.ts';

const SLUG: Parameter = { term: '<tenant>', description: 'Slug or UUID of the tenant.', names: 'tenants' };
const CONTEXT = REMOTE_OPTIONS.slice(0, 1);

export const tenant: CommandBody = {
  description: [
    'Tenants share a control plane and nothing else: each has its own nodes, deployments, secrets and tokens. Only a platform administrator manages them.',
  ],
  examples: [
    { line: 'berth tenant create acme', what: 'a new tenant' },
    { line: 'berth token create --tenant acme --name ops --role tenant-admin', what: 'then its first token' },
  ],
  subcommands: [
    listCommand(
      'tenants',
      {
        summary: 'List tenants',
        description: ['Lists tenants with their quotas.'],
        examples: [{ line: 'berth tenant list', what: 'every tenant' }],
      },
      CONTEXT,
    ),
    {
      name: 'create',
      summary: 'Create a tenant',
      description: ['Creates a tenant. It has no nodes and no tokens yet.'],
      parameters: [
        {
          term: '<slug>',
          description: 'Lowercase letters, digits and hyphens; used in commands and network names.',
        },
      ],
      options: [
        { flags: '--name <text>', description: 'Display name. Default: the slug.' },
        OUTPUT_OPTION,
        ...CONTEXT,
      ],
      examples: [{ line: 'berth tenant create acme --name "Acme Ltd"', what: 'with a display name' }],
      run: async (session, { parameters: [slug = ''], options }) => {
        const format = outputFormat(options);
        const name = options.text('name');
        const made = await session.client(options).record('POST /api/v1/tenants', {
          body: { slug, ...(name === undefined ? {} : { name }) },
        });
        if (format === 'table') session.terminal.out(`tenant/${slug} created (${textOf(made.id)})\n`);
        else await printRecord(session.terminal, resourceOf('tenants'), made, format, session.now());
        session.terminal.err(`next: berth token create --tenant ${slug} --name ops --role tenant-admin\n`);
        return EXIT.ok;
      },
    },
    deleteCommand({
      kind: 'tenant',
      parameter: SLUG,
      remove: (client, slug) =>
        client.record('DELETE /api/v1/tenants/{tenant}', { params: { tenant: slug } }),
      and: 'its tokens, history and secrets',
      target: CONTEXT,
      summary: 'Delete a tenant that has nothing left',
      description: [
        'Deletes a tenant with its tokens, history and secrets. Refused while it has deployments, nodes or volumes.',
      ],
      examples: [{ line: 'berth tenant delete acme', what: 'after its deployments and nodes are gone' }],
    }),
    imagePolicyCommand(SLUG),
    quotaCommand(SLUG),
    {
      name: 'defaults',
      summary: 'Show or replace what bounds the containers of a tenant',
      description: [
        'Without flags, shows what new containers are bounded by where their workload does not say. With flags, replaces it whole: what is not given is that of the platform. Containers that run keep what they were made with.',
      ],
      parameters: [SLUG],
      options: [
        {
          flags: '--memory <amount>',
          description: 'Memory limit of workloads without one, e.g. 512Mi or 90%.',
        },
        { flags: '--pids <n>', description: 'Most processes and threads.' },
        { flags: '--cpu-weight <n>', description: 'Share of a busy processor, 1 to 10000.' },
        { flags: '--log-size <amount>', description: 'What is kept of the output, e.g. 30M.' },
        { flags: '--none', description: 'Those of the platform.' },
        OUTPUT_OPTION,
        ...CONTEXT,
      ],
      examples: [
        { line: 'berth tenant defaults acme', what: 'what applies, and what of it is set for this tenant' },
        {
          line: 'berth tenant defaults acme --memory 512Mi --pids 1024',
          what: 'these two, the rest as the platform has it',
        },
      ],
      run: async (session, { parameters: [slug = ''], options }) => {
        const format = outputFormat(options);
        const client = session.client(options);
        const params = { tenant: slug };
        const body = defaultsOf(options);
        const record: Pick<Tenant, 'containerDefaults'> =
          body === undefined
            ? await client.record('GET /api/v1/tenants/{tenant}', { params })
            : await client.record('PUT /api/v1/tenants/{tenant}/container-defaults', { params, body });
        if (format !== 'table') {
          await printRecord(session.terminal, resourceOf('tenants'), record, format, session.now());
          return EXIT.ok;
        }
        const set = record.containerDefaults?.set ?? {};
        const effective = record.containerDefaults?.effective ?? {};
        session.terminal.out(
          rows(
            Object.entries(effective).map(([field, value]) => [
              field,
              `${String(value)}${Object.hasOwn(set, field) ? '' : '  (platform)'}`,
            ]),
          ),
        );
        return EXIT.ok;
      },
    },
  ],
};

function defaultsOf(options: OptionValues): Readonly<Record<string, string | number>> | undefined {
  const memory = options.text('memory');
  const pids = options.text('pids');
  const cpuWeight = options.text('cpuWeight');
  const logSize = options.text('logSize');
  const isGiven = [memory, pids, cpuWeight, logSize].some((value) => value !== undefined);
  if (options.flag('none')) {
    if (isGiven) throw usage('--none goes back to what the platform has; do not give a value with it');
    return {};
  }
  if (!isGiven) return undefined;
  return {
    ...(memory === undefined ? {} : { memory }),
    ...(pids === undefined ? {} : { pids: wholeNumber('--pids', pids) }),
    ...(cpuWeight === undefined ? {} : { cpuWeight: wholeNumber('--cpu-weight', cpuWeight) }),
    ...(logSize === undefined ? {} : { logSize }),
  };
}
