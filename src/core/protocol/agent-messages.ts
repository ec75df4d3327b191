import type { InstanceId } from '../model/ids.ts';
import { CONTAINER_PHASES } from '../model/instance.ts';
import { FAILURE_LINES } from '../model/kept-failure.ts';
import { parseAddress, parseCidr } from '../model/ipv4.ts';
import { NODE_FAULTS, NODE_SHORTAGES } from '../model/node.ts';
import { portRange } from '../model/port-ranges.ts';
import { branded, listOf, type Message, message, optional } from '../schema/message-shape.ts';
import { amount, count, integer, name, reason, text, textUpTo, humanText } from './field-shapes.ts';
import { ingressFacts, ingressQuestions, ingressReport, ingressTraffic } from './ingress-messages.ts';

/** What agents say. They run on machines of tenants: every text, list and map has a bound. */
const MAX_ENTRIES = 5000;
const MAX_LABELS = 256;
const MAX_PORTS = 64;
const MAX_ENGINES = 8;
const MAX_FEATURES = 32;
const MAX_RANGES = 64;
const MAX_PROBLEMS = 8;
const MAX_COPIES = 256;
const MAX_IMAGES = 256;
/** Of one question. */
export const MAX_ASKED_IMAGES = 500;
const MAX_ADDRESSES = 16;
const MAX_ROUTES = 256;
const MAX_PEERS = 1_024;
/** Of an answer, which is read as it is. */
const MAX_VALUE_PARTS = 50_000;

const nodeName = textUpTo(64);
/** Of an image; people read it. */
const imageName = { ...textUpTo(512), fits: /^[\x21-\x7e]+$/ } as const;
const id = textUpTo(128);
const problem = message({ type: 'object', fields: { reason, message: humanText } });

/** Where the control plane's store stood when something was said. A store in which this never was is an older copy. */
const seenMark = message({
  type: 'object',
  fields: {
    installId: text,
    /** Of the process that said it: what it says later it knows to have said. */
    start: text,
    revision: integer,
  },
});
export type StoreMark = Message<typeof seenMark>;

const isAddress = (found: string): boolean => parseAddress(found) !== undefined;
const isNetwork = (found: string): boolean => parseCidr(found) !== undefined;

const meshEndpoint = message({
  type: 'object',
  fields: {
    publicKey: { ...textUpTo(44), fits: /^[A-Za-z0-9+/]{43}=$/ },
    port: integer,
    addresses: listOf({ ...textUpTo(15), fits: isAddress }, MAX_ADDRESSES),
    routes: optional(listOf({ ...textUpTo(18), fits: isNetwork }, MAX_ROUTES)),
  },
});

/** What the machine runs out of: nothing new is placed here. Absent: nothing. */
const conditions = listOf(
  { type: 'object', fields: { kind: { type: 'string', values: NODE_SHORTAGES }, message: humanText } },
  NODE_SHORTAGES.length,
);

/** What else is wrong with it, to the same effect. A field of its own: control planes of 0.1.0 would refuse these kinds in the other. */
const faults = listOf(
  { type: 'object', fields: { kind: { type: 'string', values: NODE_FAULTS }, message: humanText } },
  NODE_FAULTS.length,
);

/** Of the engine; absent: it is not of this machine. */
const disk = message({ type: 'object', fields: { totalBytes: count, roomBytes: count } });

