import { portRangesText, portsOutside } from '../../model/port-ranges.ts';
import type { Filter } from './filter.ts';

/** The agent refuses others too; found here, another node is chosen, or the reason is shown before anything is created. */
export const hostPortAllowed: Filter = {
  name: 'host-port-allowed',
  scope: 'node',
  steady: true,
  admits: ({ node }, { hostPorts = [] }) => portsOutside(hostPorts, node.record.hostPorts).length === 0,
  required: ({ hostPorts = [] }) =>
    hostPorts.length === 0 ? 'no fixed host port' : `host port ${hostPorts.join(', ')}`,
  reported: ({ node }) => `host ports ${portRangesText(node.record.hostPorts)}`,
  refusal: ({ node }, { hostPorts = [] }) => ({
    code: 'host_port_not_allowed',
    message: `needs host port ${portsOutside(hostPorts, node.record.hostPorts).join(', ')}; its agent allows ${portRangesText(node.record.hostPorts)} (--host-ports)`,
  }),
};
