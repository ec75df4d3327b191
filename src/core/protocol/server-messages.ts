import { LOG_LEVELS } from '../model/log-level.ts';
import type { OwnerName } from '../model/owner.ts';
import { absent, branded, listOf, type Message, message, optional } from '../schema/message-shape.ts';
import { count, flag, integer, name, serverText, serverTextMap } from './field-shapes.ts';
import { acmeSettings, ingressMaterial, ingressRoute } from './ingress-messages.ts';

/** What the control plane says. What a container is made from is checked again where it is made. */

/** Where the control plane's store stood when something was said. A store in which this never was is an older copy. */
const storeMark = message({
  type: 'object',
  fields: {
    installId: serverText,
    /** Of the process that said it: what it says later it knows to have said. */
    start: serverText,
    revision: count,
  },
});

const welcome = message({
  type: 'object',
  fields: {
    epoch: count,
    tenantId: name,
    tenantSlug: name,
    /** Names the control plane's store; the agent removes containers of its own install and node only. */
    installId: name,
    /** The agent reports at least this often; the report is the heartbeat, or a pulse is in its place. */
    heartbeatMs: count,
    /** An unsolicited pong counts as a heartbeat. Absent: reports alone do. */
    hearsPulses: optional(flag),
    /** Silence after which the agent redials. */
    silenceMs: count,
    /** How often the agent measures what its containers use; absent: every 15 s. */
    usageMs: optional(count),
    /** Where the control planes of this store are found; the agent redials to any of them. */
    servers: optional(listOf(serverText)),
    /** Keys that identify the control plane, in place of earlier ones: base64 of public keys in SPKI form. Absent: without TLS. */
    anchors: optional(listOf(serverText)),
    /** Its clock, in milliseconds of the epoch: an agent whose own differs says so. */
    nowMs: optional(count),
    /** It answers `ask-images`. Absent: nothing may be asked, and no image may go. */
    answersImages: optional(flag),
  },
});

const mount = message({
  type: 'object',
  fields: {
    volumeId: serverText,
    /** A container with a mount of another kind is not made, and its instance says which. */
    kind: { type: 'string', values: ['volume', 'bind', 'tmpfs'], open: true, max: 1_000_000 },
    source: optional(serverText),
    target: serverText,
    readOnly: flag,
    sizeBytes: optional({ type: 'number' }),
  },
});
export type AssignedMount = Message<typeof mount>;

const healthCheck = message({
  type: 'object',
  fields: {
    command: listOf(serverText),
    intervalMs: optional({ type: 'number' }),
    timeoutMs: optional({ type: 'number' }),
    retries: optional({ type: 'number' }),
    startPeriodMs: optional({ type: 'number' }),
  },
});
export type AssignedHealthCheck = Message<typeof healthCheck>;

/** Everything a container is made from except secrets, which are asked for when it is about to be created. */
const container = message({
  type: 'object',
  fields: {
    image: serverText,
    command: optional(listOf(serverText)),
    environment: serverTextMap,
    /** True: ask with `resolve` before creating; without an answer there is no container. */
    needsSecrets: flag,
    healthCheck: optional(healthCheck),
    limits: optional({
      type: 'object',
      fields: { cpu: optional({ type: 'number' }), memory: optional(serverText) },
    }),
    /** What it asks for of the engine's disk; absent: nothing. */
    diskBytes: optional(count),
    /** What bounds it where `limits` do not; absent: the agent's defaults. */
    bounds: optional({
      type: 'object',
      fields: { memoryBytes: count, pids: count, cpuWeight: count, logBytes: count },
    }),
    ports: listOf({ type: 'object', fields: { container: count, host: optional(integer) } }),
    labels: serverTextMap,
    mounts: listOf(mount),
    /** Deployment name: alias on the tenant's network. */
    alias: name,
    /** What the workload gives up of what containers may do by default. */
    user: optional(serverText),
    readOnlyRootFilesystem: optional(flag),
    capabilities: optional({ type: 'object', fields: { drop: optional(listOf(serverText)) } }),
    /** How it is told to end; absent: by the signal of the image, with ten seconds until it is killed. */
    stop: optional({ type: 'object', fields: { signal: optional(serverText), graceMs: optional(count) } }),
    /** It has files, which come with the answer to `resolve`: many instances with theirs would not fit into a frame. */
    hasFiles: optional(flag),
    /** Instead of the tenant's network, which is named `tenant` here; absent: that one alone. */
    networks: optional(listOf(name)),
    /** Deployments whose names are to answer on the tenant's network before it starts for the first time. */
    after: optional(listOf(name)),
  },
});
export type AssignedContainer = Message<typeof container>;

/**
 * A container that runs once: it is never started again, and after its end it stays until `stop`, so that its exit code and
 * output can be read. Reported as `exited` with its code; ended for its time: reason `timed_out`.
 */
