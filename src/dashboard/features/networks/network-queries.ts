import { useMemo } from 'react';
import { type Way, wayTo } from '../../../core/contract/mesh-standing.ts';
import { useRecords } from '../../app/use-records.ts';
import type { Node } from '../../lib/records.ts';

/** Round trips and bytes change all the time, and no event tells of it. */
const SEEN_MS = 5000;

/** The way from a node to another one, as the first sees it. */
export interface NodePath {
  readonly from: string;
  readonly to: string;
  readonly way: Way;
  readonly roundTripMs?: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export function useNetwork() {
  const { data: nodes, error } = useRecords('nodes', 'GET /api/v1/nodes', { everyMs: SEEN_MS });
  const paths = useMemo(() => nodes && pathsOf(nodes), [nodes]);
  return { nodes, paths, error };
}

export function pathsOf(nodes: readonly Node[]): readonly NodePath[] {
  const byName = new Map<string, Node>(nodes.map((node) => [node.name, node]));
  return nodes.flatMap(({ name, mesh }) =>
    (mesh?.peers ?? []).map(
      (peer): NodePath => ({
        from: name,
        to: peer.node,
        way: wayTo(peer, byName.get(peer.node)),
        ...(peer.roundTripMs === undefined ? {} : { roundTripMs: peer.roundTripMs }),
        receivedBytes: peer.receivedBytes,
        sentBytes: peer.sentBytes,
      }),
    ),
  );
}