const hello = message({
  type: 'object',
  fields: {
    protocol: integer,
    node: text,
    epoch: integer,
    /** base64 of the Ed25519 signature over `signedText`. */
    signature: text,
    agentVersion: text,
    engine: { type: 'object', fields: { kind: text, version: text } },
    platform: text,
    capacity: { type: 'object', fields: { cpu: amount, memoryBytes: amount } },
    labels: { type: 'map', items: textUpTo(4096), max: MAX_LABELS },
    /** Engines that can keep volumes here, best first; absent: none. */
    volumeEngines: optional(listOf(reason, MAX_ENGINES)),
    /** What this agent can do beyond the first release, by name; absent: nothing. */
    features: optional(listOf(reason, MAX_FEATURES)),
    /** Ports of the machine that workloads may name, as `443` or `8000-8999`; absent: all. */
    hostPorts: optional(
      listOf({ ...text, fits: (range: string) => portRange(range) !== undefined }, MAX_RANGES),
    ),
    /** What it could not set up, for a person. */
    problems: optional(listOf(humanText, MAX_PROBLEMS)),
    /** Why its engine makes no containers, for a person: nothing new is placed here. */
    notReady: optional(humanText),
    conditions: optional(conditions),
    faults: optional(faults),
    disk: optional(disk),
    /** How it takes part in the mesh of its tenant; absent: it does not, and `problems` say why. */
    mesh: optional(meshEndpoint),
    /** It serves the ingress of its tenant; absent: it does not. */
    ingress: optional(ingressFacts),
    /** Of the newest assignment that this agent was given. */
    seen: optional(seenMark),
  },
});

const observation = message({
  type: 'object',
  fields: {
    id: branded<InstanceId>()(textUpTo(64)),
    phase: { type: 'string', values: CONTAINER_PHASES },
    health: optional({ type: 'string', values: ['starting', 'healthy', 'unhealthy'] }),
    containerId: optional(text),
    containerName: optional(text),
    specHash: optional(text),
    secretsVersion: optional(integer),
    exitCode: optional(integer),
    restarts: optional(integer),
    reason: optional(reason),
    message: optional(humanText),
    startedAt: optional(text),
    healthySince: optional(text),
    /** On the tenant's network. */
    address: optional(textUpTo(15)),
    ports: optional(listOf({ type: 'object', fields: { container: integer, host: integer } }, MAX_PORTS)),
  },
});

const MAX_OFFLINE = 500;

/** What an agent did by its last orders after a start without a control plane. In the first report after it, once. */
const offline = message({
  type: 'object',
  fields: {
    started: listOf(textUpTo(64), MAX_OFFLINE),
    /** A stop that was ordered and had not ended. */
    stopped: listOf(textUpTo(64), MAX_OFFLINE),
    waiting: listOf(
      { type: 'object', fields: { instanceId: textUpTo(64), reason, message: humanText } },
      MAX_OFFLINE,
    ),
  },
});

const MAX_CLEANED = 50;

/** Images that a node removed to make room, each once: the next report after it. */
const cleaned = message({
  type: 'object',
  fields: {
    cause: { type: 'string', values: ['asked', 'disk', 'age'] },
    images: listOf({ type: 'object', fields: { image: imageName, bytes: count } }, MAX_CLEANED),
  },
});

/** What an earlier primary alone had written, removed after its time: the next report after it, once. */
const discarded = message({
  type: 'object',
  fields: { volumeId: id, epoch: integer, path: humanText, keptMs: count },
});

const MAX_FAILURES = 16;
const MAX_LINE = 64 * 1024;

/** How a run of an instance failed; what it was given is taken out before it is sent. */
const failure = message({
  type: 'object',
  fields: {
    instanceId: branded<InstanceId>()(textUpTo(64)),
    /** Of the run: told again in another session, it is the same. */
    key: name,
    reason,
    message: humanText,
    exitCode: optional(integer),
    ranMs: optional(count),
    lines: listOf(
      {
        type: 'object',
        fields: { at: optional(textUpTo(64)), text: { ...textUpTo(MAX_LINE), anyUnicode: true } },
      },
      FAILURE_LINES,
    ),
    /** Lines before these that were not kept. */
    dropped: optional(count),
    health: optional(humanText),
  },
});
export type ReportedFailure = Message<typeof failure>;

export const usageFields = {
  instanceId: textUpTo(64),
  cpuPercent: amount,
  memoryBytes: amount,
  /** Absent: the engine does not say, or the agent is older. */
  receivedBytesPerSecond: optional(amount),
  sentBytesPerSecond: optional(amount),
} as const;
const usage = message({ type: 'object', fields: usageFields });
export type InstanceUsage = Message<typeof usage>;

