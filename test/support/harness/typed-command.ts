import { COMMANDS } from '../../../src/cli/commands/index.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { report } from '../../../src/cli/report.ts';
import { makeSession } from '../../../src/cli/session.ts';
import { makeStyle } from '../../../src/cli/style.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';

export interface CommandOutcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** A command as the program carries it out, in this process. `HOME` is where it keeps contexts. */
export async function typeCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  input = '',
  /** Of one that stays: ends it, by what it has printed. */
  isEnough: (out: string, err: string) => boolean = () => false,
): Promise<CommandOutcome> {
  let out = '';
  let err = '';
  const interruption = new AbortController();
  const ends = AbortSignal.any([interruption.signal, AbortSignal.timeout(20_000)]);
  const terminal: Terminal = {
    style: makeStyle(false),
    errStyle: makeStyle(false),
    live: false,
    errLive: false,
    interactive: false,
    columns: 100,
    out: (text) => {
      out += text;
      if (isEnough(out, err)) interruption.abort();
    },
    err: (text) => {
      err += text;
      if (isEnough(out, err)) interruption.abort();
    },
    clearScreen: () => undefined,
    draw: () => undefined,
    errSize: { columns: 100, rows: 24 },
    readInput: async () => input,
    ask: async () => '',
    askHidden: async () => '',
  };
  const session = makeSession(terminal, environment, ends, '1.2.3');
  try {
    return { status: await runProgram(COMMANDS, words, session), out, err };
  } catch (error) {
    const status = report(terminal, error);
    return { status, out, err };
  }
}
