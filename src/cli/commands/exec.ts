import { fstatSync } from 'node:fs';
import { named } from '../client.ts';
import { type CommandBody, type Input, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, Refused, usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Session } from '../session.ts';
import { spanText } from '../table.ts';
import { timeoutOf } from '../waiting.ts';
import { instanceIdIn } from '../instances.ts';

/** The control plane gives the agent a moment beyond the timeout. */
const ANSWER_GRACE_MS = 15_000;
const DEFAULT_TIMEOUT = '60s';

interface Asked {
  readonly name: string;
  readonly command: readonly string[];
  readonly instance: string | undefined;
  readonly timeoutMs: number | undefined;
}

export const exec: CommandBody = {
  description: [
    'Runs a command inside a running instance of a deployment, without a shell, prints its output as it comes, and ends with its exit status.',
    'With -i standard input goes to the command, from a file or a pipe too; with -t it gets a terminal, with the size of this one.',
    'Flags of this command come before the command that is run; everything from its first word on, or after --, belongs to it.',
    'Ctrl-C interrupts the command, and a second one ends the connection. A connection that ends takes its command with it, unless it was left by the keys for that.',
  ],
  parameters: [{ term: '<name>', description: 'The deployment.', names: 'deployments' }],
  options: [
    {
      flags: '--instance <id>',
      description: 'In this instance. Default: the first one that runs.',
      names: 'instances',
    },
    { flags: '-i, --stdin', description: 'Give it standard input.' },
    { flags: '-t, --tty', description: 'Give it a terminal. Usually together with -i: -it.' },
    {
      flags: '--timeout <duration>',
      description: `How long the command may take, at most 24h; then it is killed. Default: ${DEFAULT_TIMEOUT}, with -i or -t none.`,
    },
    {
      flags: '--detach-keys <keys>',
      description: 'In a terminal: leave, and let the command go on.',
      default: 'ctrl-p,ctrl-q',
    },
    ...REMOTE_OPTIONS,
  ],
  passThrough: true,
  examples: [
    { line: 'berth exec web -- ls -l /data', what: 'the words after -- are the command' },
    { line: 'berth exec -it web -- sh', what: 'a shell' },
    { line: 'berth exec -i db -- psql -U postgres < schema.sql', what: 'with a file as its input' },
    { line: 'berth exec db -- pg_dump -U postgres shop > shop.sql', what: 'with its output in a file' },
    { line: 'berth exec web --tenant acme -- ls', what: 'in the web of another tenant' },
    { line: "berth exec web -- sh -c 'env | sort'", what: 'with a shell of the image' },
  ],
  run: async (session, input) => {
    const { parameters, options } = input;
    const [name = '', ...words] = parameters;
    const command = words[0] === '--' ? words.slice(1) : words;
    if (command.length === 0) throw usage('what is to be run?', ['berth exec NAME -- COMMAND ARGUMENTS']);
    const isJoined = options.flag('stdin') || options.flag('tty');
    const timeoutMs =
      isJoined && options.text('timeout') === undefined ? undefined : timeoutOf(options, DEFAULT_TIMEOUT);
    const instance = await instanceIdIn(session.client(options), name, options.text('instance'));
    const asked: Asked = { name, command, instance, timeoutMs };
    try {
      return await join(session, input, asked);
    } catch (error) {
      // An agent of an older release runs commands without input.
      if (isJoined || !(error instanceof Refused) || error.rejection.code !== 'agent_unreachable')
        throw error;
      return await ask(session, input, asked);
    }
  },
};

async function join(session: Session, { options }: Input, asked: Asked): Promise<number> {
  const { pipes } = session.terminal;
  if (pipes === undefined) return await ask(session, { parameters: [], options }, asked);
  const tty = options.flag('tty');
  const stdin = options.flag('stdin');
  if (tty && stdin && !pipes.stdin.isTTY)
    throw usage('-t: standard input is no terminal', [
      'berth exec -i NAME -- COMMAND   takes a file or a pipe',
    ]);
  if (!stdin && bringsInput())
    session.terminal.err('berth: standard input is not passed on; with -i it is\n');
  const [{ openSocket }, { joinCommand, refusalIn, sizeOf }, { keyBytes }] = await Promise.all([
    import('../channel/client-socket.ts'),
    import('../channel/remote-command.ts'),
    import('../channel/detach-keys.ts'),
  ]);
  const detachKeys = keyBytes(options.text('detachKeys') ?? '');
  const socket = await openSocket(session.client(options).target, asked.name, asked.instance);
  const end = await joinCommand(socket, {
    start: {
      type: 'exec',
      command: asked.command,
      tty,
      stdin,
      ...(tty ? sizeOf(pipes.stdout) : {}),
      ...(asked.timeoutMs === undefined ? {} : { timeout: seconds(asked.timeoutMs) }),
    },
    detachKeys,
    pipes,
    interrupted: session.interrupted,
  });
  const refusal = refusalIn(end);
  if (refusal !== undefined) throw refusal;
  if (end.timedOut === true) throw timedOut(asked.timeoutMs ?? 0);
  if (end.detached === true) {
    session.terminal.err('\nberth: left; the command goes on\n');
    return EXIT.ok;
  }
  return end.exitCode ?? EXIT.refused;
}

/** A file, or a pipe of a shell: somebody put it there. */
function bringsInput(): boolean {
  try {
    const found = fstatSync(0);
    return (found.isFile() && found.size > 0) || found.isFIFO();
  } catch {
    return false;
  }
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)}s`;
}

function timedOut(ms: number): Failure {
  return new Failure(`the command did not end within ${spanText(ms)} and was killed`);
}

/** Without a connection of its own: the output comes when the command has ended. */
async function ask(session: Session, { options }: Input, asked: Asked): Promise<number> {
  const { name, command, instance, timeoutMs = 60_000 } = asked;
  const result = await session.client(options).record('POST /api/v1/deployments/{name}/exec', {
    ...named(name),
    body: { command, timeout: seconds(timeoutMs), ...(instance === undefined ? {} : { instance }) },
    timeoutMs: timeoutMs + ANSWER_GRACE_MS,
  });
  session.terminal.out(textOf(result.stdout));
  session.terminal.err(textOf(result.stderr));
  if (result.truncated === true) session.terminal.err('berth: the output was cut at 1 MiB\n');
  if (result.timedOut === true) throw timedOut(timeoutMs);
  return result.exitCode ?? EXIT.refused;
}
