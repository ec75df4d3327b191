import { named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { spanText } from '../table.ts';
import { timeoutOf } from '../waiting.ts';

/** The control plane gives the agent a moment beyond the timeout. */
const ANSWER_GRACE_MS = 15_000;

export const exec: CommandBody = {
  description: [
    'Runs a command inside a running instance of a deployment, without a shell and without a terminal, prints its output, and ends with its exit status.',
    'Flags of this command come before the command that is run; everything from its first word on, or after --, belongs to it.',
  ],
  parameters: [{ term: '<name>', description: 'The deployment.' }],
  options: [
    { flags: '--instance <id>', description: 'In this instance. Default: the first one that runs.' },
    {
      flags: '--timeout <duration>',
      description: 'How long the command may take, at most 10m; then it is killed.',
      default: '60s',
    },
    ...REMOTE_OPTIONS,
  ],
  passThrough: true,
  examples: [
    { line: 'berth exec web -- ls -l /data', what: 'the words after -- are the command' },
    { line: 'berth exec web --tenant acme -- ls', what: 'in the web of another tenant' },
    { line: "berth exec web -- sh -c 'env | sort'", what: 'with a shell of the image' },
  ],
  run: async (session, { parameters: [name = '', ...words], options }) => {
    const command = words[0] === '--' ? words.slice(1) : words;
    if (command.length === 0) throw usage('what is to be run?', ['berth exec NAME -- COMMAND ARGUMENTS']);
    const timeoutMs = timeoutOf(options, '60s');
    const instance = options.text('instance');
    const result = await session.client(options).record('POST /api/v1/deployments/{name}/exec', {
      ...named(name),
      body: {
        command,
        timeout: `${Math.ceil(timeoutMs / 1000)}s`,
        ...(instance === undefined ? {} : { instance }),
      },
      timeoutMs: timeoutMs + ANSWER_GRACE_MS,
    });
    session.terminal.out(textOf(result.stdout));
    session.terminal.err(textOf(result.stderr));
    if (result.truncated === true) session.terminal.err('berth: the output was cut at 1 MiB\n');
    if (result.timedOut === true)
      throw new Failure(`the command did not end within ${spanText(timeoutMs)} and was killed`);
    return result.exitCode ?? EXIT.refused;
  },
};
