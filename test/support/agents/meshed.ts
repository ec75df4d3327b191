import type { Report } from '../../../src/core/protocol/agent-protocol.ts';
import type { ObligingOptions } from './obliging-agent.ts';

type Path = NonNullable<Report['mesh']>[number];

export const direct = (node: string, address: string, roundTripMs = 1.2): Path => ({
  node,
  path: 'direct',
  address,
  carries: true,
  roundTripMs,
  receivedBytes: 3 * 2 ** 20,
  sentBytes: 2 ** 20,
});
export const relayed = (node: string): Path => ({
  node,
  path: 'relay',
  carries: true,
  roundTripMs: 41.5,
  receivedBytes: 2048,
  sentBytes: 1024,
});
export const silent = (node: string): Path => ({
  node,
  path: 'relay',
  carries: false,
  receivedBytes: 0,
  sentBytes: 0,
});

/** Of an agent without an engine that says it takes part in the mesh. */
export function meshed(
  address: string,
  paths: () => Report['mesh'],
  routes: readonly string[] = [],
): ObligingOptions {
  const publicKey = Buffer.from(address.padEnd(32, '.')).toString('base64');
  let instances = 1;
  return {
    said: { features: ['mesh'], mesh: { publicKey, port: 51_820, addresses: [address], routes } },
    paths,
    judge: ({ id }) => ({ address: ADDRESSES.get(id) ?? remember(id, `10.210.0.${(instances += 1)}`) }),
  };
}

const ADDRESSES = new Map<string, string>();
function remember(id: string, address: string): string {
  ADDRESSES.set(id, address);
  return address;
}