const once = message({
  type: 'object',
  fields: {
    /** From its start; then it is ended. */
    timeoutMs: optional(count),
    /** End it now. */
    end: optional(flag),
    /** It was seen to run: if it is not there any more it is lost (`container_lost`), and never made again. */
    started: optional(flag),
  },
});
export type AssignedOnce = Message<typeof once>;

const instanceFields = {
  id: name,
  deployment: branded<OwnerName>()(name),
  specHash: serverText,
  secretsVersion: count,
  /** Another number than the running container's: replace it although the spec is the same. */
  attempt: count,
  /** Runs beside the stable instances; a label of the container says so. */
  canary: optional(flag),
  /** The word to restart it without a session after it was unhealthy for so long. One node of a deployment has it. */
  aloneRestartMs: optional(count),
} as const;

/** `stop` is the explicit order to stop and remove; absence from an assignment never is one. */
const instance = message({
  type: 'choice',
  by: 'wanted',
  of: {
    /** `once`: an attempt of a job. */
    run: { type: 'object', fields: { ...instanceFields, once: optional(once), container } },
    stop: { type: 'object', fields: { ...instanceFields, once: absent, container: absent } },
  },
});
export type AssignedInstance = Message<typeof instance>;

const volumeFields = {
  id: name,
  class: { type: 'string', values: ['ephemeral', 'replicated', 'object'] },
  type: { type: 'string', values: ['volume', 'bind', 'tmpfs'] },
  epoch: count,
  sizeBytes: count,
  /** `bind` only; the agent refuses what is not under its own roots. */
  hostPath: optional(serverText),
} as const;
const copyFields = { ...volumeFields, copiesTo: absent, leaseMs: absent, seal: absent } as const;

/**
 * What this node keeps of a volume. Absence from an assignment never removes bytes; `gone` is the order to.
 * `epoch` is the volume's: a node acts under the highest it was ever sent, and streams of another are refused.
 */
const volume = message({
  type: 'choice',
  by: 'role',
  of: {
    primary: {
      type: 'object',
      fields: {
        ...volumeFields,
        /** Of a replicated volume: the nodes that get copies. */
        copiesTo: optional(listOf(name)),
        /**
         * Of a replicated volume: how long it may write after the moment at which it sent the last report that
         * was answered by a `lease`. When this runs out its writers are killed, by the watchdog if the agent is gone.
         */
        leaseMs: optional(count),
        /**
         * It is to move to another node: end what still has it mounted, give the lease back, make the last copy and say who has
         * it. The number is that of the move; without it what was held still goes on.
         */
        seal: optional(count),
        prepare: absent,
      },
    },
    replica: {
      type: 'object',
      fields: {
        ...copyFields,
        /** The volume is about to come here: fetch these images and say which are there. Only to agents that say they know it. */
        prepare: optional(listOf(serverText)),
      },
    },
    gone: { type: 'object', fields: { ...copyFields, prepare: absent } },
  },
});
export type AssignedVolume = Message<typeof volume>;

const network = message({
  type: 'object',
  fields: { name, driver: { type: 'string', values: ['bridge'] }, labels: serverTextMap, internal: flag },
});

const assignment = message({
  type: 'object',
  fields: {
    epoch: count,
    /** Never goes down within an epoch; an older one is ignored. */
    generation: count,
    /** Absent where several control planes share a store. */
    asOf: optional(storeMark),
    instances: listOf(instance),
    /** Absent: none of this node's. */
    volumes: optional(listOf(volume)),
    /** All that the tenant wants here. Present: own networks that it does not name go once nothing is attached. Absent: left alone. */
    networks: optional(listOf(network)),
  },
});

/**
 * The tenant's network as a whole, the same for all its nodes. What is not in it is not there.
 * Virtual addresses stay; who is behind one changes with health.
 */
const meshNode = message({
  type: 'object',
  fields: { name, publicKey: serverText, port: count, addresses: listOf(serverText), subnet: serverText },
});

const meshServiceFields = {
  name,
  address: optional(serverText),
  /** Declared ports of its containers. */
  ports: optional(listOf(count)),
  /** Those that take connections: healthy, or running where there is no health check. */
  instances: listOf({
    type: 'object',
    fields: {
      id: serverText,
      node: name,
      address: serverText,
      /** Of new connections to the virtual address; absent: 1. */
      share: optional(count),
    },
  }),
  /** Addresses of its other containers: they may connect, and take no new connections. All that a job has. Absent: none. */
  others: optional(listOf(serverText)),
  /** Who may connect: deployments, jobs, and `ingress`. Absent: everybody of the tenant. */
  from: optional(listOf(name)),
} as const;

