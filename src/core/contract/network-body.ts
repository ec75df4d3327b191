import { type Draft, shape } from './shape.ts';

/** What a create takes: the agent's wire format, and the node it goes to. */
export const networkBody = shape({
  type: 'object',
  fields: {
    name: {
      type: 'string',
      description: 'Unique in the tenant.',
      example: 'backend',
      ownCode: 'network_name_invalid',
    },
    driver: {
      type: 'string',
      description: 'Default: bridge, the only one.',
      example: 'bridge',
      ownCode: 'network_driver_unsupported',
    },
    labels: { type: 'map', items: { type: 'string' }, description: 'Written onto the network.' },
    internal: { type: 'boolean', description: 'Without a route out. Default: false.' },
    nodeId: {
      type: 'string',
      description: 'The node it is made on; required when more than one is available.',
      example: 'berlin-1',
      ownCode: 'network_node_not_a_candidate',
    },
  },
});

export type NetworkDraft = Draft<typeof networkBody>;
