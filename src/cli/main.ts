import { readFileSync } from 'node:fs';
import { COMMANDS } from './commands/index.ts';
import { EXIT } from './exit-code.ts';
import { Failure, messageOf, Refused } from './failure.ts';
import { runProgram } from './program.ts';
import { rejectionLines } from './rejection-view.ts';
import { makeSession } from './session.ts';
import { Interrupted, systemTerminal, type Terminal } from './terminal.ts';

/** From package.json, beside `src` in a checkout and beside `dist` in an installation. */
const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  }
).version;

function report(terminal: Terminal, error: unknown): number {
  const style = terminal.errStyle;
  if (error instanceof Refused) {
    terminal.err(`${rejectionLines(error.rejection, style).join('\n')}\n`);
    return EXIT.refused;
  }
  if (error instanceof Failure) {
    terminal.err(`${style.red('berth:')} ${error.message}\n`);
    for (const line of error.advice) terminal.err(`  ${line}\n`);
    return error.exitCode;
  }
  terminal.err(`${style.red('berth:')} this is a defect in berth: ${messageOf(error)}\n`);
  if (error instanceof Error && error.stack !== undefined) terminal.err(`${style.dim(error.stack)}\n`);
  return EXIT.refused;
}

async function main(): Promise<number> {
  const terminal = systemTerminal(process.env);
  const interruption = new AbortController();
  process.on('SIGINT', () => {
    // The second one does not wait for anything.
    if (interruption.signal.aborted) process.exit(EXIT.interrupted);
    interruption.abort();
  });
  // A closed terminal must not leave behind what `berth up` started.
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());
  // `berth get … | head` closes the pipe: that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
  const session = makeSession(terminal, process.env, interruption.signal, VERSION);
  try {
    return await runProgram(COMMANDS, process.argv.slice(2), session);
  } catch (error) {
    if (interruption.signal.aborted || error instanceof Interrupted) return EXIT.interrupted;
    return report(terminal, error);
  }
}

process.exitCode = await main();
// A connection that is kept alive must not keep the program alive.
process.stdout.write('', () => process.exit());
