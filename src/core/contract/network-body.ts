import { LABEL_VALUE, LABELS, NAME, NODE_NAME } from './forms.ts';
import { type Draft, shape } from '../schema/shape.ts';

/** What a create takes: the agent's wire format, and the node it goes to. */
export const networkBody = shape({
  type: 'object',
  fields: {
    name: {
      type: 'string',
      form: NAME,
      description: 'Unique in the tenant.',
      example: 'backend',
      ownCode: 'network_name_invalid',
    },
    driver: {
      type: 'string',
      form: { enum: ['bridge'] },
      description: 'How the engine makes it; there is one.',
      absent: 'bridge',
      example: 'bridge',
      ownCode: 'network_driver_unsupported',
    },
    labels: {
      type: 'map',
      items: { type: 'string', form: LABEL_VALUE },
      form: { ...LABELS, maxProperties: 64 },
      description: 'Written onto the network.',
      absent: 'none',
      example: { team: 'shop' },
    },
    internal: {
      type: 'boolean',
      description: 'Without a route out.',
      absent: 'false',
      example: true,
    },
    nodeId: {
      type: 'string',
      form: NODE_NAME,
      description: 'The node it is made on; required when more than one is available.',
      absent: 'the only node that is available',
      example: 'berlin-1',
      ownCode: 'network_node_not_a_candidate',
    },
  },
  required: ['name'],
  named: 'NetworkDescription',
});

export type NetworkDraft = Draft<typeof networkBody>;
