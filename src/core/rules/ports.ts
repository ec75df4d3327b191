import type { Rejection } from '../rejections/rejection.ts';
import { type DeploymentInput, invalid } from './rule.ts';

export const MAX_PORT = 65_535;

export function isPort(port: number | undefined): port is number {
  return port !== undefined && port >= 1 && port <= MAX_PORT;
}

export function portsRule({ draft }: DeploymentInput): Rejection | undefined {
  if (draft.ports === undefined) return undefined;
  const hosts = new Set<number>();
  for (const [index, { container, host }] of draft.ports.entries()) {
    if (!isPort(container)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].container`,
        container,
        `1 to ${MAX_PORT}`,
        'The port inside the container is required.',
      );
    }
    if (host === undefined) continue;
    if (!isPort(host)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].host`,
        host,
        `1 to ${MAX_PORT}, or omit it`,
        'The port on the node is out of range.',
      );
    }
    if (hosts.has(host)) {
      return invalid(
        'ports_invalid',
        `ports[${index}].host`,
        host,
        'each node port once',
        'Two entries take the same node port.',
      );
    }
    hosts.add(host);
  }
  return undefined;
}
