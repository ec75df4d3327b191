import type { NetworkSpec, NetworkState } from './engine.ts';
import { EngineConflictError } from './errors.ts';
import { fields, text, texts } from './fields.ts';

/** From `GET /networks`. */
export function networkState(value: unknown): NetworkState {
  const network = fields(value);
  return {
    id: text(network['Id']) ?? '',
    name: text(network['Name']) ?? '',
    driver: text(network['Driver']) ?? '',
    internal: network['Internal'] === true,
    labels: texts(network['Labels']),
  };
}

/** The network that is there, if it is the one wanted: a foreign one of the same name is not taken over. */
export function sameNetwork(spec: NetworkSpec, network: NetworkState): NetworkState {
  const differs = [
    ...(network.driver === spec.driver ? [] : ['driver']),
    ...(network.internal === spec.internal ? [] : ['internal']),
    ...Object.keys(spec.labels).filter((key) => network.labels[key] !== spec.labels[key]),
  ];
  if (differs.length === 0) return network;
  throw new EngineConflictError(`network ${spec.name} exists and differs in ${differs.join(', ')}`, 409);
}
