import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isRejectionCode } from '../src/core/rejections/catalogue.ts';
import { html, type Html } from '../src/server/api/docs/html.ts';
import { renderPage, type Site } from '../src/server/api/docs/layout.ts';
import { compressFiles } from './compress.ts';
import { type Rendered, renderMarkdown } from './docs/render.ts';
import { docsSources, type Source } from './docs/sources.ts';
import { ROOT } from './run.ts';
import { filesOf, isStale } from './stale.ts';

/**
 * The guide and the reference as the control plane serves them: `dist/docs`, whole pages with relative links, compressed, with the list of
 * pages, the index of the search, and last `built.json`. A link to a page or heading that is not there ends the build. With `--if-stale` nothing is
 * done while no source is newer, with `--check` nothing is written.
 */
const FOLDER = join(ROOT, 'dist/docs');
const SOURCES = [
  'docs/guide',
  'docs/reference',
  'docs/benchmarks.md',
  'docs/glossary.md',
  'scripts/docs',
  'scripts/build-docs.ts',
  'src/server/api/docs',
];
export const FONT = join(ROOT, 'node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2');
/** Of the text of one section in the index of the search. */
const MAX_INDEXED = 4000;
const MIN_CONTENTS = 4;

/** Markup of the Markdown renderer, which escapes what it prints. */
const trusted = (markup: string): Html => ({ markup });

function contents({ sections }: Rendered): Html | undefined {
  const chapters = sections.filter(({ level, heading }) => level === 2 && heading !== '');
  if (chapters.length < MIN_CONTENTS) return undefined;
  const items = chapters.map(({ anchor, heading }) => html`<li><a href="#${anchor}">${heading}</a></li>`);
  return html`<details class="toc"><summary>On this page</summary><ul>${items}</ul></details>`;
}

function withContents(rendered: Rendered): Html {
  const list = contents(rendered);
  if (list === undefined) return trusted(rendered.markup);
  const end = rendered.markup.indexOf('</h1>') + '</h1>'.length;
  return html`${trusted(rendered.markup.slice(0, end))}${list}${trusted(rendered.markup.slice(end))}`;
}

function neighbours(sources: readonly Source[], at: number, up: string): Html {
  const link = (source: Source | undefined, arrow: (title: string) => string): Html =>
    source === undefined
      ? html`<span></span>`
      : html`<a href="${up}/${source.path}">${arrow(source.title)}</a>`;
  return html`<nav class="around" aria-label="Around this page">${link(sources[at - 1], (title) => `← ${title}`)}${link(sources[at + 1], (title) => `${title} →`)}</nav>`;
}

/** Every link has to lead somewhere, by the pages and headings that there are. */
function brokenLinks(pages: ReadonlyMap<string, Rendered>): readonly string[] {
  return [...pages].flatMap(([path, { links }]) =>
    links
      .filter((link) => {
        const [to = '', anchor] = link.split('#', 2);
        if (to === 'errors') return anchor !== undefined && !isRejectionCode(anchor);
        return (
          anchor !== undefined &&
          pages.get(to)?.sections.every((section) => section.anchor !== anchor) !== false
        );
      })
      .map((link) => `docs/${path}.md: ${link} does not exist`),
  );
}

export interface BuiltDocs {
  readonly files: ReadonlyMap<string, string>;
  readonly broken: readonly string[];
}

export function renderDocs(image?: (path: string) => string): BuiltDocs {
  const sources = docsSources();
  const entries = sources.map(({ group, path, title, summary }) => ({ group, path, title, summary }));
  const paths = new Set(sources.map(({ path }) => path));
  const pages = new Map(
    sources.map((source) => [source.path, renderMarkdown(source, { paths, ...(image && { image }) })]),
  );
  const files = new Map<string, string>();
  for (const [at, source] of sources.entries()) {
    const rendered = pages.get(source.path);
    if (rendered === undefined) continue;
    // The pages are below /docs, wherever that is: `guide/x` two folders down, `glossary` one.
    const isDeep = source.path.includes('/');
    const site: Site = { prefix: isDeep ? '../..' : '..', baseUrl: '', entries };
    const content = html`<article class="text">${withContents(rendered)}</article>
${neighbours(sources, at, isDeep ? '..' : '.')}`;
    const { title, summary, path } = source;
    files.set(`${path}.html`, renderPage(site, { title, description: summary, content, path }));
  }
  const sections = sources.flatMap(({ path, title }) =>
    (pages.get(path)?.sections ?? [])
      .filter(({ heading, text }) => heading !== '' || text !== '')
      .map(({ anchor, heading, level, text }) => [
        anchor === '' || level === 1 ? path : `${path}#${anchor}`,
        title,
        level === 1 ? '' : heading,
        text.slice(0, MAX_INDEXED),
      ]),
  );
  files.set('pages.json', JSON.stringify(entries));
  files.set('search.json', JSON.stringify(sections));
  return { files, broken: brokenLinks(pages) };
}

function build(): void {
  const { files, broken } = renderDocs();
  for (const line of broken) process.stderr.write(`  ${line}\n`);
  if (broken.length > 0) process.exitCode = 1;
  if (broken.length > 0 || process.argv.includes('--check')) return;
  const folder = `${FOLDER}-${process.pid}`;
  try {
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    copyFileSync(FONT, join(folder, 'inter.woff2'));
    // Once is enough for text that few read, and keeps the package small.
    const sizes = compressFiles(folder, { br: false });
    writeFileSync(join(folder, 'built.json'), '{}\n');
    rmSync(FOLDER, { recursive: true, force: true });
    renameSync(folder, FOLDER);
    const total = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
    process.stdout.write(
      `docs: ${filesOf(FOLDER).length} files, ${Math.round(total / 1000)} kB compressed\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (
  import.meta.main &&
  !(process.argv.includes('--if-stale') && !isStale(join(FOLDER, 'built.json'), SOURCES))
)
  build();
