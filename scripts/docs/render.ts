import { posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { escapeText } from '../../src/server/api/docs/html.ts';
import { anchors } from './headings.ts';
import type { Source } from './sources.ts';

export interface Section {
  readonly anchor: string;
  readonly heading: string;
  readonly level: number;
  readonly text: string;
}

export interface Rendered {
  readonly markup: string;
  readonly sections: readonly Section[];
  /** `guide/nodes#maintenance`, with the page that has the link. */
  readonly links: readonly string[];
}

export interface RenderOptions {
  readonly paths: ReadonlySet<string>;
  /** Of a picture: its address from the page; undefined: pictures are left out. */
  readonly image?: (path: string) => string;
}

const textOf = (tokens: readonly Token[] | undefined): string =>
  (tokens ?? [])
    .map((token) =>
      'tokens' in token && token.tokens !== undefined
        ? textOf(token.tokens)
        : 'text' in token
          ? String(token.text)
          : '',
    )
    .join('');

/** Commands of a session stand out from what they printed. */
function sessionLines(text: string): string {
  let open = false;
  return text
    .split('\n')
    .map((line) => {
      const typed = open || line.startsWith('$ ');
      open = typed && line.endsWith('\\');
      return typed ? `<span class="typed">${escapeText(line)}</span>` : escapeText(line);
    })
    .join('\n');
}

const inDocs = (source: Source, href: string): string =>
  posix.normalize(posix.join(posix.dirname(source.file), href));

/** One page: raw HTML of the source is dropped (comments) or shown as text, so nothing but this makes markup. */
export function renderMarkdown(source: Source, { paths, image }: RenderOptions): Rendered {
  const sections: (Section & { text: string })[] = [{ anchor: '', heading: '', level: 1, text: '' }];
  const links: string[] = [];
  const anchorOf = anchors();
  const depth = posix.dirname(source.path) === '.' ? '.' : '..';
  const marked = new Marked({ gfm: true });

  const linkTo = (href: string): string | undefined => {
    if (/^https?:/.test(href)) return href;
    if (href.startsWith('#')) {
      links.push(`${source.path}${href}`);
      return href;
    }
    const [file = '', anchor] = inDocs(source, href).split('#', 2);
    if (file === 'reference/rejections.md') {
      if (anchor === undefined) return `${depth}/errors`;
      links.push(`errors#${anchor}`);
      return `${depth}/errors/${anchor}`;
    }
    const path = file.replace(/\.md$/, '');
    if (!paths.has(path)) return undefined;
    links.push(anchor === undefined ? path : `${path}#${anchor}`);
    return `${depth}/${path}${anchor === undefined ? '' : `#${anchor}`}`;
  };

  marked.use({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) =>
        text.trimStart().startsWith('<!--') ? '' : escapeText(text),
      heading({ tokens, depth: level }: Tokens.Heading) {
        const anchor = anchorOf(textOf(tokens));
        const inner = this.parser.parseInline(tokens);
        return level === 1
          ? `<h1 id="${anchor}">${inner}</h1>\n`
          : `<h${level} id="${anchor}"><a class="anchor" href="#${anchor}">${inner}</a></h${level}>\n`;
      },
      code: ({ text, lang }: Tokens.Code) => {
        const isSession = lang === 'console';
        const body = isSession ? sessionLines(text) : escapeText(text);
        return `<pre tabindex="0" data-copy="${isSession ? 'console' : 'text'}"><code>${body}\n</code></pre>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const target = linkTo(href);
        const inner = this.parser.parseInline(tokens);
        // Of the repository, and not among the pages.
        if (target === undefined)
          return `<span title="${escapeText(inDocs(source, href))} in the repository">${inner}</span>`;
        return `<a href="${escapeText(target)}">${inner}</a>`;
      },
      image: ({ href, text }: Tokens.Image) =>
        image === undefined
          ? ''
          : `<img src="${escapeText(`${depth}/${image(inDocs(source, href))}`)}" alt="${escapeText(text)}" loading="lazy">`,
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${token.rows.map((cells) => row(cells, 'td')).join('\n')}</tbody></table></div>\n`;
      },
    },
  });

  const tokens = marked.lexer(source.markdown);
  const anchorOfSection = anchors();
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = textOf(token.tokens);
      sections.push({ anchor: anchorOfSection(heading), heading, level: token.depth, text: '' });
      continue;
    }
    const last = sections.at(-1);
    if (last !== undefined && token.type !== 'html')
      last.text += ` ${token.raw
        .replaceAll(/<!--[\s\S]*?-->/g, '')
        .replaceAll(/\]\([^)]*\)/g, ']')
        .replaceAll(/[`*#|[\]]|-{3,}/g, ' ')}`;
  }
  return {
    markup: marked.parser(tokens),
    sections: sections.map((section) => ({ ...section, text: section.text.replaceAll(/\s+/g, ' ').trim() })),
    links,
  };
}
