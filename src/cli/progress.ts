import { printable } from './style.ts';
import type { Terminal } from './terminal.ts';

/** One line per step, ticked with its time. */
export interface Step {
  /** What is going on now; shown on a terminal only while it lasts, elsewhere as a line of its own. */
  note(text: string): void;
  /** What it waits for, one by one: a line each below it on a terminal; elsewhere a line for each that changed. */
  parts(parts: readonly Part[]): void;
  done(detail?: string): void;
  fail(detail: string): void;
}

/** One of those that a step waits for, such as an instance. */
export interface Part {
  readonly name: string;
  readonly text: string;
  readonly isWell: boolean;
}

export interface Progress {
  step(label: string): Step;
  line(text: string): void;
}

type Drawn = Pick<Terminal, 'errStyle' | 'errLive' | 'errSize' | 'err' | 'draw'>;

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const FRAME_MS = 80;

export function seconds(ms: number): string {
  return ms < 100 ? '' : ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** What would make several lines of one, which is drawn again and again or one of many. */
function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ');
}

/** So many parts are written one by one where lines cannot be taken back. */
const WRITTEN = 20;
const SHOWN = 12;
/** Of a terminal: the step itself, how many more there are, and where the cursor goes in the end. */
const BESIDE_PARTS = 3;

/** Those with trouble first: there may not be room for all. */
function partLines(parts: readonly Part[], room: number): readonly string[] {
  const sorted = parts.toSorted((one, other) => Number(one.isWell) - Number(other.isWell));
  const shown = sorted.slice(0, Math.max(0, Math.min(SHOWN, room)));
  const rest = sorted.slice(shown.length);
  const well = rest.filter(({ isWell }) => isWell).length;
  return [
    ...shown.map(({ name, text, isWell }) => `  ${isWell ? '✔' : '·'} ${oneLine(`${name}: ${text}`)}`),
    ...(rest.length === 0 || room <= 0 ? [] : [`    and ${rest.length} more, ${well} of them well`]),
  ];
}

/** A spinner on a terminal, plain lines elsewhere: a log file gets no moving parts. */
export function makeProgress(terminal: Drawn): Progress {
  return {
    line: (text) => terminal.err(`${text}\n`),
    step: (label) => (terminal.errLive ? drawnStep(terminal, label) : writtenStep(terminal, label)),
  };
}

/** A step that ends by Ctrl-C, and says nothing else, says that: nothing is wrong with it. */
export function interruptible(progress: Progress, interrupted: AbortSignal): Progress {
  return {
    ...progress,
    step: (label) => {
      const step = progress.step(label);
      const fail = (detail: string): void =>
        step.fail(detail === '' && interrupted.aborted ? 'interrupted' : detail);
      return { ...step, fail };
    },
  };
}

function endLine(
  { errStyle: style }: Drawn,
  label: string,
  { isDone, detail, ms }: { readonly isDone: boolean; readonly detail: string; readonly ms: number },
): string {
  const time = seconds(ms);
  const mark = isDone ? style.green('✔') : style.red('✘');
  return `${mark} ${label}${detail === '' ? '' : `: ${detail}`}${time === '' ? '' : ` ${style.dim(`(${time})`)}`}\n`;
}

function drawnStep(terminal: Drawn, label: string): Step {
  const began = performance.now();
  let noted = '';
  let parts: readonly Part[] = [];
  let frame = 0;
  let ended = false;
  const draw = (): void => {
    frame += 1;
    const text = `${FRAMES[frame % FRAMES.length] ?? ''} ${label}${noted === '' ? '' : `: ${noted}`}`;
    terminal.draw([oneLine(text), ...partLines(parts, terminal.errSize.rows - BESIDE_PARTS)]);
  };
  const timer = setInterval(draw, FRAME_MS);
  draw();
  const end = (isDone: boolean, detail: string): void => {
    if (ended) return;
    ended = true;
    clearInterval(timer);
    terminal.draw([]);
    terminal.err(endLine(terminal, label, { isDone, detail, ms: performance.now() - began }));
  };
  return {
    note: (text) => void (noted = text),
    parts: (now) => void (parts = now),
    done: (detail = '') => end(true, detail),
    fail: (detail) => end(false, detail),
  };
}

function writtenStep(terminal: Drawn, label: string): Step {
  const began = performance.now();
  const seen = new Map<string, string>();
  let noted = '';
  let ended = false;
  const end = (isDone: boolean, detail: string): void => {
    if (ended) return;
    ended = true;
    terminal.err(endLine(terminal, label, { isDone, detail, ms: performance.now() - began }));
  };
  return {
    note: (text) => {
      if (ended || text === noted) return;
      noted = text;
      if (text !== '') terminal.err(`  ${label}: ${text}\n`);
    },
    parts: (parts) => {
      if (ended) return;
      const told = parts.length > WRITTEN ? parts.filter(({ isWell }) => !isWell).slice(0, WRITTEN) : parts;
      for (const { name, text } of told) {
        if (seen.get(name) === text) continue;
        seen.set(name, text);
        terminal.err(`  ${oneLine(`${name}: ${text}`)}\n`);
      }
    },
    done: (detail = '') => end(true, detail),
    fail: (detail) => end(false, detail),
  };
}
