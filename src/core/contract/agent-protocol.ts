import type { ContainerBounds } from '../model/container-defaults.ts';
import type { Confinement } from '../model/confinement.ts';
import type { ResourceAmounts } from '../model/deployment.ts';
import type { InstanceObservation } from '../model/instance.ts';
import type { NetworkObservation, NetworkSettings } from '../model/network.ts';
import type { NodeCapacity } from '../model/node.ts';
import type { VolumeClass, VolumeType } from '../model/volume.ts';

/**
 * The words between control plane and agent: JSON texts over one WebSocket that the agent dials
 * (`/agent/v1/session`, `Authorization: Bearer berth_node_…`). Level-triggered: the agent always receives its whole
 * assignment, and a message that is lost is made good by the next one.
 *
 *   server challenge → agent hello (signed) → server welcome → assignment* / verdict* / request* ⇄ report* / ask* / resolve*
 */
export const PROTOCOL_VERSION = 1;
export const MAX_FRAME_BYTES = 4 * 2 ** 20;

// ── server → agent ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Challenge {
  readonly type: 'challenge';
  readonly protocol: number;
  /** 32 random bytes, base64url. The agent signs `signedText(nonce, epoch, node)` with its Ed25519 key. */
  readonly nonce: string;
  readonly epoch: number;
}

export interface Welcome {
  readonly type: 'welcome';
  readonly epoch: number;
  readonly tenantId: string;
  readonly tenantSlug: string;
  /** Names the control plane's store; the agent removes containers of its own install and node only. */
  readonly installId: string;
  /** The agent reports at least this often; the report is the heartbeat. */
  readonly heartbeatMs: number;
  /** Silence after which the agent redials. */
  readonly silenceMs: number;
  /** How often the agent measures what its containers use; absent: every 15 s. */
  readonly usageMs?: number;
  /** Where the control planes of this store are found; the agent redials to any of them. */
  readonly servers?: readonly string[];
  /** By which the control plane is known, in place of those told before: base64 of public keys in SPKI form. Absent: without TLS. */
  readonly anchors?: readonly string[];
}

/** The same while the session goes on, e.g. ahead of a renewal; only to agents that say they know it. */
export interface Anchors {
  readonly type: 'anchors';
  readonly anchors: readonly string[];
}

/** A token in place of the one that the agent dialled with: both count until `credential-kept`, or until it comes with this one. */
export interface Credential {
  readonly type: 'credential';
  /** Counts up within a session. */
  readonly number: number;
  /** On the agent's disk only. */
  readonly token: string;
}

export interface AssignedMount {
  readonly volumeId: string;
  readonly kind: 'volume' | 'bind' | 'tmpfs';
  readonly source?: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly sizeBytes?: number;
}

export interface AssignedHealthCheck {
  readonly command: readonly string[];
  readonly intervalMs?: number;
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly startPeriodMs?: number;
}

/** Everything a container is made from except secrets, which are asked for when it is about to be created. */
export interface AssignedContainer extends Confinement {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** True: ask with `resolve` before creating; without an answer there is no container. */
  readonly needsSecrets: boolean;
  readonly healthCheck?: AssignedHealthCheck;
  readonly limits?: ResourceAmounts;
  /** What bounds it where `limits` do not; absent: what the agent takes by itself. */
  readonly bounds?: ContainerBounds;
  readonly ports: readonly { readonly container: number; readonly host?: number }[];
  readonly labels: Readonly<Record<string, string>>;
  readonly mounts: readonly AssignedMount[];
  /** Deployment name: alias on the tenant's network. */
  readonly alias: string;
}

export interface AssignedInstance {
  readonly id: string;
  readonly deployment: string;
  /** `stop` is the explicit order to stop and remove; absence from an assignment never is one. */
  readonly wanted: 'run' | 'stop';
  readonly specHash: string;
  readonly secretsVersion: number;
  /** Another number than the running container's: replace it although the spec is the same. */
  readonly attempt: number;
  /** Runs beside the stable instances; a label of the container says so. */
  readonly canary?: boolean;
  /** Absent on `stop`. */
  readonly container?: AssignedContainer;
  readonly once?: AssignedOnce;
}

