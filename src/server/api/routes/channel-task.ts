import type { ChannelStart } from '../../../core/contract/channel-messages.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { received, redacted } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { toldCommand } from '../../../core/rules/credentials/told-command.ts';
import type { ChannelOperation } from '../../agents/streams/channel.ts';

const LONGEST_MS = 24 * 3_600_000;
const MAX_PORT = 65_535;

/** What is asked of the agent, and what is written down of it. */
export interface Task {
  readonly action: string;
  readonly told: Readonly<Record<string, string | number>>;
  readonly operation: ChannelOperation;
}

export function taskOf(start: ChannelStart, instanceId: string): Task | Rejection {
  switch (start.type) {
    case 'exec':
      return commandTask(start, instanceId);
    case 'read':
    case 'write': {
      const { type, path } = start;
      if (!path.startsWith('/') || path.includes('\0')) return wrongPath(path);
      return {
        action: type === 'read' ? 'deployment.files_read' : 'deployment.files_written',
        told: { path },
        operation: { kind: type === 'read' ? 'copy-out' : 'copy-in', instanceId, path },
      };
    }
    case 'connect': {
      const { port } = start;
      if (port > MAX_PORT)
        return reject('command_invalid', {
          field: 'port',
          received: received(port),
          expected: 'a port from 1 to 65535',
          why: 'There is no such port.',
        });
      return {
        action: 'deployment.port_forward',
        told: { port },
        operation: { kind: 'connect', instanceId, port },
      };
    }
  }
}

function wrongPath(path: string): Rejection {
  return reject('command_invalid', {
    field: 'path',
    received: received(path),
    expected: 'a path from the root of the container, such as /etc/nginx',
    why: 'The path is not absolute.',
  });
}

function commandTask(
  { command, tty, stdin, columns, rows, timeout }: Extract<ChannelStart, { readonly type: 'exec' }>,
  instanceId: string,
): Task | Rejection {
  if (command.length === 0 || command[0] === '')
    return reject('command_invalid', {
      field: 'command',
      received: redacted(command),
      expected: 'at least one element, the first being the program',
      why: 'The command is empty.',
    });
  const timeoutMs = timeout === undefined ? LONGEST_MS : parseDuration(timeout);
  if (timeoutMs === undefined || timeoutMs < 1000 || timeoutMs > LONGEST_MS)
    return reject('command_invalid', {
      field: 'timeout',
      received: received(timeout),
      expected: 'a duration from 1s to 24h',
      why: 'The timeout is not a duration in range.',
    });
  return {
    action: 'deployment.exec',
    told: { command: toldCommand(command) },
    operation: {
      kind: 'attach',
      instanceId,
      command,
      tty,
      input: stdin,
      timeoutMs,
      ...(columns === undefined ? {} : { columns }),
      ...(rows === undefined ? {} : { rows }),
    },
  };
}