const volume = message({
  type: 'object',
  fields: {
    volumeId: id,
    role: { type: 'string', values: ['primary', 'replica'] },
    /** The highest epoch this node was assigned for it. */
    epoch: integer,
    state: { type: 'string', values: ['preparing', 'ready', 'failed'] },
    problem: optional(problem),
    /** What `df` shows. */
    sizeBytes: optional(count),
    usedBytes: optional(count),
    /** It can be made smaller while it is in use. */
    shrinkable: { type: 'boolean', orNot: true, optional: true },
    /** Of a replica: its newest complete copy. */
    copy: optional({ type: 'object', fields: { epoch: integer, sequence: integer, takenAt: textUpTo(64) } }),
    /** Of a primary: what it knows of each copy; the age is that of the newest confirmed state, on its monotonic clock. */
    copies: optional(
      listOf(
        {
          type: 'object',
          fields: {
            nodeId: nodeName,
            state: { type: 'string', values: ['syncing', 'live', 'failed'] },
            sequence: optional(integer),
            ageMs: optional(amount),
            problem: optional(humanText),
          },
        },
        MAX_COPIES,
      ),
    ),
    /** Of a primary that holds still: for which move, its last copy, and the nodes that have it. */
    sealed: optional({
      type: 'object',
      fields: { attempt: integer, sequence: integer, on: listOf(nodeName, MAX_COPIES) },
    }),
    /** Of a copy that is about to be the primary: images of the order that are here, and why one is not. */
    prepared: optional({
      type: 'object',
      fields: { images: listOf(text, MAX_IMAGES), problem: optional(humanText) },
    }),
    /** Bytes of an earlier primary's time that no copy had, kept aside read-only under that epoch. */
    diverged: optional(listOf({ type: 'object', fields: { epoch: integer, path: humanText } }, MAX_COPIES)),
  },
});
export type VolumeObservation = Message<typeof volume>;

const network = message({
  type: 'object',
  fields: {
    name: textUpTo(64),
    state: { type: 'string', values: ['ready', 'failed'] },
    message: optional(humanText),
  },
});

/** How packets to another node of the mesh go. */
const meshPath = message({
  type: 'object',
  fields: {
    node: nodeName,
    path: { type: 'string', values: ['direct', 'relay', 'none'] },
    address: optional(textUpTo(64)),
    /** The tunnel carried an answer in the last seconds. */
    carries: { type: 'boolean', orNot: true },
    roundTripMs: optional(amount),
    receivedBytes: count,
    sentBytes: count,
  },
});
export type MeshPath = Message<typeof meshPath>;

/** What the agent sees; also the heartbeat. `observations` is whole when `full`, else only what changed. */
const report = message({
  type: 'object',
  fields: {
    epoch: integer,
    /** Generation that the agent has taken up. */
    generation: integer,
    full: { type: 'boolean', orNot: true },
    observations: listOf(observation, MAX_ENTRIES),
    /** Set when the engine does not answer. */
    engineProblem: optional(humanText),
    usage: optional(listOf(usage, MAX_ENTRIES)),
    /** Each once in a session. */
    failures: optional(listOf(failure, MAX_FAILURES)),
    /** Counts up within a session; a `lease` names it. */
    beat: optional(integer),
    /** Always whole. */
    volumes: optional(listOf(volume, MAX_ENTRIES)),
    /** Of the assigned ones that were observed; whole when the generation is the newest. */
    networks: optional(listOf(network, MAX_ENTRIES)),
    /** Always whole; absent: it has no part in a mesh, or no peer. */
    mesh: optional(listOf(meshPath, MAX_PEERS)),
    /** In place of what `hello` said of them; absent: that still holds. */
    facts: optional({
      type: 'object',
      fields: {
        problems: optional(listOf(humanText, MAX_PROBLEMS)),
        notReady: optional(humanText),
        conditions: optional(conditions),
        faults: optional(faults),
        disk: optional(disk),
        mesh: optional(meshEndpoint),
        /** Absent: as `hello` said. */
        ingress: optional(ingressFacts),
      },
    }),
    offline: optional(offline),
    cleaned: optional(listOf(cleaned, MAX_PROBLEMS)),
    discarded: optional(listOf(discarded, MAX_CLEANED)),
    /** Of ingress nodes; always whole. */
    ingress: optional(ingressReport),
    traffic: optional(ingressTraffic),
  },
});

