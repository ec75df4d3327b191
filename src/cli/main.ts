import { parsedRecord } from '../core/model/values.ts';
import { readFileSync } from 'node:fs';
import { COMMANDS } from './commands/index.ts';
import { EXIT } from './exit-code.ts';
import { runProgram } from './program.ts';
import { report } from './report.ts';
import { makeSession } from './session.ts';
import { Interrupted, systemTerminal } from './terminal.ts';

/** From package.json, beside `src` in a checkout and beside `dist` in an installation. */
const VERSION = String(
  parsedRecord(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))['version'],
);

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

// Until the command has an end: one that waits for something that never comes must not look as if it had worked.
process.exitCode = EXIT.refused;
// Without await at the top: the build of the command line is CommonJS.
void main().then((code) => {
  process.exitCode = code;
  // A connection that is kept alive must not keep the program alive.
  process.stdout.write('', () => process.exit());
});
