import { parseDuration } from '../../core/model/quantity.ts';
import { deploymentPath, type Json } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { serverEvents } from '../event-source.ts';
import { Failure, usage } from '../failure.ts';
import { numberOf, textOf } from '../fields.ts';
import { timeoutOf } from '../waiting.ts';

export const exec: CommandBody = {
  description: [
    'Runs a command inside a running instance of a deployment, without a shell and without a terminal, prints its output, and ends with its exit status.',
  ],
  parameters: [{ term: '<name>', description: 'The deployment.' }],
  options: [
    { flags: '--instance <id>', description: 'In this instance. Default: the first one that runs.' },
    { flags: '--timeout <duration>', description: 'How long the command may take.', default: '60s' },
    ...REMOTE_OPTIONS,
  ],
  passThrough: true,
  examples: [
    { line: 'berth exec web -- ls -l /data', what: 'the words after -- are the command' },
    { line: "berth exec web -- sh -c 'env | sort'", what: 'with a shell of the image' },
  ],
  run: async (session, { parameters: [name = '', ...command], options }) => {
    if (command.length === 0) throw usage('what is to be run?', ['berth exec NAME -- COMMAND ARGUMENTS']);
    const timeoutMs = timeoutOf(options.text('timeout') ?? '60s', parseDuration);
    const instance = options.text('instance');
    const answer = await session.client(options).stream({
      method: 'POST',
      path: `${deploymentPath(name)}/exec`,
      body: {
        command,
        timeout: `${Math.ceil(timeoutMs / 1000)}s`,
        ...(instance === undefined ? {} : { instance }),
      },
      headers: { accept: 'text/event-stream' },
      timeoutMs: timeoutMs + 30_000,
    });
    for await (const { event, data } of serverEvents(answer)) {
      const message = JSON.parse(data) as Json;
      if (event === 'end') {
        const problem = textOf(message, 'error.message');
        if (problem !== '') throw new Failure(`the command could not be run: ${problem}`);
        return numberOf(message, 'exitCode') ?? 0;
      }
      if (textOf(message, 'channel') === 'stderr') session.terminal.err(textOf(message, 'text'));
      else session.terminal.out(textOf(message, 'text'));
    }
    throw new Failure('the connection ended before the command did');
  },
};
