import { CATALOGUE, type RejectionCode } from '../../../core/rejections/catalogue.ts';

/** What a code is found by. The page carries the same text for its script, so that both ways find the same. */
export function searchText(code: RejectionCode): string {
  const entry = CATALOGUE[code];
  const statuses = entry.alsoStatus === undefined ? `${entry.status}` : `${entry.status} ${entry.alsoStatus}`;
  return `${code} ${code.replaceAll('_', ' ')} ${statuses} ${entry.field} ${entry.title}`.toLowerCase();
}

/** A query longer than any title cannot match; the bound keeps it from costing more than a comparison. */
const MAX_QUERY = 200;

export function searchTerms(query: string): readonly string[] {
  return query
    .slice(0, MAX_QUERY)
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '');
}

export function matches(code: RejectionCode, terms: readonly string[]): boolean {
  const text = searchText(code);
  return terms.every((term) => text.includes(term));
}
