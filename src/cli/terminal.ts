import { usage } from './failure.ts';
import { inputText, requireDecoded } from './input-text.ts';
import { type Links, makeLinks, NO_LINKS, wantsLinks } from './links.ts';
import { MovingLines } from './moving-lines.ts';
import { makeStyle, printable, type Style, wantsColour } from './style.ts';

/** The person's side of a command. Results go to `out`, everything else to `err`, so that results can be piped. */
export interface Terminal {
  readonly style: Style;
  readonly errStyle: Style;
  /** Standard output is a terminal. */
  readonly live: boolean;
  /** Standard error is a terminal: progress may move. */
  readonly errLive: boolean;
  /** The user can be asked. */
  readonly interactive: boolean;
  readonly columns: number;
  /** Of standard error: what moves has to fit there. */
  readonly errSize: Size;
  /** On a terminal without all that would steer it but colours: much of what is said came from elsewhere. */
  out(text: string): void;
  err(text: string): void;
  /** Of standard output that is a terminal: begins an empty screen. */
  clearScreen(): void;
  /** Of standard error that is a terminal: its last lines, in place of those before; what is written meanwhile stands above them. */
  draw(lines: readonly string[]): void;
  /** Standard input, output and errors byte by byte, for a program that runs elsewhere; absent where there are none. */
  readonly pipes?: Pipes;
  /** Standard input, whole. */
  readInput(): Promise<string>;
  ask(question: string): Promise<string>;
  /** What is typed is not shown. */
  askHidden(question: string): Promise<string>;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Pipes {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

const DEFAULT_COLUMNS = 100;
const DEFAULT_ROWS = 24;
const CLEAR_SCREEN = '\u001B[H\u001B[2J';
const ERASE_LINE = '\r\u001B[2K';
const ERASE_ABOVE = '\u001B[1A\u001B[2K';

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** For a program as it is; for a terminal without what would steer it. */
export function writerTo(stream: Output, { shown }: Pick<Links, 'shown'>): (text: string) => void {
  return (text) => void stream.write(stream.isTTY === true ? shown(text) : text);
}

/** A terminal that was not told its size says 0. */
export function columnsOf({ columns = 0 }: Output): number {
  return columns > 0 ? columns : DEFAULT_COLUMNS;
}

export function systemTerminal(environment: NodeJS.ProcessEnv): Terminal {
  const { stdout, stderr } = process;
  const hasLinks = ({ isTTY }: NodeJS.WriteStream): boolean => wantsLinks(isTTY, environment);
  // Loaded when needed: it takes longer than reading the arguments does.
  const links =
    hasLinks(stdout) || hasLinks(stderr)
      ? makeLinks(process.getBuiltinModule('node:crypto').randomUUID())
      : NO_LINKS;
  const styleOf = (stream: NodeJS.WriteStream): Style =>
    makeStyle(wantsColour(stream.isTTY, environment), hasLinks(stream) ? links.link : undefined);
  const [out, err] = [writerTo(stdout, links), writerTo(stderr, links)];
  const moving = new MovingLines({
    columns: () => columnsOf(stderr),
    write: err,
    erase: (above) => void stderr.write(`${ERASE_LINE}${ERASE_ABOVE.repeat(above)}`),
  });
  return {
    style: styleOf(stdout),
    errStyle: styleOf(stderr),
    live: stdout.isTTY,
    errLive: stderr.isTTY && environment['TERM'] !== 'dumb',
    get interactive() {
      return process.getBuiltinModule('node:tty').isatty(0) && stderr.isTTY;
    },
    get columns() {
      return columnsOf(stdout);
    },
    get errSize() {
      return { columns: columnsOf(stderr), rows: stderr.rows > 0 ? stderr.rows : DEFAULT_ROWS };
    },
    out: stdout.isTTY ? (text) => moving.above(text, out) : out,
    err: (text) => moving.above(text, err),
    clearScreen: () => void stdout.write(CLEAR_SCREEN),
    draw: (lines) => moving.draw(lines),
    pipes: {
      // Opened when it is used: most commands read nothing, and opening it takes longer than printing their answer.
      get stdin() {
        return process.stdin;
      },
      stdout,
      stderr,
    },
    readInput: async () =>
      inputText(await (await import('node:stream/consumers')).buffer(process.stdin), 'standard input'),
    ask: (question) => askLine(question, true),
    askHidden: (question) => askLine(question, false),
  };
}

async function askLine(question: string, shown: boolean): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY)
    throw usage(`${question.trim()}: nobody can be asked, because standard input is not a terminal`);
  const { createInterface } = await import('node:readline');
  stderr.write(printable(question));
  // Without an output stream readline echoes nothing; with `terminal` it keeps the terminal from echoing as well.
  const reader = createInterface({ input: stdin, terminal: true, ...(shown ? { output: stderr } : {}) });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      reader.once('line', resolve);
      reader.once('SIGINT', () => reject(new Interrupted()));
      reader.once('close', () => reject(new Interrupted()));
    });
    return requireDecoded(answer, 'what was typed');
  } finally {
    reader.close();
    if (!shown) stderr.write('\n');
  }
}

/** Ctrl-C while a question was open. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}