/**
 * A container that runs once: it is never started again, and after its end it stays until `stop`, so that its exit code and
 * output can be read. Reported as `exited` with its code; ended for its time: reason `timed_out`.
 */
export interface AssignedOnce {
  /** From its start; then it is ended. */
  readonly timeoutMs?: number;
  /** End it now. */
  readonly end?: boolean;
  /** It was seen to run: if it is not there any more it is lost (`container_lost`), and never made again. */
  readonly started?: boolean;
}

/**
 * What this node keeps of a volume. Absence from an assignment never removes bytes; `gone` is the order to.
 * `epoch` is the volume's: a node acts under the highest it was ever told, and streams of another are refused.
 */
export interface AssignedVolume {
  readonly id: string;
  readonly role: 'primary' | 'replica' | 'gone';
  readonly class: VolumeClass;
  readonly type: VolumeType;
  readonly epoch: number;
  readonly sizeBytes: number;
  /** `bind` only; the agent refuses what is not under its own roots. */
  readonly hostPath?: string;
  /** Primary of a replicated volume: the nodes that get copies. */
  readonly copiesTo?: readonly string[];
  /**
   * Primary of a replicated volume: how long it may write after the moment at which it sent the last report that
   * was answered by a `lease`. When this runs out its writers are killed, by the watchdog if the agent is gone.
   */
  readonly leaseMs?: number;
}

/** Where the control plane's store stood when something was said. A store in which this never was is an older copy. */
export interface StoreMark {
  readonly installId: string;
  /** Of the process that said it: what it says later it knows to have said. */
  readonly start: string;
  readonly revision: number;
}

export interface Assignment {
  readonly type: 'assignment';
  readonly epoch: number;
  /** Never goes down within an epoch; an older one is ignored. */
  readonly generation: number;
  /** Absent where several control planes share a store. */
  readonly asOf?: StoreMark;
  readonly instances: readonly AssignedInstance[];
  /** Absent: none of this node's. */
  readonly volumes?: readonly AssignedVolume[];
  /** All that the tenant wants here. Present: own networks that it does not name go once nothing is attached. Absent: left alone. */
  readonly networks?: readonly NetworkSettings[];
}

/** Answer to the report with this `beat`, for nodes that hold a lease: counted by the agent from when it sent that report. */
export interface Lease {
  readonly type: 'lease';
  readonly epoch: number;
  readonly beat: number;
  /** Where it can be had again without this session; absent: nowhere. */
  readonly repeat?: LeaseRepeat;
}

/** A UDP port on the host of the control plane, and what proves the two to each other there (`lease-words.ts`). */
export interface LeaseRepeat {
  readonly port: number;
  readonly id: string;
  /** 32 bytes, base64url. In memory only, on both sides. */
  readonly key: string;
}

/** Answer to `ask`: which of the asked instance ids are unknown to the control plane and may be removed. */
export interface Verdict {
  readonly type: 'verdict';
  readonly epoch: number;
  readonly remove: readonly string[];
}

export type Resolved =
  | {
      readonly type: 'resolved';
      readonly requestId: string;
      readonly ok: true;
      /** In memory only, on both sides. */
      readonly environment: Readonly<Record<string, string>>;
      readonly registry?: { readonly username: string; readonly password: string };
    }
  | {
      readonly type: 'resolved';
      readonly requestId: string;
      readonly ok: false;
      readonly reason: string;
      readonly message: string;
    };

/** A question of a person, passed on: the answer is a stream of `data` with back-pressure by `credit`. */
export interface StreamRequest {
  readonly type: 'request';
  readonly streamId: string;
  readonly operation: StreamOperation;
}

