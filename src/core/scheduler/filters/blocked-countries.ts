import { avoidsBlockedCountries, countryOf } from '../residency.ts';
import type { Filter } from './filter.ts';

export const blockedCountries: Filter = {
  name: 'blocked-countries',
  label: 'blocked country',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) => avoidsBlockedCountries(node.record.labels, request.placement?.residency),
  required: (request) => {
    const blocked = request.placement?.residency?.blockedCountries ?? [];
    return blocked.length === 0 ? 'any country' : `not in ${blocked.join(', ')}`;
  },
  reported: ({ node }) => countryOf(node.record.labels) ?? 'no country',
  refusal: ({ node }, request) => ({
    code: 'country_blocked',
    message: `must not run in ${request.placement?.residency?.blockedCountries?.join(', ')}, the node is in ${countryOf(node.record.labels)}`,
  }),
};
