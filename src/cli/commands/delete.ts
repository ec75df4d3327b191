import { type Client, deploymentPath, segment } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { confirmDeletion, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { type Failure, usage } from '../failure.ts';
import { numberOf } from '../fields.ts';
import { resourceOf, RESOURCES } from '../resources/index.ts';
import { deleteVolume } from '../volumes.ts';

const DELETABLE = ['deployment', 'job', 'network', 'node', 'tenant', 'token', 'backup', 'volume'] as const;

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
    { term: '[name...]', description: 'One or more names; ids of tokens and backups.' },
  ],
  options: [YES_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth delete deployment web', what: 'stop web and forget it' },
    { line: 'berth delete deployment web api --yes', what: 'two at once, in a script' },
  ],
  run: async (session, { parameters: [word = '', ...names], options }) => {
    if (names.length === 0) throw incomplete(word);
    const kind = DELETABLE.find((one) => resourceOf(word).aliases.includes(one));
    if (kind === undefined) throw usage(`${word} cannot be deleted`, [`one of: ${DELETABLE.join(', ')}`]);
    const client = session.client(options);
    await confirmDeletion(session, names.map((name) => `${kind}/${name}`).join(', '), options);
    for (const name of names) {
      await deleteOne(client, kind, name);
      session.terminal.out(`${kind}/${name} ${DONE[kind] ?? 'deleted'}\n`);
    }
    return EXIT.ok;
  },
};

async function deleteOne(client: Client, kind: (typeof DELETABLE)[number], name: string): Promise<void> {
  if (kind === 'volume') {
    await deleteVolume(client, name);
    return;
  }
  if (kind !== 'deployment') {
    await client.need({ method: 'DELETE', path: `/api/v1/${kind}s/${segment(name)}` });
    return;
  }
  // Guarded by what was looked at: a deployment that somebody changes at this moment is not deleted unseen.
  const stored = await client.record({ path: deploymentPath(name) });
  await client.need({ method: 'DELETE', path: deploymentPath(name), ifMatch: numberOf(stored, 'revision') });
}

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
