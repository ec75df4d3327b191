import { messageOf } from '../core/model/values.ts';
import { FolderError } from '../shared/folders.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { Failure, Refused } from './failure.ts';
import { rejectionLines } from './rejection-view.ts';
import type { Terminal } from './terminal.ts';

/** Says what ended a command, and answers with the status it ends with. */
export function report(terminal: Terminal, error: unknown): ExitCode {
  const style = terminal.errStyle;
  if (error instanceof Refused) {
    for (const rejection of [error.rejection, ...error.others])
      terminal.err(`${rejectionLines(rejection, style, error.source).join('\n')}\n`);
    return EXIT.refused;
  }
  if (error instanceof Failure) {
    terminal.err(`${style.red('berth:')} ${error.message}\n`);
    for (const line of error.advice) terminal.err(`  ${line}\n`);
    return error.exitCode;
  }
  if (error instanceof FolderError) {
    terminal.err(`${style.red('berth:')} ${error.message}\n`);
    return EXIT.refused;
  }
  terminal.err(`${style.red('berth:')} this is a defect in berth: ${messageOf(error)}\n`);
  if (error instanceof Error && error.stack !== undefined) terminal.err(`${style.dim(error.stack)}\n`);
  return EXIT.refused;
}
