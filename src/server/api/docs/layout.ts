import { withoutTrailing } from '../../../core/model/text-end.ts';
import { html, type Html } from './html.ts';

/** Where the pages live. Links are paths on the host that was asked, whatever name the caller used for it. */
export interface Site {
  /** Path in front of /docs when a proxy serves the control plane below one; usually empty. */
  readonly prefix: string;
  /** The address the product prints in `doc`, without a trailing slash. */
  readonly baseUrl: string;
}

export function siteOf(baseUrl: string): Site {
  const trimmed = withoutTrailing(baseUrl, '/');
  const path = URL.canParse(trimmed) ? new URL(trimmed).pathname : trimmed;
  return { baseUrl: trimmed, prefix: withoutTrailing(path, '/') };
}

export interface DocumentPage {
  readonly title: string;
  readonly description: string;
  readonly content: Html;
  /** The script filters the list of codes; other pages have none. */
  readonly searchable?: boolean;
}

export function renderPage(site: Site, page: DocumentPage): string {
  const docs = `${site.prefix}/docs`;
  const script = page.searchable ? html`<script src="${docs}/search.js" defer></script>` : undefined;
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
${script}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top"><nav aria-label="Documentation">
<a class="brand" href="${docs}">Berth <span>docs</span></a>
<a href="${docs}/errors">Rejection codes</a>
<a href="${site.prefix}/openapi.json">OpenAPI</a>
</nav></header>
<main id="content">
${page.content}
</main>
</body>
</html>
`.markup;
}
