import { NODE_LABELS } from '../../model/labels.ts';
import { avoidsBlockedCountries, countryOf } from '../residency.ts';
import type { Filter } from './filter.ts';

export const blockedCountries: Filter = {
  name: 'blocked-countries',
  scope: 'node',
  steady: true,
  admits: ({ node }, request, facts) =>
    avoidsBlockedCountries(node.record.labels, request.placement?.residency, facts.residencyUnstated),
  required: (request) => {
    const blocked = request.placement?.residency?.blockedCountries ?? [];
    return blocked.length === 0 ? 'any country' : `not in ${blocked.join(', ')}`;
  },
  reported: ({ node }) => countryOf(node.record.labels) ?? 'no country',
  refusal: ({ node }, request) => {
    const blocked = request.placement?.residency?.blockedCountries?.join(', ');
    const actual = countryOf(node.record.labels);
    return actual === undefined
      ? {
          code: 'country_unstated',
          message: `must not run in ${blocked}, the node states no country (label ${NODE_LABELS.country}), which residency.unstated refuses`,
        }
      : { code: 'country_blocked', message: `must not run in ${blocked}, the node is in ${actual}` };
  },
};
