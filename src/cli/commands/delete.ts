import { type Client, deploymentPath, segment } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, usage } from '../failure.ts';
import { numberOf } from '../fields.ts';
import { resourceOf } from '../resources.ts';
import type { Session } from '../session.ts';
import { deleteVolume } from '../volumes.ts';

const DELETABLE = ['deployment', 'job', 'network', 'node', 'tenant', 'token', 'volume'] as const;

/** Where it is not simply gone. A volume is, once its nodes have removed the bytes. */
const DONE: Partial<Record<(typeof DELETABLE)[number], string>> = { token: 'revoked', volume: 'deleting' };

export const remove: CommandBody = {
  description: [
    'Deletes a record. A deployment is stopped on its nodes; its archive stays, so that berth archive can still show it. On a terminal you are asked first.',
  ],
  parameters: [
    { term: '<kind>', description: `One of: ${DELETABLE.join(', ')}.`, values: DELETABLE },
    { term: '<name...>', description: 'One or more names (tokens: ids).' },
  ],
  options: [{ flags: '-y, --yes', description: 'Do not ask.' }, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth delete deployment web', what: 'stop web and forget it' },
    { line: 'berth delete deployment web api --yes', what: 'two at once, in a script' },
  ],
  run: async (session, { parameters: [word = '', ...names], options }) => {
    const kind = DELETABLE.find((one) => resourceOf(word).aliases.includes(one));
    if (kind === undefined) throw usage(`${word} cannot be deleted`, [`one of: ${DELETABLE.join(', ')}`]);
    const client = session.client(options);
    await confirmDeletion(session, names.map((name) => `${kind}/${name}`).join(', '), options.flag('yes'));
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

export async function confirmDeletion(session: Session, what: string, yes: boolean): Promise<void> {
  if (yes || !session.terminal.interactive) return;
  const answer = await session.terminal.ask(`Delete ${what}? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new Failure('nothing was deleted', { exitCode: EXIT.usage });
}
