export type {
  AgentMessage,
  Ask,
  AskImages,
  Hello,
  InstanceUsage,
  MeshPath,
  NodeCleaning,
  Report,
  ReportedFailure,
  Resolve,
  ResolveImage,
  StoreMark,
  StreamData,
  StreamEnd,
  VolumeMeasurement,
  VolumeObservation,
} from './agent-messages.ts';
export type {
  AssignedContainer,
  AssignedHealthCheck,
  AssignedInstance,
  AssignedMount,
  AssignedOnce,
  AssignedVolume,
  Assignment,
  Cancel,
  Challenge,
  Credential,
  Credit,
  Farewell,
  ImagesNeeded,
  IngressMaterial,
  Lease,
  LeaseRepeat,
  MeshChange,
  MeshMap,
  Resolved,
  ServerMessage,
  StreamOperation,
  StreamRequest,
  Verdict,
  VolumeCopyHeader,
  Welcome,
} from './server-messages.ts';

import type { Spoken } from './releases.ts';

/**
 * The server-agent protocol: JSON messages over one WebSocket that the agent dials
 * (`/agent/v1/session`, `Authorization: Bearer berth_node_…`). Level-triggered: the agent always receives its whole
 * assignment, so the next message makes up for a lost one.
 *
 *   server challenge → agent hello (signed) → server welcome → assignment* / verdict* / request* ⇄ report* / ask* / resolve*
 */
export const PROTOCOL_VERSION = 1;
/**
 * What this release speaks. The control plane opens with its own; the agent answers in the newest that both speak. A new message or member needs
 * no new version (features say what an agent can do); a version is raised for what an earlier release would misread, and the one before is
 * spoken for one release more.
 */
export const SPOKEN: Spoken = { oldest: 1, newest: PROTOCOL_VERSION };
export const MAX_FRAME_BYTES = 4 * 2 ** 20;
/** On a connection that another control plane hands on. */
export const HANDED_ON_HEADER = 'berth-handed-on';

/** Feature of an agent that takes a new token in a session. */
export const CREDENTIAL_FEATURE = 'credential_renewal';

/** Feature of an agent that signs its relay requests; nothing else is taken from its node then. */
export const RELAY_PROOF_FEATURE = 'relay_proof';

/** Feature of an agent that renews its key in the mesh, and has certificates revoked, when it is asked to. */
export const RENEWALS_FEATURE = 'renewals';

/** Feature of an agent that opens a connection for a command with input (`attach`). */
export const CHANNELS_FEATURE = 'channels';

/** Feature of an agent that signals an instance and tells its health checks. */
export const INSTANCES_FEATURE = 'instances';

/** Feature of an agent that saves `anchors`. */
export const ANCHORS_FEATURE = 'anchors';

/** Feature of an agent that gives a volume's lease back and makes its last copy, so that another node takes over without loss. */
export const SEAL_FEATURE = 'volume_seal';

/** Feature of an agent that removes images that nobody needs, when it is asked to. */
export const CLEANING_FEATURE = 'cleaning';

/** Feature of an agent that lets its own log be read. */
export const AGENT_LOG_FEATURE = 'agent_log';

/** Feature of an agent that fetches images before a volume comes with what runs from it (`prepare`). */
export const PREPARE_FEATURE = 'volume_prepare';

/** Feature of an agent that takes an unsolicited pong for the sign of life that a ping is: neither side has an answer to write or to read. */
export const PONGS_FEATURE = 'pongs';

/**
 * Feature of an agent whose heartbeat is an unsolicited pong while it has nothing to report, where the welcome says that it counts: a frame
 * without content, which nobody has to parse.
 */
export const PULSES_FEATURE = 'pulses';

/** In this header of a request for a relay: base64 of the Ed25519 signature over `relayText`. */
export const PROOF_HEADER = 'berth-proof';

/** `path` with its query, `epoch` of the newest session: good for one relay of one session. */
export function relayText(path: string, epoch: number, node: string): string {
  return `berth-relay-v1|${path}|${epoch}|${node}`;
}

/** `protocol`: the version that the agent chose. */
export function signedText(nonce: string, epoch: number, node: string, protocol = PROTOCOL_VERSION): string {
  return `berth-session-v${protocol}|${nonce}|${epoch}|${node}`;
}
