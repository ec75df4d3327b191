import { printable } from './style.ts';

/**
 * Links of a terminal (OSC 8). The program writes them with a mark that is made at random when it starts; on the way to the terminal only what bears
 * the mark becomes a link. Text from elsewhere cannot know it, so no record, log line or message makes one.
 */
export interface Links {
  link(text: string, url: string): string;
  /** As the terminal gets it: links of this program as such, everything else without what would steer it. */
  shown(text: string): string;
}

const ESCAPE = '\u001B';
const END = `${ESCAPE}\\`;
/** Terminals take no other, and nothing else belongs in an address. */
const ADDRESS = /^https?:\/\/[\u0021-\u007E]+$/;

/** Of an output that has none: nothing becomes a link. */
export const NO_LINKS: Links = { link: (text) => text, shown: printable };

export function makeLinks(mark: string): Links {
  const marked = new RegExp(`${ESCAPE}\\]8;${mark};([\\u0021-\\u007E]*)${ESCAPE}\\\\`);
  const at = (url: string): string => `${ESCAPE}]8;${mark};${url}${END}`;
  return {
    link: (text, url) => {
      const address = URL.canParse(url) ? new URL(url).href : '';
      return text !== '' && ADDRESS.test(address) ? `${at(address)}${text}${at('')}` : text;
    },
    shown: (text) =>
      text
        .split(marked)
        .map((piece, index) => (index % 2 === 1 ? `${ESCAPE}]8;;${piece}${END}` : printable(piece)))
        .join(''),
  };
}

const PROGRAMS: ReadonlySet<string> = new Set([
  'ghostty',
  'Hyper',
  'iTerm.app',
  'rio',
  'Tabby',
  'vscode',
  'WarpTerminal',
  'WezTerm',
]);
const NAMES = /^(?:alacritty|contour|foot|wezterm|xterm-ghostty|xterm-kitty)/;
const VARIABLES = ['DOMTERM', 'KITTY_WINDOW_ID', 'KONSOLE_VERSION', 'WT_SESSION'];
/** GNOME's library of terminals has them since 0.50; multiplexers pass them on since these. */
const VTE = 5000;
const TMUX = 3.4;

/** Whether the terminal is one that has links; one that has not may show them as letters. `FORCE_HYPERLINK` says so, or 0 that it has none. */
export function wantsLinks(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const value = (name: string): string => environment[name] ?? '';
  if (!isTerminal || value('NO_COLOR') !== '' || value('TERM') === 'dumb') return false;
  const forced = value('FORCE_HYPERLINK');
  if (forced !== '') return forced !== '0';
  if (value('TERM_PROGRAM') === 'tmux') return Number.parseFloat(value('TERM_PROGRAM_VERSION')) >= TMUX;
  // What is set there is of the terminal that a multiplexer was started in.
  if (/^(?:screen|tmux)/.test(value('TERM'))) return false;
  return (
    PROGRAMS.has(value('TERM_PROGRAM')) ||
    NAMES.test(value('TERM')) ||
    Number(value('VTE_VERSION')) >= VTE ||
    VARIABLES.some((name) => value(name) !== '')
  );
}
