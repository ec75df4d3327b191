import {
  CATALOGUE,
  CATALOGUE_AREAS,
  type CatalogueArea,
  type RejectionCode,
} from '../../../core/rejections/catalogue.ts';
import { html, type Html } from './html.ts';
import type { Site } from './layout.ts';
import { matches, searchText, searchTerms } from './search.ts';
import { statusBadge } from './status.ts';

export function codeLink(site: Site, code: RejectionCode): Html {
  return html`<a class="code" href="${site.prefix}/docs/errors/${code}">${code}</a>`;
}

function row(site: Site, code: RejectionCode, shown: boolean): Html {
  const entry = CATALOGUE[code];
  const hidden = shown ? undefined : html` hidden`;
  return html`<li data-search="${searchText(code)}"${hidden}>
<div class="row-head">${codeLink(site, code)} ${statusBadge(entry)}</div>
<p>${entry.title}</p>
<p class="field">field <code>${entry.field}</code></p>
</li>
`;
}

function areaSection(site: Site, area: CatalogueArea, shown: ReadonlySet<RejectionCode>): Html {
  const hidden = area.codes.some((code) => shown.has(code)) ? undefined : html` hidden`;
  return html`<section data-area id="${area.slug}"${hidden}>
<h2>${area.title}</h2>
<ul class="codes">
${area.codes.map((code) => row(site, code, shown.has(code)))}</ul>
</section>
`;
}

function searchForm(action: string, query: string): Html {
  return html`<form role="search" method="get" action="${action}">
<label for="q">Find a code</label>
<div class="search"><input id="q" name="q" type="search" value="${query}" maxlength="200" autocomplete="off" spellcheck="false" placeholder="secret path, 409, healthCheck.timeout &hellip;"><button type="submit">Search</button></div>
</form>`;
}

/** The whole catalogue with a search field. Rows that do not match are sent hidden, so that the script can show them again. */
export function codeList(site: Site, action: string, query: string): Html {
  const terms = searchTerms(query);
  const codes = CATALOGUE_AREAS.flatMap((area) => area.codes);
  const shown = new Set(codes.filter((code) => matches(code, terms)));
  const none = shown.size === 0 ? undefined : html` hidden`;
  return html`${searchForm(action, query)}
<p class="count" data-count role="status">${shown.size === 1 ? '1 code' : `${shown.size} codes`}</p>
<p data-none${none}>No code matches every word. Try fewer words, or a part of the code.</p>
${CATALOGUE_AREAS.map((area) => areaSection(site, area, shown))}`;
}
