import { NODE_LABELS } from '../../model/labels.ts';
import { countryOf, satisfiesCountry } from '../residency.ts';
import type { Filter } from './filter.ts';

export const country: Filter = {
  name: 'country',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) => satisfiesCountry(node.record.labels, request.placement?.residency),
  required: (request) => request.placement?.residency?.country ?? 'any country',
  reported: ({ node }) => countryOf(node.record.labels) ?? 'no country',
  refusal: ({ node }, request) => {
    const wanted = request.placement?.residency?.country;
    const actual = countryOf(node.record.labels);
    return actual === undefined
      ? {
          code: 'country_unknown',
          message: `needs country ${wanted}, the node states none (label ${NODE_LABELS.country})`,
        }
      : { code: 'country_mismatch', message: `needs country ${wanted}, the node is in ${actual}` };
  },
};
