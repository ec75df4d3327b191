import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { shownArguments } from './environment.ts';
import type { DeploymentInput } from './rule.ts';

export function commandRule({ draft }: DeploymentInput): Rejection | undefined {
  const { command } = draft;
  if (command === undefined) return undefined;
  if (command.length === 0 || command[0] === '') {
    return reject('command_invalid', {
      field: 'command',
      received: shownArguments(command),
      expected: 'at least one element, the first being the program',
      why: 'The command is empty.',
    });
  }
  return undefined;
}