/** What comes of a stream, beside which stream it is. */
export const streamItemFields = {
  /** UTF-8 text; a binary chunk is base64 in `base64`. */
  text: { type: 'string', mended: 'unicode', optional: true },
  base64: { type: 'string', optional: true },
  channel: { type: 'string', values: ['stdout', 'stderr'], optional: true },
  /** Structured results (`containers`, `stats`), or `{gap: {after, before}}`: between these times a log was lost. */
  value: { type: 'any', maxParts: MAX_VALUE_PARTS, optional: true },
} as const;

export const streamEndFields = {
  exitCode: optional(integer),
  error: optional({ type: 'object', fields: { reason: humanText, message: humanText } }),
} as const;

export const agentMessage = message({
  type: 'choice',
  by: 'type',
  of: {
    hello,
    report,
    /** Containers with our labels that no assignment names: may they go? */
    ask: { type: 'object', fields: { epoch: integer, instanceIds: listOf(id, MAX_ENTRIES) } },
    resolve: {
      type: 'object',
      fields: { requestId: id, instanceId: id, specHash: id, secretsVersion: integer },
    },
    /** For an image that is to be fetched before a volume comes (`prepare`); answered by `resolved`, with the registry's credential alone. */
    'resolve-image': { type: 'object', fields: { requestId: id, volumeId: id, image: text } },
    /** Images that this node does not use: which of them are needed? Only to control planes whose `welcome` says that they answer. */
    'ask-images': {
      type: 'object',
      fields: { epoch: integer, requestId: id, images: listOf(imageName, MAX_ASKED_IMAGES) },
    },
    data: { type: 'object', fields: { streamId: id, ...streamItemFields } },
    end: { type: 'object', fields: { streamId: id, ...streamEndFields } },
    /** The new token is on disk: the old one may go. */
    'credential-kept': { type: 'object', fields: { number: integer } },
    ...ingressQuestions,
  },
});

export type AgentMessage = Message<typeof agentMessage>;
type Of<Type extends AgentMessage['type']> = Extract<AgentMessage, { readonly type: Type }>;
export type Hello = Of<'hello'>;
export type Report = Of<'report'>;
export type Ask = Of<'ask'>;
export type Resolve = Of<'resolve'>;
export type ResolveImage = Of<'resolve-image'>;
export type AskImages = Of<'ask-images'>;
export type StreamData = Of<'data'>;
export type StreamEnd = Of<'end'>;

/** What an agent answers when it is asked to measure. */
export const volumeMeasurement = message({
  type: 'object',
  fields: {
    /** What `df` shows. */
    sizeBytes: count,
    usedBytes: count,
    /** Under which the node is its primary. */
    epoch: integer,
    /** It can be made smaller while it is in use. */
    shrinkable: { type: 'boolean', orNot: true },
  },
});
export type VolumeMeasurement = Message<typeof volumeMeasurement>;

const MAX_JUDGED = 2_000;

/** What an agent answers when it is asked to clean up: what it removed, or would, and what it left, with why. */
export const nodeCleaning = message({
  type: 'object',
  fields: {
    /** Of the engine, after it; absent: it is not of the agent's machine. */
    disk: optional({ type: 'object', fields: { usedBytes: count, totalBytes: count } }),
    removed: listOf({ type: 'object', fields: { image: imageName, bytes: count } }, MAX_JUDGED),
    kept: listOf(
      { type: 'object', fields: { image: imageName, bytes: count, reason, message: humanText } },
      MAX_JUDGED,
    ),
    /** Images that Berth did not pull. */
    others: count,
    /** Of volumes of this node: what was kept aside, whether it went or would, and how long it has been kept. */
    divergences: optional(
      listOf(
        {
          type: 'object',
          fields: {
            volumeId: id,
            epoch: integer,
            path: humanText,
            removed: { type: 'boolean', orNot: true },
            message: humanText,
          },
        },
        MAX_JUDGED,
      ),
    ),
  },
});
export type NodeCleaning = Message<typeof nodeCleaning>;
