import { clipped } from './display-width.ts';
import { printable } from './style.ts';
import type { Terminal } from './terminal.ts';

/** One line per step, ticked with its time. */
export interface Step {
  /** What is going on now; shown on a terminal only while it lasts, elsewhere as a line of its own. */
  note(text: string): void;
  done(detail?: string): void;
  fail(detail: string): void;
}

export interface Progress {
  step(label: string): Step;
  line(text: string): void;
}

type Drawn = Pick<Terminal, 'errStyle' | 'errLive' | 'columns' | 'err' | 'eraseLine'>;

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const FRAME_MS = 80;

export function seconds(ms: number): string {
  return ms < 100 ? '' : ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** What stands in the line that is drawn again and again: only one line can be taken back. */
function oneLine(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ');
}

/** A spinner on a terminal, plain lines elsewhere: a log file gets no moving parts. */
export function makeProgress(terminal: Drawn): Progress {
  const { errStyle: style } = terminal;
  const line = (text: string): void => terminal.err(`${text}\n`);
  return {
    line,
    step: (label) => {
      const began = performance.now();
      let noted = '';
      let frame = 0;
      let ended = false;
      const draw = (): void => {
        frame += 1;
        const text = `${FRAMES[frame % FRAMES.length] ?? ''} ${label}${noted === '' ? '' : `: ${noted}`}`;
        terminal.eraseLine();
        terminal.err(clipped(oneLine(text), Math.max(20, terminal.columns - 1)));
      };
      const timer = terminal.errLive ? setInterval(draw, FRAME_MS) : undefined;
      if (terminal.errLive) draw();
      const end = (mark: string, detail: string): void => {
        if (ended) return;
        ended = true;
        clearInterval(timer);
        if (terminal.errLive) terminal.eraseLine();
        const time = seconds(performance.now() - began);
        line(
          `${mark} ${label}${detail === '' ? '' : `: ${detail}`}${time === '' ? '' : ` ${style.dim(`(${time})`)}`}`,
        );
      };
      return {
        note: (text) => {
          if (ended || text === noted) return;
          noted = text;
          if (!terminal.errLive && text !== '') line(`  ${label}: ${text}`);
        },
        done: (detail = '') => end(style.green('✔'), detail),
        fail: (detail) => end(style.red('✘'), detail),
      };
    },
  };
}
