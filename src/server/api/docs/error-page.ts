import {
  CATALOGUE_AREAS,
  type CatalogueArea,
  type RejectionCode,
} from '../../../core/rejections/catalogue.ts';
import type { CatalogueEntry } from '../../../core/rejections/entry.ts';
import { compareExamples, type ExampleLine } from './comparison.ts';
import { codeLink } from './code-list.ts';
import { html, prose, type Html } from './html.ts';
import { renderPage, siteOf, type Site } from './layout.ts';
import type { DocsEntry } from './library.ts';
import { adviceFor, statusText } from './status.ts';

function areaOf(code: RejectionCode): CatalogueArea | undefined {
  return CATALOGUE_AREAS.find((area) => area.codes.includes(code));
}

/** `computed` stands for a path that is put together from the request. */
function computedNote(entry: CatalogueEntry): Html | undefined {
  if (!entry.field.includes('computed')) return undefined;
  return html` <span class="note">(the rejection names the exact path)</span>`;
}

function facts(entry: CatalogueEntry): Html {
  const statuses = [entry.status, entry.alsoStatus].filter((status) => status !== undefined);
  return html`<dl class="facts">
<div><dt>Status</dt><dd>${statuses.map(statusText).join(' or ')}</dd></div>
<div><dt>Field</dt><dd><code>${entry.field}</code>${computedNote(entry)}</dd></div>
</dl>`;
}

function exampleLine(line: ExampleLine): Html {
  if (!line.changed) return html`${line.text}\n`;
  const indent = line.text.length - line.text.trimStart().length;
  return html`${line.text.slice(0, indent)}<mark>${line.text.slice(indent)}</mark>\n`;
}

function exampleBlock(label: string, kind: 'refused' | 'corrected', lines: readonly ExampleLine[]): Html {
  return html`<figure class="example ${kind}"><figcaption>${label}</figcaption><pre tabindex="0"><code>${lines.map(exampleLine)}</code></pre></figure>`;
}

function examples(entry: CatalogueEntry): Html {
  const [refused, corrected] = compareExamples(entry.failing, entry.corrected);
  return html`<div class="pair">
${exampleBlock('Refused', 'refused', refused)}
${exampleBlock('Corrected', 'corrected', corrected)}
</div>`;
}

function record(site: Site, code: RejectionCode, entry: CatalogueEntry): Html {
  const shown = {
    code,
    field: entry.field === 'computed' ? '<path of the field that failed>' : entry.field,
    received: '<what was received, or (redacted, …) where it may hold a credential>',
    expected: entry.accepted,
    why: '<the reason in words; it may change, so branch on code>',
    doc: `${site.baseUrl}/docs/errors/${code}`,
  };
  return html`<pre tabindex="0"><code>${JSON.stringify(shown, null, 2)}</code></pre>`;
}

function related(site: Site, code: RejectionCode, area: CatalogueArea): Html | undefined {
  const others = area.codes.filter((other) => other !== code);
  if (others.length === 0) return undefined;
  return html`<h2>Related codes: ${area.title}</h2>
<ul class="related">${others.map((other) => html`<li>${codeLink(site, other)}</li>`)}</ul>`;
}

export function renderErrorPage(
  code: RejectionCode,
  entry: CatalogueEntry,
  baseUrl: string,
  entries: readonly DocsEntry[],
): string {
  const site = siteOf(baseUrl, entries);
  const area = areaOf(code);
  const errors = `${site.prefix}/docs/errors`;
  const crumb = area && html` / <a href="${errors}#${area.slug}">${area.title}</a>`;
  const content = html`<p class="crumbs"><a href="${errors}">Rejection codes</a>${crumb}</p>
<h1 class="code">${code}</h1>
<p class="lead">${entry.title}</p>
${facts(entry)}
<h2>Cause</h2>
<p>${prose(entry.cause)}</p>
<h2>Accepted form</h2>
<p class="accepted">${entry.accepted}</p>
<h2>Example</h2>
${examples(entry)}
<h2>What to do next</h2>
<p>${adviceFor(entry.status)}${entry.alsoStatus === undefined ? undefined : html` With ${entry.alsoStatus}: ${adviceFor(entry.alsoStatus)}`} A rejection means that nothing was stored.</p>
<h2>The answer</h2>
${record(site, code, entry)}
${area && related(site, code, area)}`;
  return renderPage(site, { title: code, description: entry.title, content });
}
