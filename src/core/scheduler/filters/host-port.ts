import type { Filter } from './filter.ts';

export const hostPort: Filter = {
  name: 'host-port',
  scope: 'occupancy',
  steady: true,
  admits: (state, request) => {
    for (const port of request.hostPorts ?? []) if (state.hostPorts.has(port)) return false;
    return true;
  },
  required: (request) => {
    const ports = request.hostPorts ?? [];
    return ports.length === 0 ? 'no fixed host port' : `host port ${ports.join(', ')}`;
  },
  reported: (state, request) => {
    const taken = (request.hostPorts ?? []).filter((port) => state.hostPorts.has(port));
    return taken.length === 0 ? 'free' : `${taken.join(', ')} taken`;
  },
  refusal: (state, request) => ({
    code: 'host_port_taken',
    message: (request.hostPorts ?? [])
      .filter((port) => state.hostPorts.has(port))
      .map(
        (port) =>
          `needs host port ${port}, taken here by ${[...new Set(state.hostPorts.get(port))].join(', ')}`,
      )
      .join('; '),
  }),
};
