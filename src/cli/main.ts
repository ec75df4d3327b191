import { parsedRecord } from '../core/model/values.ts';
import { readFileSync } from 'node:fs';
import { COMMANDS } from './commands/index.ts';
import { EXIT } from './exit-code.ts';
import { runProgram } from './program.ts';
import { report } from './report.ts';
import { makeSession } from './session.ts';
import { StandardOutput } from './standard-output.ts';
import { Interrupted, systemTerminal, type Terminal } from './terminal.ts';

/** From package.json, beside `src` in a checkout and beside `dist` in an installation. */
const VERSION = String(
  parsedRecord(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))['version'],
);

async function main(): Promise<number> {
  const terminal = systemTerminal(process.env);
  // Where nothing can be said any more, the status says it.
  process.stderr.on('error', () => undefined);
  const interruption = new AbortController();
  process.on('SIGINT', () => {
    // The second one does not wait for anything.
    if (interruption.signal.aborted) process.exit(EXIT.interrupted);
    interruption.abort();
  });
  // A closed terminal must not leave behind what `berth up` started.
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());
  const output = new StandardOutput(process.stdout, (failure) => {
    report(terminal, failure);
    // What goes on printing ends; what it started on this machine is stopped in order.
    interruption.abort();
  });
  const code = await ended(terminal, interruption.signal);
  // A pipe may still be full of what was printed.
  return (await output.end()) ? code : EXIT.refused;
}

async function ended(terminal: Terminal, interrupted: AbortSignal): Promise<number> {
  const session = makeSession(terminal, process.env, interrupted, VERSION);
  try {
    return await runProgram(COMMANDS, process.argv.slice(2), session);
  } catch (error) {
    if (interrupted.aborted || error instanceof Interrupted) return EXIT.interrupted;
    return report(terminal, error);
  }
}

// Until the command has an end: one that waits for something that never comes must not look as if it had worked.
process.exitCode = EXIT.refused;
// Without await at the top: the build of the command line is CommonJS.
// A connection that is kept alive must not keep the program alive.
void main().then((code) => process.exit(code));
