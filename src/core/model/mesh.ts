/** A tenant's nodes as one network: every node has a subnet for its containers, every deployment an address that stays. */
export interface NetworkPrefixes {
  /** Subnets of nodes are taken from it. */
  readonly nodes: string;
  /** Length of a node's subnet. */
  readonly nodeBits: number;
  /** Virtual addresses of deployments are taken from it. */
  readonly virtual: string;
}

export const DEFAULT_PREFIXES: NetworkPrefixes = {
  nodes: '10.210.0.0/16',
  nodeBits: 24,
  virtual: '10.211.0.0/16',
};

/** WireGuard's port on a node that names none; the next one is used to try addresses. */
export const MESH_PORT = 51_820;

/** Feature of an agent that can take part; without it the agent is of an earlier release. */
export const MESH_FEATURE = 'mesh';

/** Begins the problem of a node that cannot take part. */
export const NO_PART = "this node has no part in the tenant's network: ";

/** How a node takes part in its tenant's mesh, as its agent says. */
export interface MeshEndpoint {
  /** WireGuard's, base64. */
  readonly publicKey: string;
  readonly port: number;
  /** Addresses by which other nodes may reach the port, most likely first. */
  readonly addresses: readonly string[];
  /** Where its session comes from, as the control plane sees it: one more of them, the least likely. */
  readonly seenFrom?: string;
  /** Networks that the machine has routes to: a subnet that overlaps one of them cannot be used. */
  readonly routes?: readonly string[];
}

/** The way to one other node, as this one's agent sees it. */
export interface MeshPeer {
  readonly node: string;
  readonly path: 'direct' | 'relay' | 'none';
  readonly address?: string;
  readonly carries: boolean;
  readonly roundTripMs?: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Stored when a way changes, and else once a minute. */
export interface MeshPathsRecord {
  readonly peers: readonly MeshPeer[];
  readonly seenAt: string;
}

/** Kept for a while after its holder is gone, because others may not know that yet. */
interface Held {
  readonly releasedAtMs?: number;
}

export interface SubnetRecord extends Held {
  readonly subnet: string;
}

export interface VirtualAddressRecord extends Held {
  readonly address: string;
}
