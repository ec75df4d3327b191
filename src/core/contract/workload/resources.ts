import { MEMORY } from '../forms.ts';
import { shape } from '../../schema/shape.ts';

export const amounts = shape({
  type: 'object',
  named: 'ResourceAmounts',
  fields: {
    cpu: {
      type: 'number',
      form: { exclusiveMinimum: 0, maximum: 1024 },
      description: 'Cores.',
      absent: 'none are reserved, or none are the limit',
      example: 0.5,
    },
    memory: {
      type: 'string',
      form: MEMORY,
      description: 'Bytes with a unit: 256Mi, 1Gi, 500M; at least 4Mi.',
      absent: 'nothing is reserved, or the default of the tenant is the limit',
      example: '256Mi',
    },
  },
});

export const requests = shape({
  type: 'object',
  named: 'ResourceRequests',
  fields: {
    ...amounts.fields,
    disk: {
      type: 'string',
      form: MEMORY,
      description:
        "Of the disk of the node's engine, for what the container writes outside of its volumes: bytes with a unit, 10Gi, 500M; at least 4Mi. Placement goes by it; the container is not held to it.",
      absent: 'nothing is reserved',
      example: '10Gi',
    },
  },
});
