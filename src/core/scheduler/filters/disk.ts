import { formatBytes } from '../../model/quantity.ts';
import { bytesApart } from '../amounts.ts';
import { freeDiskBytes, type NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';
import type { Filter } from './filter.ts';

/** Room on the engine's disk that nobody else was promised. A machine that does not say how much it has is not taken for one that has enough. */
export const disk: Filter = {
  name: 'disk',
  scope: 'amounts',
  steady: false,
  admits: (state, request) =>
    request.amounts.diskBytes === 0 || request.amounts.diskBytes <= (freeDiskBytes(state, request) ?? -1),
  required: ({ amounts }) => (amounts.diskBytes === 0 ? 'none' : formatBytes(amounts.diskBytes)),
  reported,
  refusal: (state, request) => {
    const { amounts } = request;
    const free = freeDiskBytes(state, request);
    if (free === undefined)
      return {
        code: 'disk_unknown',
        message: `needs ${formatBytes(amounts.diskBytes)} of disk, and its agent does not say how much the engine has: upgrade the agent`,
      };
    const [needed, left] = bytesApart(amounts.diskBytes, free);
    return { code: 'disk_short', message: `needs ${needed} of disk, ${left} free of ${sizeOf(state)}` };
  },
};

function reported(state: NodeState, request: PlacementRequest): string {
  const free = freeDiskBytes(state, request);
  return free === undefined ? 'not stated' : `${formatBytes(free)} free of ${sizeOf(state)}`;
}

function sizeOf({ node, usedDiskBytes }: NodeState): string {
  const size = formatBytes(node.record.disk?.totalBytes ?? 0);
  return usedDiskBytes === 0 ? size : `${size} (${formatBytes(usedDiskBytes)} asked for by others)`;
}
