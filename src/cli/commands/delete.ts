import { type Client, named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { confirmDeletion, YES_OPTION } from '../confirmation.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { type Failure, usage } from '../failure.ts';
import type { OptionValues } from '../option-values.ts';
import { PLAN_OPTIONS, planQuery, showDeletion } from '../planned-change.ts';
import { resourceOf, RESOURCES } from '../resources/index.ts';
import { deleteSecret } from '../secret-path.ts';
import type { Session } from '../session.ts';
import { deleteVolume } from '../volumes.ts';

const DELETABLE = [
  'deployment',
  'job',
  'network',
  'node',
  'secret',
  'tenant',
  'token',
  'backup',
  'volume',
  'webhook',
] as const;

/** Where it is not simply gone. A volume is, once its nodes have removed the bytes. */
const DONE: Partial<Record<(typeof DELETABLE)[number], string>> = {
  token: 'revoked',
  volume: 'deleting',
};

export const remove: CommandBody = {
  description: [
    'Deletes a record. A deployment is stopped on its nodes; its archive stays, so that berth archive can still show it.',
  ],
  parameters: [
    { term: '<kind>', description: `One of: ${DELETABLE.join(', ')}.`, values: DELETABLE },
    {
      term: '[name...]',
      description: 'One or more names; ids of tokens and backups, paths of secrets.',
      names: 'kind',
    },
  ],
  options: [...PLAN_OPTIONS, YES_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth delete deployment web', what: 'stop web and forget it' },
    { line: 'berth delete deployment web --dry-run', what: 'what would be stopped; nothing is deleted' },
    { line: 'berth delete deployment web api --yes', what: 'two at once, in a script' },
  ],
  run: async (session, { parameters: [word = '', ...names], options }) => {
    if (names.length === 0) throw incomplete(word);
    const kind = DELETABLE.find((one) => resourceOf(word).aliases.includes(one));
    if (kind === undefined) throw usage(`${word} cannot be deleted`, [`one of: ${DELETABLE.join(', ')}`]);
    const client = session.client(options);
    const query = planQuery(options);
    if (Object.keys(query).length > 0) return deletePlanned(session, client, kind, names, options);
    await confirmDeletion(session, names.map((name) => `${kind}/${name}`).join(', '), options);
    for (const name of names) {
      await REMOVALS[kind](client, name);
      session.terminal.out(`${kind}/${name} ${DONE[kind] ?? 'deleted'}\n`);
    }
    return EXIT.ok;
  },
};

/** One deployment: of anything else there is no plan. */
async function deletePlanned(
  session: Session,
  client: Client,
  kind: string,
  [name = '', ...others]: readonly string[],
  options: OptionValues,
): Promise<ExitCode> {
  if (kind !== 'deployment' || others.length > 0)
    throw usage('--dry-run and --plan are for one deployment', ['berth delete deployment NAME --dry-run']);
  const query = planQuery(options);
  if (query.dryRun !== true) await confirmDeletion(session, `deployment/${name}`, options);
  const answer = await client.record('DELETE /api/v1/deployments/{name}', { ...named(name), query });
  if (query.dryRun === true)
    return showDeletion(session, name, answer, `berth delete deployment ${name} --yes`);
  session.terminal.out(`deployment/${name} deleted\n`);
  return EXIT.ok;
}

type Remove = (client: Client, name: string) => Promise<unknown>;

const REMOVALS: Readonly<Record<(typeof DELETABLE)[number], Remove>> = {
  // Guarded by the revision that was read: a deployment that changes at this moment is not deleted unseen.
  deployment: async (client, name) => {
    const { revision } = await client.record('GET /api/v1/deployments/{name}', named(name));
    return client.record('DELETE /api/v1/deployments/{name}', { ...named(name), ifMatch: revision });
  },
  job: (client, name) => client.record('DELETE /api/v1/jobs/{name}', named(name)),
  network: (client, name) => client.record('DELETE /api/v1/networks/{name}', named(name)),
  node: (client, name) => client.record('DELETE /api/v1/nodes/{name}', named(name)),
  secret: deleteSecret,
  tenant: (client, tenant) => client.record('DELETE /api/v1/tenants/{tenant}', { params: { tenant } }),
  token: (client, id) => client.record('DELETE /api/v1/tokens/{id}', { params: { id } }),
  backup: (client, id) => client.record('DELETE /api/v1/backups/{id}', { params: { id } }),
  volume: deleteVolume,
  webhook: (client, name) => client.record('DELETE /api/v1/webhooks/{name}', named(name)),
};

/** One word: a kind without a name, or a name where the kind belongs. */
function incomplete(word: string): Failure {
  const known = RESOURCES.find(({ name, aliases }) => name === word || aliases.includes(word));
  return known === undefined
    ? usage(`${word} is not a kind of record; the kind comes first, then the name`, [
        `berth delete deployment ${word}`,
        `kinds: ${DELETABLE.join(', ')}`,
      ])
    : usage(`which of the ${known.name}? The name comes after the kind`, [`berth get ${known.name}`]);
}
