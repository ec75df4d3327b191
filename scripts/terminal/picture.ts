import { plainText, type Span } from './colours.ts';

export interface ShownLine {
  readonly spans: readonly Span[];
  /** Since the beginning of the picture. */
  readonly atMs: number;
}

const FONT_SIZE = 13;
const LINE = 19;
const CELL = 7.83;
const EDGE = 18;

/** Names of the looks in `colours.ts`; light, dark. */
const PALETTE: Readonly<Record<string, readonly [string, string]>> = {
  k: ['#1f2328', '#8b949e'],
  r: ['#cf222e', '#f85149'],
  g: ['#1a7f37', '#3fb950'],
  y: ['#9a6700', '#d29922'],
  b: ['#0969da', '#58a6ff'],
  m: ['#8250df', '#bc8cff'],
  c: ['#0b7285', '#39c5cf'],
  w: ['#1f2328', '#e6edf3'],
  h: ['#59636e', '#8b949e'],
  D: ['#59636e', '#8b949e'],
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function style(): string {
  const fills = (at: 0 | 1): string =>
    Object.entries(PALETTE)
      .map(([name, colours]) => `.${name}{fill:${colours[at]}}`)
      .join('');
  // Who draws no animation, or asked for none, sees the last picture.
  return `text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
rect{fill:#fff;stroke:#d0d7de}.B{font-weight:600}${fills(0)}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#30363d}${fills(1)}}
@media(prefers-reduced-motion:no-preference){text{animation:a .01s both}}@keyframes a{from{opacity:0}to{opacity:1}}`;
}

function lineText({ spans, atMs }: ShownLine, at: number): string {
  const inner = spans
    .map(({ text, look }) =>
      look === '' ? escaped(text) : `<tspan class="${look}">${escaped(text)}</tspan>`,
    )
    .join('')
    .trimEnd();
  const y = EDGE + FONT_SIZE + at * LINE;
  return `<text x="${EDGE}" y="${y}" xml:space="preserve" style="animation-delay:${(atMs / 1000).toFixed(1)}s">${inner}</text>`;
}

/** A recorded terminal as one file: lines appear when they did, in light or dark as its reader has it, without any script. */
export function terminalPicture(title: string, lines: readonly ShownLine[]): string {
  const columns = Math.max(0, ...lines.map(({ spans }) => plainText(spans).length));
  const width = Math.ceil(columns * CELL) + 2 * EDGE;
  const height = lines.length * LINE + 2 * EDGE - (LINE - FONT_SIZE);
  const shown = lines.map((line, at) => (plainText(line.spans) === '' ? '' : lineText(line, at)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${style()}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${shown.filter((text) => text !== '').join('\n')}
</svg>
`;
}