const mesh = message({
  type: 'object',
  fields: {
    /** Of all nodes, and of virtual addresses. */
    prefix: serverText,
    virtualPrefix: serverText,
    nodes: listOf(meshNode),
    services: listOf({ type: 'object', fields: meshServiceFields }),
    /** Absent: none. */
    ingress: optional(listOf(ingressRoute)),
    /** Nodes that serve it, by name, sorted: the first of them that is connected issues certificates. Absent: none. */
    ingressNodes: optional(listOf(name)),
    acme: optional(acmeSettings),
    /** The rest follows as changes; nothing is done before its end. */
    more: optional(flag),
  },
});

/** What became of the last map of the session: of most changes one instance of one service is all there is to say. */
const meshChange = message({
  type: 'object',
  fields: {
    nodes: listOf(meshNode),
    goneNodes: listOf(name),
    services: listOf({
      type: 'object',
      fields: {
        ...meshServiceFields,
        /** `instances` are added to those that are known, or replace them by id. */
        kept: optional(flag),
        goneInstances: optional(listOf(serverText)),
      },
    }),
    goneServices: listOf(name),
    more: optional(flag),
  },
});

/** A UDP port on the host of the control plane, and what proves the two to each other there (`lease-datagram.ts`). */
const leaseRepeat = message({
  type: 'object',
  fields: {
    port: count,
    id: serverText,
    /** 32 bytes, base64url. In memory only, on both sides. */
    key: serverText,
  },
});
export type LeaseRepeat = Message<typeof leaseRepeat>;

/** What a copy is made of; `parent` is the sequence it builds on, absent for a whole one. */
const copyHeader = message({
  type: 'object',
  fields: {
    engine: name,
    sequence: count,
    parent: optional(count),
    /** With `parent`: the epoch under which that one was taken, which may be an earlier one. */
    parentEpoch: optional(count),
    /** Of the sender's wall clock: to be shown, never compared. */
    takenAt: serverText,
  },
  fits: ({ parent, parentEpoch }) => parent === undefined || parentEpoch !== undefined,
});
export type VolumeCopyHeader = Message<typeof copyHeader>;

export const streamOperation = message({
  type: 'choice',
  by: 'kind',
  of: {
    containers: { type: 'object', fields: {} },
    /** Containers attached to a network of the tenant, running or not: one value, a list of their names. */
    'network-containers': { type: 'object', fields: { network: name } },
    logs: {
      type: 'object',
      fields: {
        instanceId: serverText,
        follow: flag,
        tail: optional({ type: 'number' }),
        sinceSeconds: optional({ type: 'number' }),
        /** The time of each line before it. */
        timestamps: optional({ type: 'boolean', orNot: true }),
      },
    },
    stats: { type: 'object', fields: { instanceId: serverText } },
    exec: {
      type: 'object',
      fields: { instanceId: serverText, command: listOf(serverText), timeoutMs: count },
    },
    /**
     * A command with input, output and, where asked for, a terminal, over a connection that the node opens at `/agent/v1/relay/{channelId}`:
     * messages on it are those of `core/contract/channel-messages.ts`. This stream ends after it, with the exit code. Only to agents that
     * say they know it, as all that name a channel.
     */
    attach: {
      type: 'object',
      fields: {
        instanceId: serverText,
        channelId: name,
        command: listOf(serverText),
        tty: flag,
        input: flag,
        columns: optional(count),
        rows: optional(count),
        timeoutMs: count,
      },
    },
    /** A path of the container as a tar archive, by the engine: the image needs no program for it. */
    'copy-out': { type: 'object', fields: { instanceId: serverText, channelId: name, path: serverText } },
    'copy-in': { type: 'object', fields: { instanceId: serverText, channelId: name, path: serverText } },
    /** A connection to a port of the container, at its own address. */
    connect: { type: 'object', fields: { instanceId: serverText, channelId: name, port: count } },
    /** To the first process of the container. No value; only to agents that say they know it, as the next one. */
    signal: { type: 'object', fields: { instanceId: serverText, signal: serverText } },
    /** The last health checks of the container, redacted: one value, a list of `ReportedCheck`. */
    'health-checks': { type: 'object', fields: { instanceId: serverText } },
    /**
     * The node that issues certificates has that of this host revoked, and a new one is asked for; other ingress nodes let go of it once there
     * is another. One value, with issuer and end of what was revoked; only to agents that say they know it.
     */
    'certificate-revoke': { type: 'object', fields: { host: serverText } },
    /** The node announces another key for the mesh and uses it once the others know it. One value, `{publicKey}`; as above. */
    'mesh-key-renew': { type: 'object', fields: {} },
    /** Remove images that nobody needs, or say which: one value, a `NodeCleaning`. Only to agents that say they know it. */
    clean: { type: 'object', fields: { dryRun: flag } },
    /** The agent's own log: what it kept, then with `follow` what comes. Text; `{dropped}` where lines were not read in time. As above. */
    'agent-log': {
      type: 'object',
      fields: { follow: flag, level: { type: 'string', values: LOG_LEVELS }, tail: count, forMs: count },
    },
    /** What the primary of a volume holds at this moment: one value, a `VolumeMeasurement`. */
    'volume-measure': { type: 'object', fields: { volumeId: name } },
    /**
     * Fetch the stream at `/agent/v1/relay/{relayId}` and take it in as a copy; ends with an error or without. Before an
     * error a value `{have: ["<epoch>.<sequence>", …]}` may tell which copies are here.
     */
    'volume-receive': {
      type: 'object',
      fields: { volumeId: name, volumeEpoch: count, relayId: name, copy: copyHeader },
    },
  },
});
export type StreamOperation = Message<typeof streamOperation>;

