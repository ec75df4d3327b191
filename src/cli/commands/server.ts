import { type CommandBody, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { OWN_LOG_OPTIONS, ownLogQuery, printOwnLog } from '../own-log.ts';

const logsCommand: Subcommand = {
  name: 'logs',
  summary: 'Print the log of a control plane itself',
  description: [
    'Prints the last lines that a control plane logged, over the API, for platform administrators. It keeps 5,000 lines (1 MiB) in memory; what was before its start is in the log of its service (journalctl). Credentials are redacted, and who read is in the audit.',
    'With --level debug the level is raised for this reader alone, until the time is over or you leave; the log of the service stays as it is configured.',
  ],
  options: [
    ...OWN_LOG_OPTIONS,
    {
      flags: '--member <name>',
      description: 'Of several control planes on one store: the name of its machine, or its id.',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth server logs --tail 50', what: 'the last 50 lines' },
    { line: 'berth server logs --follow --level debug --for 5m', what: 'all it does, for five minutes' },
  ],
  run: async (session, { options }) => {
    const query = { ...ownLogQuery(options), member: options.text('member') };
    return printOwnLog(session, session.client(options).frames('GET /api/v1/system/logs', { query }));
  },
};

export const server: CommandBody = {
  description: [
    'Reads the log of a control plane over the API. All other commands of berth server run on its machine: berth server --help.',
  ],
  subcommands: [logsCommand],
  examples: logsCommand.examples,
};
