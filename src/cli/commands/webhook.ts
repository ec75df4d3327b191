import { named } from '../client.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat } from '../output.ts';
import { deleteCommand, getCommand, listCommand, printFound, printMade } from '../record-commands.ts';
import type { DeadLetter } from '../records.ts';
import { ageOf, field } from '../resources/resource.ts';

const NAME: Parameter = { term: '<name>', description: 'The webhook.', names: 'webhooks' };

const create: Subcommand = {
  name: 'create',
  summary: 'Send events of the tenant to a URL',
  description: [
    'Creates a webhook: every event from now on that the filters let through is sent to the URL as a CloudEvent, signed with a key of the secrets store, at least once and in order.',
  ],
  parameters: [{ term: '<name>', description: 'Unique in the tenant.' }],
  options: [
    { flags: '--url <url>', description: 'Where events are sent to, by POST.' },
    {
      flags: '--signing-key <path>',
      description: 'The secret with the signing key: namespace/name, or namespace/name#key.',
      names: 'secrets',
    },
    {
      flags: '--kind <kind>',
      description: 'Only events of this kind, such as node.failed or deployment.*. May be repeated.',
      repeatable: true,
    },
    {
      flags: '--subject <subject>',
      description: 'Only events about it: a name, Kind/name or Kind/*. May be repeated.',
      repeatable: true,
    },
    { flags: '--paused', description: 'Hold events for now.' },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth webhook create alerts --url https://hooks.example.com --signing-key resources/hooks --kind node.failed',
      what: 'what somebody has to look at',
    },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const url = options.text('url');
    const path = options.text('signingKey');
    if (url === undefined || path === undefined)
      throw usage(`a webhook needs --${url === undefined ? 'url' : 'signing-key'}`);
    const [vault_path = '', key] = path.split('#');
    const [kinds, subjects] = [options.list('kind'), options.list('subject')];
    const made = await session.client(options).record('POST /api/v1/webhooks', {
      body: {
        name,
        url,
        signing: { vault_path, ...(key !== undefined && { key }) },
        events: { ...(kinds.length > 0 && { kinds }), ...(subjects.length > 0 && { subjects }) },
        paused: options.flag('paused'),
      },
    });
    const said = { line: `webhook/${name} created`, next: `berth webhook get ${name}` };
    await printMade(session, 'webhooks', made, format, said);
    return EXIT.ok;
  },
};

function pausing(verb: 'pause' | 'resume', done: string, what: string): Subcommand {
  return {
    name: verb,
    summary: verb === 'pause' ? 'Send nothing for now' : 'Send again, what was held first',
    description: [what],
    parameters: [NAME],
    options: [...REMOTE_OPTIONS],
    examples: [{ line: `berth webhook ${verb} alerts`, what: verb === 'pause' ? 'hold events' : 'go on' }],
    run: async (session, { parameters: [name = ''], options }) => {
      const body = { paused: verb === 'pause' };
      await session.client(options).record('PUT /api/v1/webhooks/{name}', { ...named(name), body });
      session.terminal.out(`webhook/${name} ${done}\n`);
      return EXIT.ok;
    },
  };
}

const DEAD_LETTERS = {
  nothing: 'no dead letters',
  nameOf: ({ id }: DeadLetter) => `event/${textOf(id)}`,
  columns: [
    field<DeadLetter>('EVENT', (one) => one.id),
    field<DeadLetter>('KIND', (one) => one.event?.kind),
    field<DeadLetter>(
      'SUBJECT',
      (one) => `${textOf(one.event?.subject?.kind)}/${textOf(one.event?.subject?.name)}`,
    ),
    field<DeadLetter>('ATTEMPTS', (one) => one.attempts),
    ageOf<DeadLetter>((one) => one.deadAt),
    field<DeadLetter>('REASON', (one) => one.reason),
  ],
};

const deadLetters: Subcommand = {
  name: 'dead-letters',
  summary: 'List events that were given up',
  description: [
    'Lists events that the receiver did not take for 3 days, that it refused, or that the journal could not keep any longer. The last 1,000 of a webhook are kept; redeliver sends them again.',
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth webhook dead-letters alerts', what: 'what was missed, and why' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const found = await session.client(options).list('GET /api/v1/webhooks/{name}/dead-letters', named(name));
    await printFound(session, DEAD_LETTERS, found, format);
    return EXIT.ok;
  },
};

const redeliver: Subcommand = {
  name: 'redeliver',
  summary: 'Send dead letters again',
  description: [
    'Sends dead letters again, oldest first, each once; those that are not taken stay dead letters. Without an event, all of them.',
  ],
  parameters: [
    NAME,
    { term: '[event...]', description: 'Ids of events, as berth webhook dead-letters lists them.' },
  ],
  options: [...REMOTE_OPTIONS],
  examples: [{ line: 'berth webhook redeliver alerts', what: 'now that the receiver is back' }],
  run: async (session, { parameters: [name = '', ...events], options }) => {
    const body = events.length === 0 ? {} : { events };
    const answer = await session
      .client(options)
      .record('POST /api/v1/webhooks/{name}/redeliver', { ...named(name), body });
    session.terminal.out(`webhook/${name}: ${textOf(answer.ordered)} dead letters are sent again\n`);
    session.terminal.err(`${session.next(`berth webhook dead-letters ${name}`)}\n`);
    return EXIT.ok;
  },
};

const remove = deleteCommand({
  kind: 'webhook',
  parameter: NAME,
  remove: (client, name) => client.record('DELETE /api/v1/webhooks/{name}', named(name)),
  and: 'its dead letters',
  summary: 'Delete a webhook with its dead letters',
  description: ['Deletes a webhook with its dead letters. Events that wait are not sent.'],
  examples: [{ line: 'berth webhook delete alerts', what: 'nothing more is sent' }],
});

export const webhook: CommandBody = {
  description: [
    'A webhook sends events of the tenant to a URL: signed, at least once, in order. What a receiver does not take is held for 3 days, then kept as a dead letter.',
  ],
  examples: [
    { line: 'berth webhook list', what: 'how their deliveries go' },
    { line: 'berth apply -f webhook.yaml', what: 'create or change one from a document of kind Webhook' },
  ],
  subcommands: [
    create,
    listCommand('webhooks', {
      summary: 'List webhooks',
      description: ['Lists the webhooks of the tenant; the same as berth get webhooks.'],
      examples: [{ line: 'berth webhook list', what: 'with what waits and what failed' }],
    }),
    getCommand('webhooks', NAME, {
      summary: 'Print one webhook',
      description: ['Prints one webhook; the same as berth get webhook NAME.'],
      examples: [{ line: 'berth webhook get alerts -o yaml', what: 'with the last success and failure' }],
    }),
    pausing('pause', 'paused', 'Sends nothing until it is resumed; events are held for 3 days.'),
    pausing(
      'resume',
      'resumed',
      'Sends what was held, then what comes. Also after the receiver answered 410.',
    ),
    deadLetters,
    redeliver,
    remove,
  ],
};
