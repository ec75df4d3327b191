import {
  type MeshedPeer,
  meshStanding,
  type MeshStanding,
  WAY_WORDS,
  type Way,
  wayTo,
} from '../core/contract/mesh-standing.ts';
import { formatBytes } from '../core/model/quantity.ts';
import { textOf } from './fields.ts';
import type { Listing } from './output.ts';
import type { Node } from './records.ts';
import { printable, type Style } from './style.ts';

/** The way from a node to another one. */
export interface NodePath {
  readonly from: string;
  readonly to: string;
  readonly way: Way;
  readonly peer: MeshedPeer;
}

export function meshPaths(node: Node, all: ReadonlyMap<string | undefined, Node>): readonly NodePath[] {
  return (node.mesh?.peers ?? []).map((peer) => ({
    from: textOf(node.name),
    to: textOf(peer.node),
    way: wayTo(peer, all.get(peer.node)),
    peer,
  }));
}

export const PATHS: Listing<NodePath> = {
  nameOf: ({ from, to }) => `${from}/${to}`,
  columns: [
    { header: 'FROM', cell: ({ from }) => from },
    { header: 'TO', cell: ({ to }) => to },
    {
      header: 'PATH',
      cell: ({ way: { state, address } }) =>
        address === undefined ? WAY_WORDS[state] : `${WAY_WORDS[state]} ${address}`,
    },
    {
      header: 'ROUND-TRIP',
      cell: ({ way, peer }) =>
        way.state === 'none' || peer.roundTripMs === undefined ? '' : `${peer.roundTripMs} ms`,
    },
    { header: 'RECEIVED', cell: ({ peer }) => formatBytes(peer.receivedBytes ?? 0) },
    { header: 'SENT', cell: ({ peer }) => formatBytes(peer.sentBytes ?? 0) },
    { header: 'WHY', cell: ({ way }) => way.why ?? '' },
  ],
};

const STATES: Readonly<Record<MeshStanding['state'], string>> = {
  joined: "part of the tenant's network",
  joining: "joining the tenant's network",
  apart: "no part in the tenant's network",
};

export function standingText({ state, why, fix }: MeshStanding): string {
  return `${STATES[state]}${why === undefined ? '' : `: ${why}`}${fix === undefined ? '' : `; ${fix}`}`;
}

export function isJoined(node: Node): boolean {
  return meshStanding(node).state === 'joined';
}

const MAX_ADVICE = 10;

/** Below a table, because what is too long for its last column is cut. */
export function adviceLines(style: Style, advice: readonly string[]): string {
  const all = [...new Set(advice)];
  const more = all.length > MAX_ADVICE ? [`and ${all.length - MAX_ADVICE} more`] : [];
  return [...all.slice(0, MAX_ADVICE), ...more]
    .map((text) => `  ${style.yellow('→')} ${printable(text)}\n`)
    .join('');
}
