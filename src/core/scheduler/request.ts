import { type Confinement, CONFINEMENT_FEATURE, isConfined } from '../model/confinement.ts';
import type { Placement, VolumeMount, Workload } from '../model/deployment.ts';
import type { OwnerName } from '../model/owner.ts';
import type { NodeName } from '../model/ids.ts';
import { FILES_FEATURE } from '../model/config-file.ts';
import { NETWORKS_FEATURE } from '../model/network.ts';
import { STOP_FEATURE } from '../model/stop.ts';
import type { VolumeRecord } from '../model/volume.ts';
import { type DefaultRequest, NO_DEFAULT } from '../model/counted.ts';
import { type Amounts, countedAmounts, requestedAmounts } from './amounts.ts';

/** A mount that only some nodes can serve. */
export interface VolumeRequirement {
  readonly volume: string;
  /** Why those nodes: the primary takes writes and reads, data of one machine stays on it. */
  readonly access: 'write' | 'read' | 'local';
  /** Empty: no node can serve the mount at present. */
  readonly nodes: readonly NodeName[];
  /** Its move away was given up: what mounts it starts there again, although the node is closed to new work. */
  readonly stays?: boolean;
}

/** A network that the container is attached to; without a node it is gone. */
export interface NetworkRequirement {
  readonly network: string;
  readonly node?: NodeName;
}

/** One container to be placed. Immutable: the index remembers what it worked out for an object. */
export interface PlacementRequest {
  readonly deployment: OwnerName;
  readonly amounts: Amounts;
  /** Against the quota; absent: its amounts. */
  readonly counted?: Amounts;
  readonly placement?: Placement;
  readonly nodeId?: string;
  readonly hostPorts?: readonly number[];
  readonly volumes?: readonly VolumeRequirement[];
  readonly networks?: readonly NetworkRequirement[];
  /** `linux/amd64`, …; absent when the image's platforms are not known. */
  readonly imagePlatforms?: readonly string[];
  /** What the agent has to know; absent: nothing beyond what every agent does. */
  readonly features?: readonly string[];
  /** Nodes to leave out for now, each with the reason for people. */
  readonly exclude?: ReadonlyMap<NodeName, string>;
}

export interface PlacementFacts {
  readonly volumes?: readonly VolumeRequirement[];
  readonly networks?: readonly NetworkRequirement[];
  readonly imagePlatforms?: readonly string[];
  readonly exclude?: ReadonlyMap<NodeName, string>;
}

export type PlaceableSpec = Pick<
  Workload,
  'name' | 'placement' | 'resources' | 'nodeId' | 'ports' | 'networks' | 'stop' | 'files'
> &
  Confinement;

export function placementRequest(
  spec: PlaceableSpec,
  facts: PlacementFacts = {},
  fallback: DefaultRequest = NO_DEFAULT,
): PlacementRequest {
  const hostPorts = fixedHostPorts(spec);
  const amounts = requestedAmounts(spec.resources);
  const counted = countedAmounts(spec.resources, fallback);
  const features = neededFeatures(spec);
  const isSame = counted.cpuMicros === amounts.cpuMicros && counted.memoryBytes === amounts.memoryBytes;
  return {
    deployment: spec.name,
    amounts,
    ...(!isSame && { counted }),
    ...(spec.placement && { placement: spec.placement }),
    ...(spec.nodeId !== undefined && { nodeId: spec.nodeId }),
    ...(hostPorts.length > 0 && { hostPorts }),
    ...(features.length > 0 && { features }),
    ...facts,
  };
}

/** What an older agent would ignore silently. */
export function neededFeatures(
  spec: Pick<Workload, 'networks' | 'stop' | 'files'> & Confinement,
): readonly string[] {
  return [
    ...(isConfined(spec) ? [CONFINEMENT_FEATURE] : []),
    ...(spec.networks === undefined ? [] : [NETWORKS_FEATURE]),
    ...(spec.stop === undefined ? [] : [STOP_FEATURE]),
    ...((spec.files ?? []).length === 0 ? [] : [FILES_FEATURE]),
  ];
}

export function fixedHostPorts(spec: Pick<Workload, 'ports'>): readonly number[] {
  return (spec.ports ?? []).map((port) => port.host).filter((host) => host !== undefined);
}

/** Undefined: the volume can be mounted on any node (object storage, memory, or not yet on any machine). */
export function volumeRequirement(volume: VolumeRecord, mount: VolumeMount): VolumeRequirement | undefined {
  if (volume.class === 'object' || volume.type === 'tmpfs') return undefined;
  const primary = volume.primaryNodeId === undefined ? [] : [volume.primaryNodeId];
  if (volume.type === 'bind' || volume.class === 'ephemeral') {
    return primary.length === 0 ? undefined : { volume: volume.name, access: 'local', nodes: primary };
  }
  // A copy is replaced by the next one while it would be read, see docs/decisions/0026-volume-readers.md.
  const stays = volume.switchoverFailed !== undefined;
  const access = mount.readOnly ? 'read' : 'write';
  return { volume: volume.name, access, nodes: primary, ...(stays && { stays }) };
}
