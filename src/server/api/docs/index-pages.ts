import { CATALOGUE, CATALOGUE_AREAS, type RejectionCode } from '../../../core/rejections/catalogue.ts';
import { nearestFew } from '../../../core/schema/nearest.ts';
import { codeLink, codeList } from './code-list.ts';
import { html, type Html } from './html.ts';
import { byGroup, renderPage, siteOf, type Site } from './layout.ts';
import type { DocsEntry } from './library.ts';

const RECORD_FIELDS: readonly (readonly [string, string])[] = [
  ['code', 'The stable code. Branch on it; it never changes its meaning.'],
  ['field', 'Path of the field, header or parameter that failed.'],
  ['received', 'What was received, cut at 256 characters; (absent) or (redacted, …) where that applies.'],
  ['expected', 'The accepted form.'],
  ['why', 'The reason in words, for people. The wording may change.'],
  ['doc', 'The page of the code on this server.'],
];

function recordTable(): Html {
  const rows = RECORD_FIELDS.map(
    ([name, meaning]) => html`<div><dt><code>${name}</code></dt><dd>${meaning}</dd></div>`,
  );
  return html`<dl class="facts record">${rows}</dl>`;
}

const NOT_BUILT = html`<p class="note">The guide is not built in this checkout. To make it: <code>npm run build</code>.</p>`;

function guideList(site: Site): Html {
  if (site.entries.length === 0) return NOT_BUILT;
  const item = ({ path, title, summary }: DocsEntry): Html =>
    html`<li><a href="${site.prefix}/docs/${path}">${title}</a><p>${summary}</p></li>`;
  return html`${byGroup(site.entries).map(
    ([group, entries]) => html`<h2>${group}</h2><ul class="guides">${entries.map(item)}</ul>`,
  )}`;
}

export function renderDocsIndex(baseUrl: string, query: string, entries: readonly DocsEntry[]): string {
  const site = siteOf(baseUrl, entries);
  const content = html`<h1>Documentation</h1>
<p class="lead">The guide, the reference, and a page for every refusal: why the rule exists, what is accepted, and an example of both.</p>
${guideList(site)}
<details><summary>How to read a rejection</summary>
<p>The body of a refused request is one JSON object with six strings. Nothing was stored: fix the named field and send the request again.</p>
${recordTable()}
</details>
<h2 id="codes">Rejection codes</h2>
${codeList(site, `${site.prefix}/docs`, query)}`;
  const description =
    'Documentation of the Berth control plane: guide, reference, and rejection codes with cause, accepted form and examples.';
  return renderPage(site, { title: 'Documentation', description, content, searchable: true });
}

export function renderErrorIndex(baseUrl: string, query: string, entries: readonly DocsEntry[]): string {
  const site = siteOf(baseUrl, entries);
  const content = html`<h1>Rejection codes</h1>
<p class="lead">Clients branch on the code, never on the text. Press / to search.</p>
${codeList(site, `${site.prefix}/docs/errors`, query)}`;
  const description =
    'All rejection codes of the Berth control plane, searchable by code, title, field and status.';
  return renderPage(site, { title: 'Rejection codes', description, content, searchable: true });
}

/** Codes that look alike first, then codes that share the most words with it. */
function suggestions(sought: string): readonly RejectionCode[] {
  const codes = CATALOGUE_AREAS.flatMap((area) => area.codes);
  const alike = new Set<string>(nearestFew(sought, codes, 5));
  const words = new Set(sought.toLowerCase().split(/[^a-z0-9]+/));
  const score = (code: RejectionCode): number =>
    alike.has(code) ? 1000 : code.split('_').filter((word) => words.has(word)).length;
  return codes
    .filter((code) => score(code) > 0)
    .sort((a, b) => score(b) - score(a))
    .slice(0, 8);
}

export function renderUnknownCode(sought: string, baseUrl: string, entries: readonly DocsEntry[]): string {
  const site = siteOf(baseUrl, entries);
  const near = suggestions(sought);
  const items = near.map((code) => html`<li>${codeLink(site, code)}<p>${CATALOGUE[code].title}</p></li>`);
  const list =
    near.length === 0 ? undefined : html`<h2>Codes that look like it</h2><ul class="codes">${items}</ul>`;
  const content = html`<p class="crumbs"><a href="${site.prefix}/docs/errors">Rejection codes</a></p>
<h1>Unknown code</h1>
<p class="lead">This control plane has no code <code>${sought}</code>.</p>
<p>Codes never change their name. A newer control plane may know codes that this one does not.</p>
${list}
<p><a href="${site.prefix}/docs/errors">All codes</a></p>`;
  return renderPage(site, {
    title: 'Unknown code',
    description: 'This rejection code does not exist.',
    content,
  });
}

export function renderUnknownPage(baseUrl: string, entries: readonly DocsEntry[]): string {
  const site = siteOf(baseUrl, entries);
  const content = html`<h1>No such page</h1>
<p class="lead">The documentation has no page at this address.</p>
<p><a href="${site.prefix}/docs">To the documentation</a></p>`;
  return renderPage(site, { title: 'No such page', description: 'This page does not exist.', content });
}
