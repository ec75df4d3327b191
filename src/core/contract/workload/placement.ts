import { COUNTRY, NAME } from '../forms.ts';
import { shape } from '../../schema/shape.ts';

const country = shape({ type: 'string', form: COUNTRY, ownCode: 'residency_country_invalid' });

export const placement = shape({
  type: 'object',
  named: 'PlacementDescription',
  fields: {
    residency: {
      type: 'object',
      fields: {
        country: {
          ...country,
          description: 'Only nodes in this country; an ISO 3166-1 code, stored in upper case.',
          absent: 'any',
          example: 'DE',
        },
        region: {
          type: 'string',
          description: 'Only nodes in the countries of this region, which the configuration declares.',
          absent: 'any',
          example: 'eu',
          ownCode: 'residency_region_undeclared',
        },
        blockedCountries: {
          type: 'list',
          items: country,
          description: 'No node in one of these countries.',
          absent: 'none is blocked',
          example: ['FR'],
        },
      },
      form: { minProperties: 1 },
      description: 'Where the containers and their data may be.',
      absent: 'anywhere among the nodes of the tenant',
    },
    constraints: {
      type: 'map',
      items: { type: 'string', form: { minLength: 1, maxLength: 4096 } },
      form: { propertyNames: { minLength: 1, maxLength: 253 }, maxProperties: 1024 },
      description: 'Labels that a node must have, with these values.',
      absent: 'none',
      example: { disk: 'ssd' },
    },
    antiAffinity: {
      type: 'list',
      items: { type: 'string', form: NAME },
      form: { maxItems: 1024 },
      description: 'Names of deployments not to share a node with; its own name: one instance per node.',
      absent: 'none',
      example: ['web'],
    },
  },
  description: 'Which nodes may run it.',
  absent: 'every node of the tenant',
});

/** Each is a key of the commit that stores the spec. */
