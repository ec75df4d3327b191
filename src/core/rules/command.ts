import type { Rejection } from '../rejections/rejection.ts';
import { type DeploymentInput, invalid } from './rule.ts';

export function commandRule({ draft }: DeploymentInput): Rejection | undefined {
  const { command } = draft;
  if (command === undefined) return undefined;
  if (command.length === 0 || command[0] === '') {
    return invalid(
      'command_invalid',
      'command',
      command,
      'at least one element, the first being the program',
      'The command is empty.',
    );
  }
  return undefined;
}
