import { named } from '../client.ts';
import { REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { OWN_LOG_OPTIONS, ownLogQuery, printOwnLog } from '../own-log.ts';

export const logsCommand: Subcommand = {
  name: 'logs',
  summary: "Print the log of a node's agent",
  description: [
    'Prints the last lines that the agent of a node logged (500 lines, 128 KiB in its memory), for administrators of its tenant. With --level debug the level is raised for this reader alone, until the time is over or you leave. Credentials are redacted, and who read is in the audit.',
    'What containers print is another thing: berth logs.',
  ],
  parameters: [{ term: '<name>', description: 'The node.', names: 'nodes' }],
  options: [...OWN_LOG_OPTIONS, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth node logs berlin-1 --follow --level debug', what: 'every step that its agent takes' },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const asked = { ...named(name), query: ownLogQuery(options) };
    return printOwnLog(session, session.client(options).frames('GET /api/v1/nodes/{name}/logs', asked));
  },
};
