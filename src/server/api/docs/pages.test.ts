import { describe, expect, it } from 'vitest';
import { CATALOGUE, isRejectionCode } from '../../../core/rejections/catalogue.ts';
import { docsPage } from './pages.ts';
import { statusText } from './status.ts';

const BASE = 'https://berth.example.com';
const codes = Object.keys(CATALOGUE).filter(isRejectionCode);

function body(path: string, query?: string, base = BASE): string {
  return docsPage(path, query, base)?.body ?? '';
}

function shownCodes(markup: string): readonly string[] {
  const rows = markup.matchAll(
    /<li data-search="[^"]*"( hidden)?>\s*<div class="row-head"><a class="code" href="[^"]*">([a-z_]+)</g,
  );
  return [...rows].filter((match) => match[1] === undefined).map((match) => match[2] ?? '');
}

/** Text without markup and with entities resolved. */
function text(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

describe('every page of a code', () => {
  it.each(codes)('%s shows its entry and obeys the policy of the pages', (code) => {
    const page = docsPage(`/docs/errors/${code}`, undefined, BASE);
    expect(page).toMatchObject({ status: 200, contentType: 'text/html; charset=utf-8' });
    const markup = page?.body ?? '';
    const entry = CATALOGUE[code];
    const shown = text(markup);
    for (const part of [
      code,
      entry.title,
      entry.cause.replaceAll('`', ''),
      entry.accepted,
      entry.field,
      String(entry.status),
    ]) {
      expect(shown).toContain(part);
    }
    expect(shown).toContain(`${BASE}/docs/errors/${code}`);
    expect(markup).not.toMatch(/<style|<script(?! src=)|\son[a-z]+=|\sstyle=|javascript:/i);
  });

  it('links the codes of the same area, not itself', () => {
    const markup = body('/docs/errors/healthcheck_type_inert');
    expect(markup).toContain('href="/docs/errors/healthcheck_type_unsupported"');
    expect(markup).not.toContain('href="/docs/errors/healthcheck_type_inert"');
  });

  it('marks the lines in which the two examples differ', () => {
    const markup = body('/docs/errors/replicas_negative');
    expect(markup).toContain('<code>{\n  <mark>&quot;replicas&quot;: -1</mark>\n}');
    expect(markup).toContain('<code>{\n  <mark>&quot;replicas&quot;: 0</mark>\n}');
  });

  it('names every status in words', () => {
    for (const { status, alsoStatus } of Object.values(CATALOGUE)) {
      for (const number of [status, alsoStatus ?? status]) expect(statusText(number)).toMatch(/^\d{3} [A-Z]/);
    }
  });

  it('shows both statuses of a code that has two', () => {
    const shown = text(body('/docs/errors/node_candidates_unresolvable'));
    expect(shown).toContain('422 Unprocessable Content or 503 Service Unavailable');
  });
});

describe('links', () => {
  const targets = ['/docs', '/docs/errors', '/docs/errors/name_required', '/docs/errors/nope'];

  it.each(targets)('of %s all lead to pages that exist', (path) => {
    const links = [...body(path).matchAll(/(?:href|src|action)="([^"#]+)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(3);
    for (const link of links.filter((target) => target !== 'data:,' && target !== '/openapi.json')) {
      expect([link, docsPage(link, undefined, BASE)?.status]).toEqual([link, 200]);
    }
  });

  it('stay on the host that was asked and keep the prefix of a proxy', () => {
    expect(body('/docs')).not.toContain(`href="${BASE}`);
    expect(body('/docs', undefined, 'https://example.com/berth/')).toContain('href="/berth/docs/style.css"');
    expect(body('/docs', undefined, '')).toContain('href="/docs/style.css"');
  });
});

describe('the search without script', () => {
  it('shows every code when nothing is sought', () => {
    for (const path of ['/docs', '/docs/', '/docs/errors', '/docs/errors/']) {
      expect(shownCodes(body(path)).toSorted()).toEqual(codes.toSorted());
    }
  });

  it.each([
    ['q=healthCheck.timeout', ['healthcheck_timeout_below_floor']],
    ['q=SNAPSHOT', ['volume_snapshot_not_found', 'volume_snapshot_not_implemented']],
    ['q=compose+malformed', ['secret_compose_template_malformed']],
    ['q=413', ['body_too_large']],
    ['q=no-such-word', []],
  ])('finds by %s', (query, expected) => {
    expect(shownCodes(body('/docs', query))).toEqual(expected);
    expect(shownCodes(body('/docs/errors', query))).toEqual(expected);
  });

  it('says how many there are, and when there is none', () => {
    expect(body('/docs', 'q=413')).toContain('>1 code</p>');
    expect(body('/docs', 'q=413')).toMatch(/data-none hidden/);
    expect(body('/docs', 'q=no-such-word')).toMatch(/data-none>/);
  });

  it('writes the query back as text', () => {
    const markup = body('/docs', `q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    expect(markup).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(markup).not.toContain('<script>alert');
  });
});

describe('what does not exist', () => {
  it('answers an unknown code with the nearest ones', () => {
    const page = docsPage('/docs/errors/replica_negative', undefined, BASE);
    expect(page?.status).toBe(404);
    expect(page?.body).toMatch(
      /Codes that look like it.*?<a class="code" href="\/docs\/errors\/replicas_negative">/s,
    );
  });

  it('falls back to codes with the same words', () => {
    expect(body('/docs/errors/snapshot_unsupported')).toContain(
      '/docs/errors/volume_snapshot_not_implemented',
    );
  });

  it('escapes and shortens what was asked for', () => {
    const markup = body(
      `/docs/errors/${encodeURIComponent(`<img src=x onerror=alert(1)>${'a'.repeat(5000)}`)}`,
    );
    expect(markup).not.toContain('<img');
    expect(markup.length).toBeLessThan(5000);
    expect(docsPage('/docs/errors/%E0%A4%A', undefined, BASE)?.status).toBe(404);
    expect(docsPage('/docs/errors/constructor', undefined, BASE)?.status).toBe(404);
  });

  it('answers other paths under /docs with 404 and leaves the rest to others', () => {
    for (const path of [
      '/docs/none',
      '/docs/errors/name_required/x',
      '/docs/guide/none',
      '/docs/style.css/x',
    ]) {
      expect([path, docsPage(path, undefined, BASE)?.status]).toEqual([path, 404]);
    }
    for (const path of ['/', '/docsx', '/api/v1/docs', '/DOCS']) {
      expect(docsPage(path, undefined, BASE)).toBeUndefined();
    }
  });
});

describe('assets and guides', () => {
  it('serves the stylesheet and the script, and the page has what the script looks for', () => {
    expect(docsPage('/docs/style.css', undefined, BASE)?.contentType).toBe('text/css; charset=utf-8');
    expect(body('/docs/style.css')).toContain('prefers-color-scheme: dark');
    expect(docsPage('/docs/search.js', undefined, BASE)?.contentType).toBe('text/javascript; charset=utf-8');
    for (const hook of ['data-count', 'data-none', 'data-area', 'data-search', 'role="search"', 'name="q"']) {
      expect(body('/docs')).toContain(hook);
    }
  });

  it('lists what the build made, by its groups, beside every page', () => {
    const entry = { group: 'Begin', path: 'guide/first', title: 'First <steps>', summary: 'Begin & go.' };
    for (const path of ['/docs', '/docs/errors', '/docs/errors/name_required', '/docs/none'])
      expect(docsPage(path, undefined, BASE, [entry])?.body).toContain(
        '<a href="/docs/guide/first">First &lt;steps&gt;</a>',
      );
    expect(docsPage('/docs', undefined, BASE, [entry])?.body).toContain('<p>Begin &amp; go.</p>');
    expect(docsPage('/docs', undefined, BASE)?.body).toContain('The guide is not built');
  });
});
