import type { NodeState } from '../node-state.ts';
import type { PlacementRequest, VolumeRequirement } from '../request.ts';
import type { Filter } from './filter.ts';

const ACCESS = {
  write: 'takes writes on its primary',
  read: 'is read on its primary, not on copies',
  local: 'keeps its data on one machine',
} as const;

export const volume: Filter = {
  name: 'volume',
  scope: 'node',
  steady: true,
  admits: (state, request) =>
    request.volumes === undefined || request.volumes.every((needed) => needed.nodes.includes(state.name)),
  required: (request) =>
    (request.volumes ?? [])
      .map((needed) => `${needed.volume} on ${needed.nodes.join(' or ') || 'no node at present'}`)
      .join('; ') || 'nothing',
  reported: (state, request) => {
    const missing = unmet(state, request).map((needed) => needed.volume);
    return missing.length === 0 ? 'all mounts possible' : `cannot mount ${missing.join(', ')}`;
  },
  refusal: (state, request) => {
    const missing = unmet(state, request);
    return {
      code: missing.some((needed) => needed.nodes.length === 0)
        ? 'volume_without_node'
        : 'volume_on_other_node',
      message: missing.map((needed) => sentence(state, needed)).join('; '),
    };
  },
};

function unmet(state: NodeState, request: PlacementRequest): readonly VolumeRequirement[] {
  return (request.volumes ?? []).filter((needed) => !needed.nodes.includes(state.name));
}

function sentence(state: NodeState, needed: VolumeRequirement): string {
  if (needed.nodes.length === 0) return `volume ${needed.volume} is on no node at present`;
  return `volume ${needed.volume} ${ACCESS[needed.access]} (${needed.nodes.join(', ')}), this is ${state.name}`;
}
