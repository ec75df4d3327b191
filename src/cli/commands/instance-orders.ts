import { INSTANCE_SIGNALS } from '../../core/model/stop.ts';
import { type CommandBody, type Input, type Parameter, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { findInstance } from '../instances.ts';
import { warningLines } from '../plan-view.ts';
import type { Session } from '../session.ts';

const INSTANCE: Parameter = {
  term: '<instance>',
  description: 'Its id, or the deployment and the end of the id: web-k3n9x2af (berth get instances).',
  names: 'instances',
};

/** Told to its agent at once; what becomes of it is in its events. */
export async function order(
  session: Session,
  { options }: Pick<Input, 'options'>,
  kind: 'restart' | 'stop',
  word: string,
): Promise<number> {
  const client = session.client(options);
  const { deployment, id, name } = await findInstance(client, word, 'order');
  const params = { params: { name: deployment, instance: id } };
  const answer =
    kind === 'restart'
      ? await client.record('POST /api/v1/deployments/{name}/instances/{instance}/restart', params)
      : await client.record('POST /api/v1/deployments/{name}/instances/{instance}/stop', params);
  told(
    session,
    name,
    answer,
    kind === 'restart' ? `berth describe instance ${name}` : `berth get instances ${deployment}`,
  );
  return EXIT.ok;
}

function told(
  session: Session,
  name: string,
  answer: Parameters<typeof warningLines>[0] & { readonly message?: string | undefined },
  next: string,
): void {
  const { terminal } = session;
  terminal.out(`instance/${name}: ${textOf(answer.message)}\n`);
  for (const line of warningLines(answer, terminal.style)) terminal.err(`${line}\n`);
  terminal.out(`${session.next(next)}\n`);
}

export const stop: CommandBody = {
  description: [
    'Ends one instance at once, by the rule of its stop signal. Its deployment still wants as many, so that a fresh one takes its place, perhaps on another node. berth scale wants fewer; berth restart NAME --instance ID replaces it without a gap.',
  ],
  examples: [{ line: 'berth stop instance web-k3n9x2af', what: 'away with this one' }],
  subcommands: [
    {
      name: 'instance',
      summary: 'End one instance; a fresh one takes its place',
      description: ['Ends one instance at once. A fresh one takes its place, perhaps on another node.'],
      parameters: [INSTANCE],
      options: REMOTE_OPTIONS,
      examples: [{ line: 'berth stop instance web-k3n9x2af', what: 'away with this one' }],
      run: async (session, input) => order(session, input, 'stop', input.parameters[0] ?? ''),
    },
  ],
};

export const signal: CommandBody = {
  description: [
    'Sends a signal to the first process of an instance: many programs read their configuration anew on SIGHUP. A container that ends of it is started again.',
  ],
  examples: [{ line: 'berth signal instance web-k3n9x2af SIGHUP', what: 'read the configuration anew' }],
  subcommands: [
    {
      name: 'instance',
      summary: 'Send a signal to one instance',
      description: ['Sends a signal to the first process of one instance.'],
      parameters: [
        INSTANCE,
        {
          term: '<signal>',
          description: `One of: ${INSTANCE_SIGNALS.join(', ')}; SIG may be left out.`,
          values: INSTANCE_SIGNALS,
        },
      ],
      options: REMOTE_OPTIONS,
      examples: [{ line: 'berth signal instance web-k3n9x2af HUP', what: 'read the configuration anew' }],
      run: async (session, { parameters: [word = '', text = ''], options }) => {
        const named = `SIG${text.toUpperCase().replace(/^SIG/, '')}`;
        if (!INSTANCE_SIGNALS.includes(named))
          throw usage(`no signal ${text} can be sent`, [`one of: ${INSTANCE_SIGNALS.join(', ')}`]);
        const client = session.client(options);
        const { deployment, id, name } = await findInstance(client, word, 'order');
        const answer = await client.record('POST /api/v1/deployments/{name}/instances/{instance}/signal', {
          params: { name: deployment, instance: id },
          body: { signal: named },
        });
        told(session, name, answer, `berth logs ${deployment} --instance ${id} --tail 20`);
        return EXIT.ok;
      },
    },
  ],
};
