import type { NodeName, TenantId, TokenId } from './ids.ts';
import type { NodeIngress } from './ingress.ts';
import type { MeshEndpoint } from './mesh.ts';

export type NodeStatus = 'ready' | 'failed';

/** What a machine runs out of. */
export const NODE_SHORTAGES = ['disk', 'memory', 'pids'] as const;
export type NodeShortage = (typeof NODE_SHORTAGES)[number];
/** What is wrong with it otherwise: its clock is not that of the control plane, its engine does not work. */
export const NODE_FAULTS = ['clock', 'engine'] as const;
export const NODE_CONDITIONS = [...NODE_SHORTAGES, ...NODE_FAULTS] as const;
export type NodeConditionKind = (typeof NODE_CONDITIONS)[number];

export interface NodeCondition {
  readonly kind: NodeConditionKind;
  /** With what to do, for a person. */
  readonly message: string;
}

export interface NodeCapacity {
  readonly cpu: number;
  readonly memoryBytes: number;
}

/** Of the container engine. */
export interface NodeDisk {
  readonly totalBytes: number;
  /** What all containers together may ask for: the disk without what is there already and is not theirs. In steps. */
  readonly roomBytes: number;
}

/** Which orders: of which start of a control plane, and where its store stood. */
export interface OrdersMark {
  readonly start: string;
  readonly revision: number;
}

/** What the tenant and the agent declared. Liveness is not here: see `NodeLiveness`. */
export interface NodeRecord {
  readonly name: NodeName;
  readonly tenantId: TenantId;
  /** Tenants with a claim, the owner first; a second one exists only during a hand-over. */
  readonly claims: readonly TenantId[];
  readonly schedulable: boolean;
  readonly draining?: boolean;
  /** Its agent was given orders that this store knows nothing of: it gets no others until a person has uncordoned it. */
  readonly ordersHeld?: OrdersMark;
  /** Those that a person has given up so: the agent may come with them once more. */
  readonly ordersForgone?: OrdersMark;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: NodeCapacity;
  /** `linux/amd64`, `linux/arm64`. */
  readonly platform: string;
  readonly engine: { readonly kind: string; readonly version: string };
  readonly agentVersion: string;
  /** Engines that can keep volumes there, best first; absent: none. */
  readonly volumeEngines?: readonly string[];
  /** What its agent can do beyond the first release, by name; absent: nothing. */
  readonly features?: readonly string[];
  /** Ports of the machine that workloads may name, as `443` or `8000-8999`; absent: all. */
  readonly hostPorts?: readonly string[];
  /** What the agent could not set up, for a person; absent: nothing. */
  readonly problems?: readonly string[];
  /** Why its engine makes no containers, and what to do about it, as the agent found out; absent: nothing is known against it. */
  readonly notReady?: string;
  /** What its machine runs out of, and what is wrong with it: nothing new is placed there. Absent: nothing. */
  readonly conditions?: readonly NodeCondition[];
  /** Absent: its agent does not say. */
  readonly disk?: NodeDisk;
  /** How it takes part in the mesh of its tenant; absent: it does not. */
  readonly mesh?: MeshEndpoint;
  /** How it serves the ingress of its tenant; absent: it does not. */
  readonly ingress?: NodeIngress;
  /** Ed25519 public key, base64 DER (SPKI). Identity is the key; the name is a label on it. */
  readonly publicKey: string;
  /** Raised with every accepted session; a session with an older epoch is refused. */
  readonly sessionEpoch: number;
  /** The node token that opens its sessions; an earlier one is revoked when the machine re-enrols. */
  readonly tokenId?: TokenId;
  readonly createdAt: string;
}

/** Only the node-liveness controller writes it. Times are for people; decisions use the server's monotonic clock. */
export interface NodeLiveness {
  readonly status: NodeStatus;
  readonly lastSeenAt: string;
  readonly since: string;
  readonly reason?: string;
  /** Silent for so long that its instances are replaced elsewhere; never set while the mass-failure brake holds. */
  readonly lost?: boolean;
}
