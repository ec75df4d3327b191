import { isOneOf, isRecord } from '../../core/model/values.ts';
import { parseMemory } from '../../core/model/quantity.ts';
import { QUOTA_KINDS } from '../../core/model/quota.ts';
import type { Client, Json } from '../client.ts';
import { OUTPUT_OPTION, type Parameter, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import type { OptionValues } from '../option-values.ts';
import { outputFormat, printRecord } from '../output.ts';
import type { DeploymentWritten, Tenant } from '../records.ts';
import { resourceOf } from '../resources/index.ts';
import { storedText } from '../tenant-usage.ts';
import { wholeNumber } from './run.ts';

/** In the place of a value: the limit goes. */
const NONE = 'none';

/** What the flags change: a path in the quota and its value; null takes it away. */
type Changes = ReadonlyMap<string, number | null>;

function amount(flag: string, text: string): number {
  const bytes = parseMemory(text);
  if (bytes === undefined) throw usage(`${flag} ${text}: expected an amount such as 512Mi or 64Gi, or none`);
  return bytes;
}

function cores(flag: string, text: string): number {
  if (!/^\d{1,6}(?:\.\d{1,3})?$/.test(text))
    throw usage(`${flag} ${text}: expected a number of cores, e.g. 8 or 0.5, or none`);
  return Number(text);
}

const SINGLE = [
  ['containers', 'containers', wholeNumber],
  ['cpu', 'cpu', cores],
  ['memory', 'memoryBytes', amount],
  ['streams', 'streams', wholeNumber],
] as const;
const BY_KIND = [
  ['records', wholeNumber, 'deployments=500'],
  ['bytes', amount, 'archives=64Mi'],
] as const;

function changesOf(options: OptionValues): Changes {
  const changes = new Map<string, number | null>();
  for (const [flag, field, read] of SINGLE) {
    const text = options.text(flag);
    if (text !== undefined) changes.set(field, text === NONE ? null : read(`--${flag}`, text));
  }
  for (const [measure, read, example] of BY_KIND) {
    for (const text of options.list(measure)) {
      const at = text.indexOf('=');
      const kind = text.slice(0, Math.max(0, at));
      if (!isOneOf(QUOTA_KINDS, kind))
        throw usage(`--${measure} ${text}: expected kind=limit, e.g. ${example}`, [
          `kinds: ${QUOTA_KINDS.join(', ')}`,
        ]);
      const value = text.slice(at + 1);
      changes.set(`${measure}.${kind}`, value === NONE ? null : read(`--${measure} ${kind}`, value));
    }
  }
  return changes;
}

function changed(quota: Json, changes: Changes): Json {
  const next: Record<string, unknown> = { ...quota };
  for (const [path, value] of changes) {
    const [field = '', kind] = path.split('.');
    const before = next[field];
    next[field] =
      kind === undefined ? value : without({ ...(isRecord(before) ? before : {}), [kind]: value });
  }
  return without(next);
}

function without(limits: Json): Json {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
}

/** What is not named stays: read, changed and written back, unless another write came in between. */
async function change(client: Client, params: { readonly tenant: string }, changes: Changes) {
  const { body, etag } = await client.reply('GET /api/v1/tenants/{tenant}', { params });
  const quota = changed(body.quota ?? {}, changes);
  return client.record('PUT /api/v1/tenants/{tenant}/quota', { params, body: quota, ifMatch: etag });
}

export function quotaCommand(tenant: Parameter): Subcommand {
  return {
    name: 'quota',
    summary: "Show or change a tenant's quota",
    description: [
      'Without flags, shows the quota and what is stored. With flags, changes the limits that are named; the value none takes one away, and the others stay. A quota that is reached stops what would add and shrinks nothing.',
    ],
    parameters: [tenant],
    options: [
      { flags: '--containers <n>', description: 'Most containers at once.' },
      { flags: '--cpu <cores>', description: 'Most requested cores.' },
      { flags: '--memory <amount>', description: 'Most requested memory, e.g. 64Gi.' },
      {
        flags: '--records <kind=n>',
        description: `Most stored records of a kind. May be repeated. Kinds: ${QUOTA_KINDS.join(', ')}.`,
        repeatable: true,
      },
      {
        flags: '--bytes <kind=amount>',
        description: 'Most bytes of them, e.g. archives=64Mi. May be repeated.',
        repeatable: true,
      },
      { flags: '--streams <n>', description: 'Most event streams and followed logs at a time.' },
      { flags: '--none', description: 'No limits but those of the platform.' },
      OUTPUT_OPTION,
      ...REMOTE_OPTIONS.slice(0, 1),
    ],
    examples: [
      { line: 'berth tenant quota acme', what: 'what is set, and what is stored' },
      { line: 'berth tenant quota acme --containers 50 --memory 64Gi', what: 'these two; others stay' },
      {
        line: 'berth tenant quota acme --records deployments=500 --bytes archives=64Mi',
        what: 'what it may store',
      },
      { line: 'berth tenant quota acme --cpu none', what: 'no limit of cores any more' },
    ],
    run: async (session, { parameters: [slug = ''], options }) => {
      const format = outputFormat(options);
      const params = { tenant: slug };
      const changes = changesOf(options);
      if (options.flag('none') && changes.size > 0)
        throw usage('--none takes away every limit; do not give one with it');
      const client = session.client(options);
      const record: Tenant & Pick<DeploymentWritten, 'removed'> = options.flag('none')
        ? await client.record('PUT /api/v1/tenants/{tenant}/quota', { params, body: {} })
        : changes.size === 0
          ? await client.record('GET /api/v1/tenants/{tenant}', { params })
          : await change(client, params, changes);
      await printRecord(session.terminal, resourceOf('tenants'), record, format, session.now());
      if (format === 'table' || format === 'wide')
        session.terminal.out(storedText(record, session.terminal.style));
      const removed = record.removed ?? [];
      if (removed.length > 0) session.terminal.err(`no longer limited: ${removed.join(', ')}\n`);
      return EXIT.ok;
    },
  };
}
