import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { MAX_TAIL } from '../../core/operations/queries.ts';
import { EXIT } from '../exit-code.ts';
import { logLines } from '../log-source.ts';
import { wholeNumber } from './run.ts';
import { instanceIdIn } from '../instances.ts';

export const logs: CommandBody = {
  description: [
    'Prints what the instances of a deployment write to standard output and standard error. With several instances each line starts with the end of the id of its instance. Control characters are not passed on to your terminal. A node keeps the last 20 to 30 MB of each container; when lines were overwritten before you read them, that is said in their place.',
  ],
  parameters: [{ term: '<name>', description: 'The deployment.', names: 'deployments' }],
  options: [
    {
      flags: '-f, --follow',
      description:
        'Stay, and print new lines, also of instances that come later. When the control plane stops, it goes on at the next one that answers. Ctrl-C ends it.',
    },
    { flags: '--tail <n>', description: 'Only the last n lines of each instance.' },
    { flags: '--since <duration>', description: 'Only what was written since then, e.g. 10m.' },
    {
      flags: '--previous',
      description:
        'What instances printed last before they failed: 200 lines of each, also of those that are gone. Values that a container was given are redacted.',
    },
    { flags: '--timestamps', description: 'The time of each line before it, by the clock of its node.' },
    {
      flags: '--grep <text>',
      description: 'Only lines that hold this text, of all that is kept unless --tail or --since says less.',
    },
    {
      flags: '--instance <id>',
      description: 'Only this instance (berth get instances NAME).',
      names: 'instances',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth logs web --tail 50', what: 'the last 50 lines of each instance' },
    { line: 'berth logs web -f', what: 'live' },
    { line: 'berth logs web --previous', what: 'why did the last rollout fail?' },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const client = session.client(options);
    const tail = options.text('tail');
    const instance = await instanceIdIn(client, name, options.text('instance'));
    const since = options.text('since');
    const previous = options.flag('previous');
    const wanted = options.text('grep');
    const lines =
      tail === undefined ? (wanted === undefined ? undefined : MAX_TAIL) : wholeNumber('--tail', tail);
    let printed = 0;
    const asked = {
      follow: options.flag('follow'),
      ...(lines === undefined ? {} : { tail: lines }),
      ...(instance === undefined ? {} : { instance }),
      ...(since === undefined ? {} : { since }),
      ...(previous ? { previous } : {}),
      ...(options.flag('timestamps') ? { timestamps: true } : {}),
    };
    const source = logLines(client, name, asked, session.interrupted);
    for await (const line of source) {
      if (wanted !== undefined && !line.problem && !line.text.includes(wanted)) continue;
      printed += 1;
      const prefix =
        instance !== undefined || line.instance === ''
          ? ''
          : `${session.terminal.style.cyan(line.instance.slice(-6))}  `;
      session.terminal.out(`${prefix}${line.text}\n`);
    }
    if (printed === 0 && wanted !== undefined)
      session.terminal.err(`no line of ${name} holds ${JSON.stringify(wanted)}\n`);
    else if (printed === 0 && previous)
      session.terminal.err(`no instance of ${name} failed lately; ${session.next(`berth logs ${name}`)}\n`);
    else if (printed === 0 && !options.flag('follow'))
      session.terminal.err(`no output yet; ${session.next(`berth describe deployment ${name}`)}\n`);
    return EXIT.ok;
  },
};
