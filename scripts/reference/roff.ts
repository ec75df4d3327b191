export interface ManPage {
  readonly name: string;
  readonly section: number;
  readonly summary: string;
  /** As the program prints it: titles at the margin, paragraphs, terms with a deeper description below or beside them. */
  readonly text: string;
}

interface Part {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Kept line by line: their breaks mean something. */
const VERBATIM = new Set(['SYNOPSIS', 'EXAMPLES', 'FIRST STEPS', 'VARIABLES', 'FILES']);
const TWO_COLUMNS = /^(\S(?:.*?\S)?) {2,}(\S.*)$/;
const SPECIAL: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

function escaped(text: string): string {
  const plain = text
    .replace(/[\\\-'`^~]/g, (found) => SPECIAL[found] ?? found)
    .replace(
      /[^\0-\x7f]/gu,
      (found) => `\\[u${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
  // A line that begins so would be taken for a request.
  return plain.replace(/^(?=\.)/, '\\&');
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The titles of a page: capitals, words before an indented list, or `Usage: …` and `Exit status: …` on one line. */
function parts(text: string): readonly Part[] {
  const found: { title: string; lines: string[] }[] = [];
  const lines = text.trimEnd().split('\n');
  const open = (title: string, first: readonly string[] = []): void =>
    void found.push({ title: title.toUpperCase(), lines: [...first] });
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1] ?? '';
    const inline = /^(Usage|Exit status): +(.+)$/.exec(line);
    const title = /^([A-Z][^(:.]*?)(?: \([^)]*\))?:?$/.exec(line);
    if (inline !== null) open(inline[1] === 'Usage' ? 'Synopsis' : 'Exit status', [inline[2] ?? '']);
    else if (title !== null && indentOf(next) > 0) open(title[1] ?? '');
    else if (indentOf(line) === 0 && line !== '' && /^$/.test(lines[index - 1] ?? '') && index > 0)
      open(found.some(({ title: known }) => known === 'DESCRIPTION') ? 'Notes' : 'Description', [line]);
    else found.at(-1)?.lines.push(line);
  }
  return found;
}

/** Lines between empty ones, without the indentation that all of them share. */
function blocks(lines: readonly string[]): readonly (readonly string[])[] {
  const filled = lines.filter((line) => line.trim() !== '');
  const margin = Math.min(...filled.map(indentOf));
  const found: string[][] = [[]];
  for (const line of lines)
    if (line.trim() === '') found.push([]);
    else found.at(-1)?.push(line.slice(margin));
  return found.filter((block) => block.length > 0);
}

function verbatim(lines: readonly string[]): string {
  return ['.EX', ...lines.map(escaped), '.EE'].join('\n');
}

/** Terms with what stands beside and below them. */
function terms(block: readonly string[]): string {
  return block
    .map((line) => {
      if (indentOf(line) > 0) return escaped(line.trim());
      const [, term = line, beside] = TWO_COLUMNS.exec(line) ?? [];
      return `.TP\n.B ${escaped(term)}${beside === undefined ? '' : `\n${escaped(beside)}`}`;
    })
    .join('\n');
}

function blockText(block: readonly string[]): string {
  const [first = ''] = block;
  if (indentOf(first) > 0) return `.PP\n.RS\n${verbatim(block.map((line) => line.trim()))}\n.RE`;
  if (block.some((line) => indentOf(line) > 0) || TWO_COLUMNS.test(first)) return terms(block);
  return `.PP\n${block.map((line) => escaped(line.trim())).join('\n')}`;
}

/** One page in the macros of man(7). */
export function roff(
  { name, section, summary, text }: ManPage,
  version: string,
  all: readonly ManPage[],
): string {
  const head = `.TH ${escaped(name.toUpperCase())} ${section} "" "Berth ${version}" "Berth"\n.ad l`;
  const said = `${summary.charAt(0).toLowerCase()}${summary.slice(1)}`;
  const body = parts(text)
    .filter(({ title, lines }) => title !== 'NAME' && lines.some((line) => line.trim() !== ''))
    .map(({ title, lines }) => {
      const inside = VERBATIM.has(title)
        ? blocks(title === 'SYNOPSIS' ? lines.map((line) => line.trim()) : lines)
            .map(verbatim)
            .join('\n.PP\n')
        : blocks(lines).map(blockText).join('\n');
      return `.SH ${escaped(title)}\n${inside}`;
    });
  const related = all.filter(
    (page) => page.name !== name && (page.name.startsWith(`${name}-`) || name.startsWith(`${page.name}-`)),
  );
  const others =
    related.length > 0 ? related : all.filter((page) => ['berth', 'berth-server'].includes(page.name));
  const see = others.map((page) => `.BR ${escaped(page.name)} (${page.section})`).join(' ,\n');
  return `${head}\n.SH NAME\n${escaped(name)} \\- ${escaped(said)}\n${body.join('\n')}\n.SH SEE ALSO\n${see}\n`;
}
