/** Text of one look: classes of the picture, with spaces between them. */
export interface Span {
  readonly text: string;
  readonly look: string;
}

/** Of Select Graphic Rendition in its order, and the grey that is a bright black. */
const COLOURS = ['k', 'r', 'g', 'y', 'b', 'm', 'c', 'w', 'h'];

/** Select Graphic Rendition, as far as a program with eight colours, bold and dim goes. */
function changed(look: ReadonlySet<string>, codes: string): ReadonlySet<string> {
  let now = new Set(look);
  const without = (...names: readonly string[]) => new Set([...now].filter((name) => !names.includes(name)));
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) now = new Set();
    else if (code === 1) now.add('B');
    else if (code === 2) now.add('D');
    else if (code === 22) now = without('B', 'D');
    else if (code === 39) now = without(...COLOURS);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
      now = without(...COLOURS).add(COLOURS[code === 90 ? 8 : code % 10] ?? '');
  }
  return now;
}

/** What tmux captured with its escapes: a look lasts until it is changed, over the ends of lines too. */
export function colouredLines(captured: string): readonly (readonly Span[])[] {
  let look: ReadonlySet<string> = new Set();
  return captured.split('\n').map((line) => {
    const [first = '', ...rest] = line.split('\u001B[');
    const spans: Span[] = [];
    const add = (text: string): void => {
      if (text !== '') spans.push({ text, look: [...look].join(' ') });
    };
    add(first);
    for (const part of rest) {
      const end = part.indexOf('m');
      look = changed(look, part.slice(0, end));
      add(part.slice(end + 1));
    }
    return spans;
  });
}

export function plainText(spans: readonly Span[]): string {
  return spans
    .map(({ text }) => text)
    .join('')
    .trimEnd();
}
