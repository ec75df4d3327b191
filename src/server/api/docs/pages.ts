import { CATALOGUE, isRejectionCode } from '../../../core/rejections/catalogue.ts';
import { renderErrorPage } from './error-page.ts';
import { GUIDES, type Guide } from './guides.ts';
import {
  renderDocsIndex,
  renderErrorIndex,
  renderGuide,
  renderUnknownCode,
  renderUnknownPage,
} from './index-pages.ts';
import { SEARCH_SCRIPT } from './search-script.ts';
import { STYLE } from './style.ts';

export interface DocsPage {
  readonly status: 200 | 404;
  readonly contentType: string;
  readonly body: string;
}

/** No inline script or style, nothing from elsewhere, no frames. */
export const DOCS_CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

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

function errorPage(segment: string, baseUrl: string): DocsPage {
  const code = decoded(segment);
  if (isRejectionCode(code)) return page(renderErrorPage(code, CATALOGUE[code], baseUrl));
  return page(renderUnknownCode(code.slice(0, MAX_SHOWN), baseUrl), 404);
}

function guidePage(slug: string, baseUrl: string, guides: readonly Guide[]): DocsPage {
  const guide = guides.find((candidate) => candidate.slug === slug);
  return guide === undefined ? page(renderUnknownPage(baseUrl), 404) : page(renderGuide(guide, baseUrl));
}

/**
 * The page at a path under /docs, or undefined for a path that is not the documentation's. `query` is the text
 * after the question mark; only `q` is read. `path` is without any prefix that a proxy adds.
 */
export function docsPage(
  path: string,
  query: string | undefined,
  baseUrl: string,
  guides: readonly Guide[] = GUIDES,
): DocsPage | undefined {
  if (path !== '/docs' && !path.startsWith('/docs/')) return undefined;
  const [first, second, ...rest] = path
    .split('/')
    .slice(2)
    .filter((segment) => segment !== '');
  const sought = new URLSearchParams(query ?? '').get('q') ?? '';
  if (first === undefined) return page(renderDocsIndex(baseUrl, sought, guides));
  if (second === undefined) {
    if (first === 'errors') return page(renderErrorIndex(baseUrl, sought));
    if (first === 'style.css') return { status: 200, contentType: 'text/css; charset=utf-8', body: STYLE };
    if (first === 'search.js')
      return { status: 200, contentType: 'text/javascript; charset=utf-8', body: SEARCH_SCRIPT };
  } else if (rest.length === 0) {
    if (first === 'errors') return errorPage(second, baseUrl);
    if (first === 'guide') return guidePage(second, baseUrl, guides);
  }
  return page(renderUnknownPage(baseUrl), 404);
}
