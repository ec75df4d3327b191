import { NODE_LABELS } from '../../model/labels.ts';
import type { NodeState } from '../node-state.ts';
import { findRegion } from '../regions.ts';
import { countryOf, geoRegionOf, satisfiesRegion } from '../residency.ts';
import type { Filter } from './filter.ts';

export const region: Filter = {
  name: 'region',
  scope: 'node',
  steady: true,
  admits: ({ node }, request, facts) =>
    satisfiesRegion(node.record.labels, request.placement?.residency, facts.regions),
  required: (request) => request.placement?.residency?.region ?? 'any region',
  reported,
  refusal: (state, request, facts) => {
    const wanted = request.placement?.residency?.region ?? '';
    const declared = findRegion(facts.regions, wanted);
    const known = countryOf(state.node.record.labels) ?? geoRegionOf(state.node.record.labels);
    if (declared === undefined) {
      return {
        code: 'region_undeclared',
        message: `needs region ${wanted}, which this control plane no longer declares; the node reports ${reported(state)}`,
      };
    }
    return known === undefined
      ? {
          code: 'region_unknown',
          message: `needs region ${wanted}, the node states neither ${NODE_LABELS.region} nor ${NODE_LABELS.country}`,
        }
      : {
          code: 'region_mismatch',
          message: `needs region ${wanted} (${declared.countries.join(', ')}), the node reports ${reported(state)}`,
        };
  },
};

function reported({ node }: NodeState): string {
  const { labels } = node.record;
  return `${geoRegionOf(labels) ?? 'no region'}, ${countryOf(labels) ?? 'no country'}`;
}
