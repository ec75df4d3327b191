import type { CallOptions } from '../../sdk/index.ts';
import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat } from '../output.ts';
import { printFound } from '../record-commands.ts';
import type { Event } from '../records.ts';
import { EVENTS } from '../resources/events.ts';
import type { Session } from '../session.ts';
import { printable } from '../style.ts';
import { parseDuration } from '../../core/model/quantity.ts';

export const events: CommandBody = {
  description: [
    'Prints what happened in the tenant, oldest first: changes, placements, failures, rotations. -f stays and prints new ones as they happen; when the connection is cut it goes on where it was.',
  ],
  options: [
    { flags: '-f, --follow', description: 'Stay, and print new events. Ctrl-C ends it.' },
    { flags: '--kind <kind>', description: 'Only this kind, e.g. deployment.unschedulable.' },
    { flags: '--subject <name>', description: 'Only about this record: web, or deployment/web.' },
    {
      flags: '--since <when>',
      description: 'Only from then on: a time (2026-01-31T12:00:00Z) or how long ago (15m).',
    },
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
      since: since(options.text('since'), session.now()),
    };
    if (!options.flag('follow')) {
      const found = await client.list('GET /api/v1/events', { query });
      await printFound(session, { ...EVENTS, nothing: 'no events' }, found, format);
      return EXIT.ok;
    }
    return follow(session, client, { kind: query.kind, subject: query.subject }, format === 'json');
  },
};

/** As the list shows it, `deployment/web`; the control plane's name of the kind begins with a capital. */
function subjectOf(text: string | undefined): string | undefined {
  return text?.replace(/^[a-z](?=[A-Za-z]*\/)/, (letter) => letter.toUpperCase());
}

function since(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const ago = parseDuration(text);
  if (ago !== undefined) return new Date(now - ago).toISOString();
  if (Number.isNaN(Date.parse(text)))
    throw usage(
      `--since ${text}: expected a time such as 2026-01-31T12:00:00Z, or how long ago, such as 15m`,
    );
  return text;
}

/** A cut stream is taken up again after the last event that was printed. */
async function follow(
  session: Session,
  client: Client,
  query: CallOptions<'GET /api/v1/events'>['query'],
  asJson: boolean,
): Promise<number> {
  try {
    for await (const { data } of client.frames('GET /api/v1/events', { query }, true))
      session.terminal.out(asJson ? `${data}\n` : `${eventLine(JSON.parse(data) as Event)}\n`);
  } catch (error) {
    if (!session.interrupted.aborted) throw error;
  }
  return EXIT.interrupted;
}

function eventLine(event: Event): string {
  const subject = `${textOf(event.subject?.kind).toLowerCase()}/${textOf(event.subject?.name)}`;
  return printable(
    `${textOf(event.at)}  ${textOf(event.kind)}  ${subject}  ${textOf(event.message).split('\n').join('; ')}`,
  );
}
