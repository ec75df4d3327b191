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
  /** The line `next: …`, its commands (separated by ` · `) with the --context and --tenant of this one. */
  next(commands: string): string;
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
        (message) => terminal.err(`${message}\n`),
      ),
    next: (commands) => `next: ${commands}`,
    progress: () => makeProgress(terminal),
  };
}

/** Without the flags a printed command would act for another tenant, or on another control plane, than this one did. */
export function sessionFor(session: Session, options: OptionValues): Session {
  const flags = ['context', 'tenant'].flatMap((name) => {
    const value = options.text(name);
    return value === undefined ? [] : [` --${name} ${value}`];
  });
  const target = flags.join('');
  return {
    ...session,
    next: (commands) =>
      `next: ${commands
        .split(' · ')
        .map((command) => `${command}${target}`)
        .join(' · ')}`,
  };
}
