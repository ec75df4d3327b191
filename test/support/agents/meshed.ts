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

/** Of an agent without an engine: the ways to other nodes, as they are when it reports. */
export function reaches(...paths: readonly (() => Path)[]): Pick<ObligingOptions, 'reports'> {
  return { reports: () => ({ mesh: paths.map((path) => path()) }) };
}

/** Of an agent without an engine: it takes part in the mesh. */
export function meshed(address: string, routes: readonly string[] = []): Pick<ObligingOptions, 'said'> {
  const publicKey = Buffer.from(address.padEnd(32, '.')).toString('base64');
  return { said: { features: ['mesh'], mesh: { publicKey, port: 51_820, addresses: [address], routes } } };
}
