import { withoutTrailing } from '../../../core/model/text-end.ts';
import { html, type Html } from './html.ts';
import type { DocsEntry } from './library.ts';

/** Where the pages live. Links are paths on the host that was asked, whatever name the caller used for it. */
export interface Site {
  /** Path in front of /docs when a proxy serves the control plane below one; usually empty. */
  readonly prefix: string;
  /** The address the product prints in `doc`, without a trailing slash. */
  readonly baseUrl: string;
  /** Pages of the guide and the reference, for the list beside every page. */
  readonly entries: readonly DocsEntry[];
}

export function siteOf(baseUrl: string, entries: readonly DocsEntry[] = []): Site {
  const trimmed = withoutTrailing(baseUrl, '/');
  const path = URL.canParse(trimmed) ? new URL(trimmed).pathname : trimmed;
  return { baseUrl: trimmed, prefix: withoutTrailing(path, '/'), entries };
}

export interface DocumentPage {
  readonly title: string;
  readonly description: string;
  readonly content: Html;
  /** The script filters the list of codes; other pages have none. */
  readonly searchable?: boolean;
  /** Of a page of the guide or the reference: its path below /docs. */
  readonly path?: string;
}

export function byGroup(entries: readonly DocsEntry[]): readonly (readonly [string, readonly DocsEntry[]])[] {
  return [...Map.groupBy(entries, ({ group }) => group)];
}

function pageList(site: Site, current: string | undefined): Html | undefined {
  if (site.entries.length === 0) return undefined;
  const link = ({ path, title }: DocsEntry): Html =>
    html`<li><a href="${site.prefix}/docs/${path}"${path === current ? html` aria-current="page"` : undefined}>${title}</a></li>`;
  const groups = byGroup(site.entries).map(
    ([group, entries]) => html`<h2>${group}</h2><ul>${entries.map(link)}</ul>`,
  );
  return html`<nav class="pages" id="pages" aria-label="Pages">${groups}</nav>`;
}

export function renderPage(site: Site, page: DocumentPage): string {
  const docs = `${site.prefix}/docs`;
  const codes = page.searchable ? html`<script src="${docs}/search.js" defer></script>` : undefined;
  const pages = pageList(site, page.path);
  const find =
    pages &&
    html`<form class="find" action="${docs}" data-find="${docs}"><input name="q" type="search" maxlength="200" autocomplete="off" spellcheck="false" placeholder="Search" aria-label="Search the documentation"><ol class="found" aria-label="Found" hidden></ol></form>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.description}">
<title>${page.title} · Berth</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${docs}/style.css">
<script src="${docs}/docs.js" defer></script>
${codes}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top"><nav aria-label="Documentation">
<a class="brand" href="${docs}">Berth <span>docs</span></a>
${find}
${pages && html`<a class="to-pages" href="#pages">Pages</a>`}
<a href="${docs}/errors">Rejection codes</a>
<a href="${site.prefix}/openapi.json">OpenAPI</a>
</nav></header>
<div class="frame">
<main id="content">
${page.content}
</main>
${pages}
</div>
</body>
</html>
`.markup;
}
