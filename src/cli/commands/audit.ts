import { setTimeout as pause } from 'node:timers/promises';
import { actorText } from '../../core/model/actor-text.ts';
import { ID_PREFIXES } from '../../core/model/ids.ts';
import type { CallOptions } from '../../sdk/index.ts';
import type { Client } from '../client.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { SINCE_OPTION, SUBJECT_OPTION, sinceTime, subjectOf } from '../history-filters.ts';
import { isWhole, outputFormat } from '../output.ts';
import { printFound } from '../record-commands.ts';
import type { Audit, Token } from '../records.ts';
import { auditListing, subjectText } from '../resources/events.ts';
import type { Session } from '../session.ts';
import { printable } from '../style.ts';

const USUAL_SINCE = '24h';

export const audit: CommandBody = {
  description: [
    'Prints who changed what, oldest first: every change that was accepted, with the token that asked for it, the record, the result and the address that the request came from. Each line is written in the commit of the change itself. For administrators of the tenant.',
    'Refused requests are not among them: those are in the file refusals.jsonl of the control plane.',
  ],
  options: [
    {
      flags: '-f, --follow',
      description:
        'Stay, and print new ones, looking every 2 s; with -o json one object a line. Ctrl-C ends it.',
    },
    { ...SINCE_OPTION, default: USUAL_SINCE },
    {
      flags: '--actor <token>',
      description:
        'Only what was done with this token, by its id or its name; system is the control plane itself.',
      names: 'tokens',
    },
    {
      flags: '--action <action>',
      description: "Only this action, e.g. deployment.deleted; 'token.*' for all that begin alike.",
    },
    SUBJECT_OPTION,
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth audit --since 1h', what: 'the last hour' },
    { line: 'berth audit -f --since 0s', what: 'only what is done from now on' },
    { line: 'berth audit --actor ci --since 168h', what: 'what the pipeline did this week' },
    { line: "berth audit --action 'token.*' -o wide", what: 'who made and revoked tokens, with details' },
    { line: "berth audit --subject 'node/*' -o json", what: 'changes of nodes, for a script' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const isFollowed = options.flag('follow');
    if (isFollowed && format !== 'table' && format !== 'json')
      throw usage('--follow prints lines, or one object a line with -o json');
    const since = sinceTime(options.text('since'), session.now());
    const client = session.client(options);
    const actor = options.text('actor');
    const tokens = actor === undefined && isWhole(format) ? undefined : await tokensOf(client);
    const query = {
      since,
      actor: actorOf(actor, tokens),
      action: options.text('action'),
      subject: subjectOf(options.text('subject')),
    };
    const names = new Map(tokens?.map(({ id, name }) => [textOf(id), textOf(name)]));
    if (isFollowed) {
      const isRaw = format === 'json' && !session.terminal.live;
      return follow(session, client, query, (line) => {
        const text = format === 'json' ? JSON.stringify(line) : lineText(line, names);
        return isRaw ? text : printable(text);
      });
    }
    const found = await client.list('GET /api/v1/audit', { query });
    const nothing = `nothing of this was done since ${textOf(since)}`;
    await printFound(session, { ...auditListing(names), nothing }, found, format);
    return EXIT.ok;
  },
};

const LOOK_MS = 2000;
/** Lines of several control planes are stored out of the order of their times by less than this. */
const OVERLAP_MS = 60_000;

async function follow(
  session: Session,
  client: Client,
  query: NonNullable<CallOptions<'GET /api/v1/audit'>['query']>,
  textOfLine: (line: Audit) => string,
): Promise<number> {
  let since = textOf(query.since);
  let shown: ReadonlySet<string> = new Set();
  try {
    for (;;) {
      const found = await client.list('GET /api/v1/audit', { query: { ...query, since } });
      for (const line of found)
        if (!shown.has(textOf(line.id))) session.terminal.out(`${textOfLine(line)}\n`);
      shown = new Set(found.map(({ id }) => textOf(id)));
      const last = Date.parse(textOf(found.at(-1)?.at)) - OVERLAP_MS;
      if (last > Date.parse(since)) since = new Date(last).toISOString();
      await pause(LOOK_MS, undefined, { signal: session.interrupted });
    }
  } catch (error) {
    if (!session.interrupted.aborted) throw error;
  }
  return EXIT.interrupted;
}

function lineText(line: Audit, names: ReadonlyMap<string, string>): string {
  const from = textOf(line.forwardedFor ?? line.source);
  const done = `${textOf(line.action)}  ${subjectText(line)}  ${textOf(line.result)}  ${from}`;
  return `${textOf(line.at)}  ${actorText(line, names)}  ${done}`.trimEnd();
}

/** Undefined: the role may not see them, and the audit will say so of itself. */
async function tokensOf(client: Client): Promise<readonly Token[] | undefined> {
  return client.recordUnless(['role_forbidden'], 'GET /api/v1/tokens', { query: { limit: 1000 } });
}

function actorOf(text: string | undefined, tokens: readonly Token[] | undefined): string | undefined {
  if (text === undefined || tokens === undefined) return text;
  const ids = tokens.filter(({ id, name }) => id === text || name === text).map(({ id }) => textOf(id));
  if (ids.length > 1)
    throw usage(`--actor ${text}: several tokens have this name`, [`choose one: ${ids.join(', ')}`]);
  if (ids[0] === undefined && !isActorId(text))
    throw usage(`--actor ${text}: no token has this name`, ['berth token list']);
  return ids[0] ?? text;
}

const LEAST_ID = 20;

/** Also of tokens that are gone, or the platform's: they stay in the audit. */
function isActorId(text: string): boolean {
  const isToken = text.startsWith(ID_PREFIXES.token) || text.startsWith(ID_PREFIXES.join);
  return text === 'system' || text === 'bootstrap' || (isToken && text.length >= LEAST_ID);
}
