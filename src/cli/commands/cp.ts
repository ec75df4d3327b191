import { lstatSync } from 'node:fs';
import { basename, join, posix, resolve } from 'node:path';
import { writeTarget } from '../../core/contract/channel-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import { formatBytes, parseMemory } from '../../core/model/quantity.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, usage } from '../failure.ts';
import { instanceIdIn } from '../instances.ts';
import type { OptionValues } from '../option-values.ts';
import type { Step } from '../progress.ts';
import { type RemotePath, remotePath } from '../files/remote-path.ts';
import type { Session } from '../session.ts';

const DEFAULT_MAX = '10Gi';

const readTarget = frameReader(writeTarget);

export const cp: CommandBody = {
  description: [
    'Copies a file or folder from an instance to this machine, or back. The engine does it: the image needs no program for it.',
    'A path inside is NAME:PATH, or NAME/INSTANCE:PATH for one instance of the deployment NAME. Where the target is a folder, the copy goes into it.',
    'Links stay links; those that lead out of what is copied are left out, and so are devices.',
  ],
  parameters: [
    { term: '<from>', description: 'What is copied.', names: 'files' },
    { term: '<to>', description: 'Where to.', names: 'files' },
  ],
  options: [
    {
      flags: '--max-size <size>',
      description: 'Do not take more than this from an instance.',
      default: DEFAULT_MAX,
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth cp web:/etc/nginx/nginx.conf .', what: 'a file, into this folder' },
    { line: 'berth cp ./site web:/usr/share/nginx/html', what: 'a folder, into a folder of the instance' },
    { line: 'berth cp web/web-k3n9x2af:/data ./data', what: 'of one instance' },
  ],
  run: async (session, { parameters: [from = '', to = ''], options }) => {
    const [source, target] = [remotePath(from), remotePath(to)];
    if ((source === undefined) === (target === undefined))
      throw usage(
        source === undefined ? 'neither of them is in an instance' : 'both of them are in an instance',
        ['berth cp NAME:PATH LOCAL', 'berth cp LOCAL NAME:PATH'],
      );
    const step = session.progress().step('Copy');
    try {
      if (source !== undefined) await fetchFiles(session, options, source, to, step);
      else if (target !== undefined) await sendFiles(session, options, from, target, step);
    } catch (error) {
      step.fail('not everything was copied');
      throw error;
    }
    return EXIT.ok;
  },
};

async function opened(session: Session, options: OptionValues, { name, instance }: RemotePath) {
  const { openSocket } = await import('../channel/client-socket.ts');
  const client = session.client(options);
  return await openSocket(client.target, name, await instanceIdIn(client, name, instance));
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

async function fetchFiles(
  session: Session,
  options: OptionValues,
  source: RemotePath,
  to: string,
  step: Step,
): Promise<void> {
  const [{ bytesFrom }, { unpack }] = await Promise.all([
    import('../channel/transfer.ts'),
    import('../files/unpack.ts'),
  ]);
  const maxBytes = parseMemory(options.text('maxSize') ?? DEFAULT_MAX);
  if (maxBytes === undefined) throw usage('--max-size: expected a size such as 500Mi or 10Gi');
  const target = resolve(isFolder(to) ? join(to, posix.basename(source.path)) : to);
  const socket = await opened(session, options, source);
  let bytes = 0;
  try {
    await unpack(bytesFrom(socket, { type: 'read', path: source.path }), {
      target,
      maxBytes,
      onFile: (more) => {
        bytes += more;
        step.note(formatBytes(bytes));
      },
      onSkipped: (path, why) => session.terminal.err(`berth: left out ${path}: ${why}\n`),
    });
  } finally {
    socket.close();
  }
  step.done(`${formatBytes(bytes)} to ${target}`);
}

async function sendFiles(
  session: Session,
  options: OptionValues,
  from: string,
  target: RemotePath,
  step: Step,
): Promise<void> {
  const found = lstatSync(from, { throwIfNoEntry: false });
  if (found === undefined) throw new Failure(`${from}: there is no such file or folder`);
  const [{ bytesFrom }, { packed }] = await Promise.all([
    import('../channel/transfer.ts'),
    import('../files/tar-writer.ts'),
  ]);
  const socket = await opened(session, options, target);
  let bytes = 0;
  const pour = async (name: string): Promise<void> => {
    const skipped = (path: string): void =>
      session.terminal.err(`berth: left out ${path}: it is a device, a pipe or a socket\n`);
    for await (const piece of packed(resolve(from), name, skipped)) {
      await socket.send(piece.bytes);
      bytes += piece.bytes.length;
      step.note(formatBytes(bytes));
    }
    await socket.say({ type: 'eof' });
  };
  try {
    let pouring: Promise<void> | undefined;
    // The first thing that comes says what the path is; then the end.
    for await (const told of bytesFrom(socket, { type: 'write', path: target.path })) {
      const into = readTarget(told.toString())?.isFolder === true;
      pouring ??= pour(into ? basename(resolve(from)) : posix.basename(target.path));
      pouring.catch(() => undefined);
    }
    await pouring;
  } finally {
    socket.close();
  }
  step.done(`${formatBytes(bytes)} to ${target.name}:${target.path}`);
}
