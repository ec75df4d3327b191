import type { CallOptions } from '../../sdk/index.ts';
import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { SINCE_OPTION, SUBJECT_OPTION, sinceTime, subjectOf } from '../history-filters.ts';
import { outputFormat } from '../output.ts';
import { printFound } from '../record-commands.ts';
import { connectionTeller } from '../record-watch.ts';
import type { Event } from '../records.ts';
import { EVENTS, subjectText } from '../resources/events.ts';
import type { Session } from '../session.ts';
import { printable } from '../style.ts';

export const events: CommandBody = {
  description: [
    'Prints what happened in the tenant, oldest first: changes, placements, failures, rotations. -f stays and prints new ones as they happen; when the connection is cut it goes on where it was.',
  ],
  options: [
    { flags: '-f, --follow', description: 'Stay, and print new events. Ctrl-C ends it.' },
    {
      flags: '--kind <kind>',
      description: "Only this kind, e.g. deployment.unschedulable; 'deployment.*' for all that begin alike.",
    },
    SUBJECT_OPTION,
    SINCE_OPTION,
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth events --since 1h', what: 'the last hour' },
    { line: 'berth events -f --subject web', what: 'live, about web only' },
    {
      line: 'berth events --kind deployment.unschedulable -o json',
      what: 'what could not be placed, for a script',
    },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const client = session.client(options);
    const query = {
      kind: options.text('kind'),
      subject: subjectOf(options.text('subject')),
      since: sinceTime(options.text('since'), session.now()),
    };
    if (!options.flag('follow')) {
      const found = await client.list('GET /api/v1/events', { query });
      await printFound(session, { ...EVENTS, nothing: 'no events' }, found, format);
      return EXIT.ok;
    }
    return follow(session, client, { kind: query.kind, subject: query.subject }, format === 'json');
  },
};

/** A cut stream is taken up again after the last event that was printed. */
async function follow(
  session: Session,
  client: Client,
  query: CallOptions<'GET /api/v1/events'>['query'],
  asJson: boolean,
): Promise<number> {
  try {
    for await (const { data } of client.frames(
      'GET /api/v1/events',
      { query },
      connectionTeller(session.terminal),
    ))
      session.terminal.out(asJson ? `${data}\n` : `${eventLine(JSON.parse(data) as Event)}\n`);
  } catch (error) {
    if (!session.interrupted.aborted) throw error;
  }
  return EXIT.interrupted;
}

function eventLine(event: Event): string {
  return printable(
    `${textOf(event.at)}  ${textOf(event.kind)}  ${subjectText(event)}  ${textOf(event.message).split('\n').join('; ')}`,
  );
}
