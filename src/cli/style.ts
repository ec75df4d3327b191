import picocolors from 'picocolors';

/** Colour is decoration only: nothing is said by colour alone. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  /** The text, which leads to the address where the terminal can. */
  readonly link: (text: string, url: string) => string;
}

export function makeStyle(coloured: boolean, link: Style['link'] = (text) => text): Style {
  const { bold, dim, red, green, yellow, cyan } = picocolors.createColors(coloured);
  return { bold, dim, red, green, yellow, cyan, link };
}

/** https://no-color.org: any non-empty value turns colour off. What is no terminal may be undefined: a library would go by CI and FORCE_COLOR then. */
export function wantsColour(
  isTerminal: boolean | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  if ((environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb') return false;
  return isTerminal === true;
}

/**
 * Text from elsewhere (log lines, messages of images) must not steer the terminal: control characters other than tab and
 * newline, and those that turn the order of a line around, are shown as a replacement. Colours pass: they change nothing but the look.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /\u001B(?!\[[0-9;]*m)|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g,
    (character) => (character === '\r' ? '' : '\uFFFD'),
  );
}