export type StreamOperation =
  | { readonly kind: 'containers' }
  /** Containers attached to a network of the tenant, running or not: one value, a list of their names. */
  | { readonly kind: 'network-containers'; readonly network: string }
  | {
      readonly kind: 'logs';
      readonly instanceId: string;
      readonly follow: boolean;
      readonly tail?: number;
      readonly sinceSeconds?: number;
    }
  | { readonly kind: 'stats'; readonly instanceId: string }
  | {
      readonly kind: 'exec';
      readonly instanceId: string;
      readonly command: readonly string[];
      readonly timeoutMs: number;
    }
  /** What the primary of a volume holds at this moment: one value, a `VolumeMeasurement`. */
  | { readonly kind: 'volume-measure'; readonly volumeId: string }
  | {
      /**
       * Fetch the stream at `/agent/v1/relay/{relayId}` and take it in as a copy; ends with an error or without. Before an
       * error a value `{have: ["<epoch>.<sequence>", …]}` may tell which copies are here.
       */
      readonly kind: 'volume-receive';
      readonly volumeId: string;
      readonly volumeEpoch: number;
      readonly relayId: string;
      readonly copy: VolumeCopyHeader;
    };

export interface VolumeMeasurement {
  /** What `df` shows. */
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** Under which the node is its primary. */
  readonly epoch: number;
  /** It can be made smaller while it is in use. */
  readonly shrinkable: boolean;
}

/** What a copy is made of; `parent` is the sequence it builds on, absent for a whole one. */
export interface VolumeCopyHeader {
  readonly engine: string;
  readonly sequence: number;
  readonly parent?: number;
  /** With `parent`: the epoch under which that one was taken, which may be an earlier one. */
  readonly parentEpoch?: number;
  /** Of the sender's wall clock: to be shown, never compared. */
  readonly takenAt: string;
}

/** The reader took `bytes` more; the sender may have at most the granted amount in flight. */
export interface Credit {
  readonly type: 'credit';
  readonly streamId: string;
  readonly bytes: number;
}

export interface Cancel {
  readonly type: 'cancel';
  readonly streamId: string;
}

/** The session ends and must not be redialled with this identity (node deleted, key revoked, displaced). */
export interface Farewell {
  readonly type: 'farewell';
  readonly code: string;
  readonly message: string;
  readonly retry: boolean;
}

export type ServerMessage =
  | Challenge
  | Welcome
  | Anchors
  | Credential
  | Assignment
  | Lease
  | Verdict
  | Resolved
  | StreamRequest
  | Credit
  | Cancel
  | Farewell;

// ── agent → server ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Hello {
  readonly type: 'hello';
  readonly protocol: number;
  readonly node: string;
  readonly epoch: number;
  /** base64 of the Ed25519 signature over `signedText`. */
  readonly signature: string;
  readonly agentVersion: string;
  readonly engine: { readonly kind: string; readonly version: string };
  readonly platform: string;
  readonly capacity: NodeCapacity;
  readonly labels: Readonly<Record<string, string>>;
  /** Engines that can keep volumes here, best first; absent: none. */
  readonly volumeEngines?: readonly string[];
  /** What this agent can do beyond the first release, by name; absent: nothing. */
  readonly features?: readonly string[];
  /** Ports of the machine that workloads may name, as `443` or `8000-8999`; absent: all. */
  readonly hostPorts?: readonly string[];
  /** What it could not set up, in words for a person. */
  readonly problems?: readonly string[];
  /** Of the newest assignment that this agent was given. */
  readonly seen?: StoreMark;
}

