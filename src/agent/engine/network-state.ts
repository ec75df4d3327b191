import { optional } from '../../core/model/values.ts';
import type { NetworkAddressing, NetworkSpec, NetworkState } from './engine.ts';
import { EngineConflictError } from './errors.ts';
import { type Fields, fields, list, text, texts } from './fields.ts';

/** From `GET /networks`. */
export function networkState(value: unknown): NetworkState {
  const network = fields(value);
  return {
    id: text(network['Id']) ?? '',
    name: text(network['Name']) ?? '',
    driver: text(network['Driver']) ?? '',
    internal: network['Internal'] === true,
    labels: texts(network['Labels']),
    ...optional('subnet', subnetOf(network)),
  };
}

function subnetOf(network: Fields): string | undefined {
  const [first] = list(fields(network['IPAM'])['Config']);
  return text(fields(first)['Subnet']);
}

/** Words that an engine does not know it passes over: those of newer ones let the mesh reach containers directly. */
export function addressingBody({ subnet, gateway, mtu, trusted }: NetworkAddressing): Fields {
  return {
    IPAM: { Driver: 'default', Config: [{ Subnet: subnet, Gateway: gateway }] },
    Options: {
      'com.docker.network.driver.mtu': String(mtu),
      'com.docker.network.bridge.gateway_mode_ipv4': 'nat-unprotected',
      'com.docker.network.bridge.trusted_host_interfaces': trusted,
    },
  };
}

/** The network that is there, if it is the one wanted: a foreign one of the same name is not taken over. */
export function sameNetwork(spec: NetworkSpec, network: NetworkState): NetworkState {
  const differs = [
    ...(network.driver === spec.driver ? [] : ['driver']),
    ...(network.internal === spec.internal ? [] : ['internal']),
    ...(spec.addressing === undefined || spec.addressing.subnet === network.subnet ? [] : ['subnet']),
    ...Object.keys(spec.labels).filter((key) => network.labels[key] !== spec.labels[key]),
  ];
  if (differs.length === 0) return network;
  throw new EngineConflictError(`network ${spec.name} exists and differs in ${differs.join(', ')}`, 409);
}
