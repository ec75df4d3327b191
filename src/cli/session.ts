import { Client } from './client.ts';
import type { OptionValues } from './option-values.ts';
import { resolveTarget } from './context.ts';
import type { Progress } from './progress.ts';
import { makeProgress } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** What a command has to work with. */
export interface Session {
  readonly terminal: Terminal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C: streams and waits end, and the command ends with 130. */
  readonly interrupted: AbortSignal;
  readonly version: string;
  readonly now: () => number;
  client(options: OptionValues): Client;
  progress(): Progress;
}

export function makeSession(
  terminal: Terminal,
  environment: Session['environment'],
  interrupted: AbortSignal,
  version: string,
): Session {
  return {
    terminal,
    environment,
    interrupted,
    version,
    now: () => Date.now(),
    client: (options) =>
      new Client(
        resolveTarget({ context: options.text('context'), tenant: options.text('tenant') }, environment),
        interrupted,
      ),
    progress: () => makeProgress(terminal),
  };
}
