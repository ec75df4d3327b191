import { CATALOGUE, isRejectionCode } from '../../../core/rejections/catalogue.ts';
import { renderErrorPage } from './error-page.ts';
import { renderDocsIndex, renderErrorIndex, renderUnknownCode, renderUnknownPage } from './index-pages.ts';
import { DOCS_SCRIPT } from './docs-script.ts';
import type { DocsEntry } from './library.ts';
import { SEARCH_SCRIPT } from './search-script.ts';
import { STYLE } from './style.ts';

export interface DocsPage {
  readonly status: 200 | 404;
  readonly contentType: string;
  readonly body: string;
}

/** No inline script or style, nothing from elsewhere, no frames. */
export const DOCS_CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const MAX_SHOWN = 100;

function page(body: string, status: 200 | 404 = 200): DocsPage {
  return { status, contentType: 'text/html; charset=utf-8', body };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function errorPage(segment: string, baseUrl: string, entries: readonly DocsEntry[]): DocsPage {
  const code = decoded(segment);
  if (isRejectionCode(code)) return page(renderErrorPage(code, CATALOGUE[code], baseUrl, entries));
  return page(renderUnknownCode(code.slice(0, MAX_SHOWN), baseUrl, entries), 404);
}

const ASSETS: Readonly<Record<string, Pick<DocsPage, 'contentType' | 'body'>>> = {
  'style.css': { contentType: 'text/css; charset=utf-8', body: STYLE },
  'search.js': { contentType: 'text/javascript; charset=utf-8', body: SEARCH_SCRIPT },
  'docs.js': { contentType: 'text/javascript; charset=utf-8', body: DOCS_SCRIPT },
};

/**
 * The page at a path under /docs that is not made by the build (`library.ts`), or undefined for a path that is not the documentation's.
 * `query` is the text after the question mark; only `q` is read. `path` is without any prefix that a proxy adds.
 */
export function docsPage(
  path: string,
  query: string | undefined,
  baseUrl: string,
  entries: readonly DocsEntry[] = [],
): DocsPage | undefined {
  if (path !== '/docs' && !path.startsWith('/docs/')) return undefined;
  const [first, second, ...rest] = path
    .split('/')
    .slice(2)
    .filter((segment) => segment !== '');
  const sought = new URLSearchParams(query ?? '').get('q') ?? '';
  if (first === undefined) return page(renderDocsIndex(baseUrl, sought, entries));
  if (second === undefined) {
    if (first === 'errors') return page(renderErrorIndex(baseUrl, sought, entries));
    const asset = Object.hasOwn(ASSETS, first) ? ASSETS[first] : undefined;
    if (asset !== undefined) return { status: 200, ...asset };
  } else if (rest.length === 0 && first === 'errors') return errorPage(second, baseUrl, entries);
  return page(renderUnknownPage(baseUrl, entries), 404);
}