/** Answer to `resolve`. */
const resolved = message({
  type: 'choice',
  by: 'ok',
  of: {
    true: {
      type: 'object',
      fields: {
        requestId: serverText,
        /** In memory only, on both sides. */
        environment: serverTextMap,
        registry: optional({ type: 'object', fields: { username: serverText, password: serverText } }),
        files: optional(
          listOf({
            type: 'object',
            fields: {
              path: serverText,
              content: optional(serverText),
              base64: optional(serverText),
              mode: optional(serverText),
            },
          }),
        ),
      },
    },
    false: { type: 'object', fields: { requestId: serverText, reason: serverText, message: serverText } },
  },
});

export const serverMessage = message({
  type: 'choice',
  by: 'type',
  of: {
    challenge: {
      type: 'object',
      fields: {
        /** The newest that it speaks. */
        protocol: count,
        /** The oldest; absent: it speaks that one alone. */
        oldest: optional(count),
        /** Its release; absent: 0.1. */
        version: optional(serverText),
        /** 32 random bytes, base64url. The agent signs `signedText(nonce, epoch, node)` with its Ed25519 key. */
        nonce: serverText,
        epoch: count,
      },
    },
    welcome,
    /** The same while the session goes on, e.g. ahead of a renewal; only to agents that say they know it. */
    anchors: { type: 'object', fields: { anchors: listOf(serverText) } },
    /** A token in place of the one that the agent dialled with: both count until `credential-kept`, or until it comes with this one. */
    credential: {
      type: 'object',
      fields: {
        /** Counts up within a session. */
        number: count,
        /** On the agent's disk only. */
        token: serverText,
      },
    },
    assignment,
    mesh,
    'mesh-change': meshChange,
    /** Answer to the report with this `beat`, for nodes that hold a lease: counted by the agent from when it sent that report. */
    lease: {
      type: 'object',
      fields: {
        epoch: count,
        beat: count,
        /** Where it can be had again without this session; absent: nowhere. */
        repeat: optional(leaseRepeat),
      },
    },
    /** Answer to `ask`: which of the asked instance ids are unknown to the control plane and may be removed. */
    verdict: { type: 'object', fields: { epoch: count, remove: listOf(serverText) } },
    resolved,
    /** Answer to `ask-images`: those that are needed, with why. */
    'images-needed': {
      type: 'object',
      fields: {
        requestId: serverText,
        needed: listOf({ type: 'object', fields: { image: serverText, why: serverText } }),
      },
    },
    /** Only to agents that asked. */
    ingressMaterial,
    /** A question of a person, passed on: the answer is a stream of `data` with back-pressure by `credit`. */
    request: { type: 'object', fields: { streamId: serverText, operation: streamOperation } },
    /** The reader took `bytes` more; the sender may have at most the granted amount in flight. */
    credit: { type: 'object', fields: { streamId: serverText, bytes: count } },
    cancel: { type: 'object', fields: { streamId: serverText } },
    /** The session ends and must not be redialled with this identity (node deleted, key revoked, displaced). */
    farewell: { type: 'object', fields: { code: serverText, message: serverText, retry: flag } },
  },
});

export type ServerMessage = Message<typeof serverMessage>;
type Of<Type extends ServerMessage['type']> = Extract<ServerMessage, { readonly type: Type }>;
export type Challenge = Of<'challenge'>;
export type Welcome = Of<'welcome'>;
export type Assignment = Of<'assignment'>;
export type MeshMap = Of<'mesh'>;
export type MeshChange = Of<'mesh-change'>;
export type Lease = Of<'lease'>;
export type Verdict = Of<'verdict'>;
export type Resolved = Of<'resolved'>;
export type ImagesNeeded = Of<'images-needed'>;
export type StreamRequest = Of<'request'>;
export type Credential = Of<'credential'>;
export type Credit = Of<'credit'>;
export type Cancel = Of<'cancel'>;
export type Farewell = Of<'farewell'>;
export type IngressMaterial = Of<'ingressMaterial'>;