/** What the agent sees; also the heartbeat. `observations` is whole when `full`, else only what changed. */
export interface Report {
  readonly type: 'report';
  readonly epoch: number;
  /** Generation that the agent has taken up. */
  readonly generation: number;
  readonly full: boolean;
  readonly observations: readonly InstanceObservation[];
  /** Set when the engine does not answer. */
  readonly engineProblem?: string;
  readonly usage?: readonly InstanceUsage[];
  /** Counts up within a session; a `lease` names it. */
  readonly beat?: number;
  /** Always whole. */
  readonly volumes?: readonly VolumeObservation[];
  /** Of the assigned ones that were looked at; whole when the generation is the newest. */
  readonly networks?: readonly NetworkObservation[];
}

export interface VolumeObservation {
  readonly volumeId: string;
  readonly role: 'primary' | 'replica';
  /** The highest epoch this node was told for it. */
  readonly epoch: number;
  readonly state: 'preparing' | 'ready' | 'failed';
  readonly problem?: { readonly reason: string; readonly message: string };
  /** What `df` shows. */
  readonly sizeBytes?: number;
  readonly usedBytes?: number;
  /** It can be made smaller while it is in use. */
  readonly shrinkable?: boolean;
  /** Of a replica: its newest complete copy. */
  readonly copy?: { readonly epoch: number; readonly sequence: number; readonly takenAt: string };
  /** Of a primary: what it knows of each copy; the age is that of the newest confirmed state, on its monotonic clock. */
  readonly copies?: readonly {
    readonly nodeId: string;
    readonly state: 'syncing' | 'live' | 'failed';
    readonly sequence?: number;
    readonly ageMs?: number;
    readonly problem?: string;
  }[];
  /** Bytes of an earlier primary's time that no copy had, kept aside read-only under that epoch. */
  readonly diverged?: readonly { readonly epoch: number; readonly path: string }[];
}

export interface InstanceUsage {
  readonly instanceId: string;
  readonly cpuPercent: number;
  readonly memoryBytes: number;
}

/** Containers with our labels that no assignment names: may they go? */
export interface Ask {
  readonly type: 'ask';
  readonly epoch: number;
  readonly instanceIds: readonly string[];
}

export interface Resolve {
  readonly type: 'resolve';
  readonly requestId: string;
  readonly instanceId: string;
  readonly specHash: string;
  readonly secretsVersion: number;
}

export interface StreamData {
  readonly type: 'data';
  readonly streamId: string;
  /** UTF-8 text; a binary chunk is base64 in `base64`. */
  readonly text?: string;
  readonly base64?: string;
  readonly channel?: 'stdout' | 'stderr';
  /** Structured results (`containers`, `stats`), or `{gap: {after, before}}`: between these times a log was lost. */
  readonly value?: unknown;
}

export interface StreamEnd {
  readonly type: 'end';
  readonly streamId: string;
  readonly exitCode?: number;
  readonly error?: { readonly reason: string; readonly message: string };
}

/** The new token is on disk: the old one may go. */
export interface CredentialKept {
  readonly type: 'credential-kept';
  readonly number: number;
}

export type AgentMessage = Hello | Report | Ask | Resolve | StreamData | StreamEnd | CredentialKept;

/** The word in `features` of an agent that takes a new token in a session. */
export const CREDENTIAL_FEATURE = 'credential_renewal';

/** The word in `features` of an agent that signs what it asks of relays; nothing else is taken from its node then. */
export const RELAY_PROOF_FEATURE = 'relay_proof';

/** The word in `features` of an agent that remembers `anchors`. */
export const ANCHORS_FEATURE = 'anchors';

/** In this header of a request for a relay: base64 of the Ed25519 signature over `relayText`. */
export const PROOF_HEADER = 'berth-proof';

/** `path` with its query, `epoch` of the newest session: good for one relay of one session. */
export function relayText(path: string, epoch: number, node: string): string {
  return `berth-relay-v${PROTOCOL_VERSION}|${path}|${epoch}|${node}`;
}

export function signedText(nonce: string, epoch: number, node: string): string {
  return `berth-session-v${PROTOCOL_VERSION}|${nonce}|${epoch}|${node}`;
}
