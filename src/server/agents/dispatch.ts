import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type {
  AgentMessage,
  Ask,
  AskImages,
  Report,
  StreamOperation,
} from '../../core/protocol/agent-protocol.ts';
import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { NetworkPrefixes } from '../../core/model/mesh.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { Region } from '../../core/model/region.ts';
import type { AccessDependencies } from '../access/authenticate.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { RegistryCredentialSource } from '../registry/credentials.ts';
import type { Liveness } from '../runtime/liveness.ts';
import type { MeasuredUsage, Measurements } from '../runtime/measurements.ts';
import type { VolumeSigns } from '../runtime/volume-signs.ts';
import type { MaterialOptions } from './assignments/material.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { Store } from '../store/store.ts';
import type { AcmeSettings } from './ingress/ingress-map.ts';
import { IngressReports } from './ingress/ingress-reports.ts';
import { IngressTraffic } from './ingress/ingress-traffic.ts';
import { IngressMaterials } from './ingress/ingress-material.ts';
import { Assignments } from './assignments/assignments.ts';
import { Failures } from './reports/failures.ts';
import { JobLogs } from './reports/job-logs.ts';
import { neededImages } from './reports/needed-images.ts';
import { NodeNews } from './reports/node-news.ts';
import { KeyedRate } from './sessions/keyed-rate.ts';
import type { LeaseRepeater } from './volumes/lease-repeater.ts';
import { NodeCredentials } from './sessions/node-credentials.ts';
import { NetworkReports } from './assignments/networks.ts';
import { MeshMaps } from './mesh/mesh-maps.ts';
import { MeshRelay } from './mesh/mesh-relay.ts';
import { MeshReports } from './mesh/mesh-reports.ts';
import { PlacedInstances } from './assignments/placed-instances.ts';
import type { StoreLineage } from './assignments/store-lineage.ts';
import { PlacedVolumes } from './assignments/placed-volumes.ts';
import { Relay } from './volumes/relay.ts';
import { Reports } from './reports/reports.ts';
import { RestoredWork } from './reports/restored-work.ts';
import { MaterialResolver } from './assignments/material-resolver.ts';
import type { AgentSession } from './sessions/session.ts';
import { SessionDirectory } from './sessions/session-directory.ts';
import { SessionFacts } from './sessions/session-facts.ts';
import { Sessions } from './sessions/sessions.ts';
import { type ChannelOperation, openChannel, type OpenedChannel } from './streams/channel.ts';
import { type AgentStream, TOO_MANY_STREAMS } from './streams/streams.ts';
import { VolumeReports } from './volumes/volume-reports.ts';

const HELLO_DEADLINE_MS = 10_000;
/** No list is kept waiting longer for figures of a control plane that does not answer. */
const FIGURES_MS = 1_000;
/** Of facts that a node changes on its own: its engine, its machine, a network. */
const EVENTS = { perSecond: 6 / 60, burst: 20 };
/** Of one container: what starts, fails and is tried again stays below; what goes on changing is stored as it is every few seconds. */
const CHANGES = { perSecond: 1 / 3, burst: 60 };

/** Of one node: what starts again and again fails less often before long, as the engine waits longer each time. */
const FAILURES = { perSecond: 10 / 60, burst: 30 };

/** Of one node: a round asks once, and walks the workloads of the tenant. */
const IMAGE_QUESTIONS = { perSecond: 1 / 5, burst: 10 };

export interface DispatchOptions {
  readonly store: Store;
  readonly access: AccessDependencies;
  readonly journal: Journal;
  /** What containers are given, and who holds it. */
  readonly material: Omit<MaterialOptions, 'journal'>;
  readonly credentials: RegistryCredentialSource;
  readonly regions: readonly Region[];
  /** What containers are bounded by where neither workload nor tenant says otherwise. */
  readonly containerDefaults: ContainerDefaults;
  /** Of each deployment: how many images before the present one stay on nodes. */
  readonly keptImages: number;
  /** Where ingress nodes get certificates; absent: Caddy's own choice. */
  readonly acme?: AcmeSettings;
  readonly network: NetworkPrefixes & { readonly relayBytesPerSecond: number };
  readonly timers: {
    readonly heartbeatMs: number;
    readonly failedAfterMs: number;
    readonly usageMs?: number;
    readonly startGraceMs?: number;
  };
  readonly acceptsPerSecond: number;
  /** How long the token of a node is good for after its last renewal. */
  readonly credentialMs: number;
  /** Keys by which agents know the control plane; absent: without TLS. */
  readonly anchors?: () => readonly string[];
  readonly baseUrl: (request: IncomingMessage) => string;
  readonly log: Logger;
  readonly liveness: Liveness;
  readonly volumeSigns: VolumeSigns;
  readonly measurements: Measurements;
  /** Absent: leases are given in sessions alone. */
  readonly leases?: LeaseRepeater;
  /** Absent, or undefined: a restored older store cannot occur, or is not detected. */
  readonly lineage?: () => StoreLineage | undefined;
  /** Absent: this process is the only control plane of its store. */
  readonly others?: OtherControlPlanes;
}

/** The other control planes of the same store, which have agents of their own. */
export interface OtherControlPlanes {
  /** Id of this process among them. */
  readonly self: string;
  /** Whether the agent of the node is connected to one of them. */
  connected(tenantId: TenantId, node: string): boolean;
  /** The answer of that agent, through its control plane. */
  stream(tenantId: TenantId, node: string, operation: StreamOperation): AgentStream | undefined;
  /** Where the nodes of a tenant meet; undefined: here. */
  hubOf(tenantId: TenantId): string | undefined;
  /** Hands a connection to the control plane of that id; false: there is none. */
  proxyUpgrade(controlPlane: string, request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Where agents find them, this one first. */
  addresses(): readonly string[];
}

function isWrittenElsewhere(
  store: Store,
  { identity: { tenantId, node } }: AgentSession,
  volumeId: string,
): boolean {
  const record = store.forTenant(tenantId).get('volumes', idOf('volumes', volumeId))?.record;
  return record !== undefined && record.primaryNodeId !== node;
}

/** The control plane's side of its agents. */
export class Dispatch {
  readonly placed: PlacedInstances;
  readonly volumes: PlacedVolumes;
  readonly #store: Store;
  readonly #restoredWork: RestoredWork;
  readonly #clock: Clock;
  readonly #liveness: Liveness;
  readonly #volumeSigns: VolumeSigns;
  readonly #measurements: Measurements;
  readonly #leases: LeaseRepeater | undefined;
  readonly #volumeReports: VolumeReports;
  readonly #sessions: Sessions;
  readonly #assignments: Assignments;
  readonly #reports: Reports;
  readonly #failures: Failures;
  readonly #networks: NetworkReports;
  readonly #meshMaps: MeshMaps;
  readonly #meshReports: MeshReports;
  readonly #facts: SessionFacts;
  readonly #news: NodeNews;
  readonly #imageQuestions: KeyedRate;
  readonly #keptImages: number;
  readonly #resolver: MaterialResolver;
  readonly #ingressMaterials: IngressMaterials;
  readonly #ingressReports: IngressReports;
  /** For metrics. */
  readonly ingressTraffic: IngressTraffic;
  readonly #jobLogs: JobLogs;
  readonly #others: OtherControlPlanes | undefined;
  readonly #relay: Relay;
  readonly meshRelay: MeshRelay;
  /** For a budget of their node that was used up. */
  streamsRefused = 0;
  readonly #credentials: NodeCredentials;

  constructor(options: DispatchOptions) {
    const { store, journal, log, credentials, others } = options;
    this.#others = others;
    this.#store = store;
    this.#liveness = options.liveness;
    // First, so that the listeners below find it up to date with the change they receive.
    this.placed = new PlacedInstances(store.view);
    this.volumes = new PlacedVolumes(store.view);
    this.#clock = options.access.clock;
    this.#volumeSigns = options.volumeSigns;
    this.#measurements = options.measurements;
    this.#leases = options.leases;
    this.#volumeReports = new VolumeReports({
      store,
      placed: this.volumes,
      journal,
      clock: this.#clock,
      signs: this.#volumeSigns,
      log,
    });
    const events = new KeyedRate(EVENTS, this.#clock);
    const changes = new KeyedRate(CHANGES, this.#clock);
    this.#reports = new Reports({
      store,
      placed: this.placed,
      journal,
      measurements: this.#measurements,
      events,
      changes,
      log,
    });
    this.#failures = new Failures({
      store,
      placed: this.placed,
      clock: this.#clock,
      rate: new KeyedRate(FAILURES, this.#clock),
      log,
    });
    this.#restoredWork = new RestoredWork({ store, placed: this.placed, journal, events, log });
    this.#networks = new NetworkReports({ store, journal, events, log });
    this.#facts = new SessionFacts({ store, journal, events, log });
    this.#news = new NodeNews({ store, placed: this.placed, volumes: this.volumes, journal, events, log });
    this.#imageQuestions = new KeyedRate(IMAGE_QUESTIONS, this.#clock);
    this.#keptImages = options.keptImages;
    this.#meshReports = new MeshReports({ store, journal, events, clock: this.#clock, log });
    this.#resolver = new MaterialResolver({
      store,
      placed: this.placed,
      volumes: this.volumes,
      ...options.material,
      credentials,
      journal,
      log,
    });
    this.ingressTraffic = new IngressTraffic(store);
    this.#ingressReports = new IngressReports({ store, journal, events, clock: this.#clock, log });
    this.#ingressMaterials = new IngressMaterials({ store, ...options.material, clock: this.#clock, log });
    this.#sessions = new Sessions(
      {
        ...options,
        events,
        liveness: this.#liveness,
        ...(others && {
          controlPlane: others.self,
          directory: new SessionDirectory(options.store, options.access.clock, log),
          addresses: () => others.addresses(),
        }),
        timers: { ...options.timers, helloDeadlineMs: HELLO_DEADLINE_MS },
      },
      {
        onOpened: (session) => {
          this.#assignments.push(session);
          this.#meshMaps.opened(session);
          this.#credentials.opened(session);
          this.#jobLogs.opened(session);
        },
        onPulse: (session) => this.#alive(session),
        onMessage: (session, message) => this.#onMessage(session, message),
        onClosed: (session) => {
          this.#measurements.forget(session.identity.tenantId, session.identity.node);
          this.#endLeases(session);
          this.#volumeReports.forget(session);
          this.#meshReports.forget(session);
        },
      },
    );
    this.#credentials = new NodeCredentials(
      { access: options.access, lifetimeMs: options.credentialMs, log },
      () => this.#sessions,
    );
    this.#jobLogs = new JobLogs({
      store,
      placed: this.placed,
      session: (tenantId, node) => this.#sessions.of(tenantId, node),
      log,
    });
    this.#relay = new Relay({
      store,
      access: options.access,
      baseUrl: options.baseUrl,
      log,
      connected: (tenantId, node) => this.connected(tenantId, node),
      stream: (tenantId, node, operation) => this.stream(tenantId, node, operation),
      ...(others && { others }),
    });
    this.meshRelay = new MeshRelay({
      store,
      access: options.access,
      bytesPerSecond: options.network.relayBytesPerSecond,
      baseUrl: options.baseUrl,
      log,
      ...(others && { others }),
    });
    this.#assignments = new Assignments({
      store,
      placed: this.placed,
      volumes: this.volumes,
      session: (tenantId, node) => this.#sessions.of(tenantId, node),
      ...(options.lineage && { lineage: options.lineage }),
      containerDefaults: options.containerDefaults,
      log,
    });
    this.#meshMaps = new MeshMaps({
      store,
      prefixes: options.network,
      ...(options.acme && { acme: options.acme }),
      session: (tenantId, node) => this.#sessions.of(tenantId, node),
    });
  }

  /** For the HTTP server's `upgrade` event. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.meshRelay.upgrade(request, socket, head) || this.#relay.upgrade(request, socket, head)) return;
    this.#sessions.upgrade(request, socket, head);
  }

  #onMessage(
    session: AgentSession,
    message: Exclude<AgentMessage, { readonly type: 'hello' | 'data' | 'end' }>,
  ): void {
    const { epoch } = session.identity;
    switch (message.type) {
      case 'report':
        if (message.epoch !== epoch) return;
        this.#alive(session);
        this.#takeReport(session, message);
        return;
      case 'ask':
        if (message.epoch === epoch) this.#verdict(session, message);
        return;
      case 'ask-images':
        if (message.epoch === epoch) this.#needed(session, message);
        return;
      case 'credential-kept':
        this.#credentials.kept(session, message.number);
        return;
      case 'resolve':
        void this.#resolver.answer(session, message);
        return;
      case 'resolve-image':
        void this.#resolver.answerImage(session, message);
        return;
      case 'ingressGet':
      case 'ingressPut':
        void this.#ingressMaterials.answer(session, message);
    }
  }

  #alive(session: AgentSession): void {
    session.seenMs = Date.now();
    this.#liveness.beat(session.identity.tenantId, session.identity.node);
  }

  #takeReport(session: AgentSession, report: Report): void {
    const { tenantId, node, epoch } = session.identity;
    const heardMs = this.#clock.monotonicMs();
    // An order that is due goes out first: what the agent has taken up is compared with what was ordered.
    this.#assignments.pushDue(session);
    this.#failures.take(session, report);
    this.#reports.take(session, report);
    this.#networks.take(session, report);
    this.#meshReports.take(session, report);
    this.#ingressReports.take(session, report);
    this.ingressTraffic.take(session, report);
    this.#facts.take(session, report);
    this.#news.take(session, report);
    this.#volumeReports.take(session, report, heardMs);
    this.#restoredWork.take(session, report);
    if (report.beat === undefined || !this.#mayWrite(session, report)) return;
    if (!this.#volumeSigns.mayLease(tenantId, node)) return;
    // Noted first: a lease that was perhaps not heard counts as one that was.
    this.#volumeSigns.leased(tenantId, node, heardMs);
    const repeat = this.#leases?.given(session);
    session.send({ type: 'lease', epoch, beat: report.beat, ...(repeat && { repeat }) });
  }

  /**
   * A node that is held writes what it wrote before the store was put back, also what the store does not know of; but nothing that the
   * store has another node write: a lease is the node's, not the volume's.
   */
  #mayWrite(session: AgentSession, { volumes = [] }: Report): boolean {
    const { tenantId, node } = session.identity;
    if (!this.#assignments.isHeld(session)) return this.volumes.holdsLease(tenantId, node);
    const written = volumes.filter(({ role }) => role === 'primary');
    return (
      written.length > 0 &&
      !written.some(({ volumeId }) => isWrittenElsewhere(this.#store, session, volumeId))
    );
  }

  /** What the thread repeated counts as what the session gave. */
  #endLeases(session: AgentSession): void {
    const { tenantId, node } = session.identity;
    const lastMs = this.#leases?.close(session);
    if (lastMs !== undefined) this.#volumeSigns.leased(tenantId, node, lastMs);
  }

  /**
   * What this node has no record of may be removed. The view cannot be behind: this session's epoch was in it before the
   * welcome, and every container of the node was ordered either before that epoch was stored or by this session.
   */
  #verdict(session: AgentSession, { instanceIds }: Ask): void {
    const { tenantId, node, epoch } = session.identity;
    // Asked for by an agent that was given no orders: nothing may go then either.
    if (this.#assignments.isHeld(session)) return;
    const remove = instanceIds.filter((id) => this.placed.find(tenantId, node, id) === undefined);
    session.send({ type: 'verdict', epoch, remove });
  }

  /** Without an answer nothing goes. */
  #needed(session: AgentSession, question: AskImages): void {
    if (this.#assignments.isHeld(session) || !this.#imageQuestions.take(session.key)) return;
    const tenant = this.#store.forTenant(session.identity.tenantId);
    const needed = neededImages(tenant, question, this.#keptImages);
    session.send({ type: 'images-needed', requestId: question.requestId, needed });
  }

  volumeSeen(tenantId: TenantId, volumeId: string, node: string): SeenVolume | undefined {
    return this.#volumeReports.seen(tenantId, volumeId, node);
  }

  placedOn(tenantId: TenantId, node: string): readonly Stored<InstanceRecord>[] {
    return this.placed.on(tenantId, node);
  }

  lastSeenAt(tenantId: TenantId, node: string): string | undefined {
    return this.#sessions.lastSeenAt(tenantId, node);
  }

  /** Of a session with this very process. */
  sessionState(tenantId: TenantId, node: string) {
    const session = this.#sessions.of(tenantId, node);
    if (session === undefined) return undefined;
    const { identity, generation, streams, resolving, engineProblem } = session;
    return { epoch: identity.epoch, generation, streams: streams.size, resolving, engineProblem };
  }

  connected(tenantId: TenantId, node: string): boolean {
    return (
      this.#sessions.of(tenantId, node) !== undefined || this.#others?.connected(tenantId, node) === true
    );
  }

  /** Undefined: the agent is connected to no control plane. */
  stream(tenantId: TenantId, node: string, operation: StreamOperation): AgentStream | undefined {
    return this.streamHere(tenantId, node, operation) ?? this.#others?.stream(tenantId, node, operation);
  }

  /** Undefined: the agent is not connected to this very process. */
  streamHere(tenantId: TenantId, node: string, operation: StreamOperation): AgentStream | undefined {
    const stream = this.#sessions.of(tenantId, node)?.stream(operation);
    if (stream?.end?.error?.reason === TOO_MANY_STREAMS) this.streamsRefused += 1;
    return stream;
  }

  /** A connection of the node's own for what `operation` carries both ways; the stream ends after it. */
  channel(tenantId: TenantId, node: string, operation: ChannelOperation): Promise<OpenedChannel> {
    // What comes waits until somebody reads it.
    const meeting = this.#relay.meet(tenantId, node, (connection) => connection.pause());
    return openChannel(meeting, (channelId) => this.stream(tenantId, node, { ...operation, channelId }));
  }

  /** What agents measured last, by instance, whichever control plane they are connected to. */
  usageOn(tenantId: TenantId, nodes: readonly string[]): Promise<ReadonlyMap<string, MeasuredUsage>> {
    return this.#measurements.of(tenantId, nodes, FIGURES_MS);
  }

  /** Ways between nodes, as the agents that are connected here see them. */
  get meshPaths(): MeshReports['paths'] {
    return this.#meshReports.paths;
  }

  /** Streams that agents serve for this process. */
  get streams(): number {
    return this.#sessions.streams;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** The certificate was renewed, or what comes after it is known. */
  tellAnchors(): void {
    this.#sessions.tellAnchors();
  }

  /** Of agents that do not answer now; resolves when the other control planes can know. */
  endSilentSessions(): Promise<void> {
    return this.#sessions.endSilent();
  }

  /** Sends every agent to another control plane. */
  release(): void {
    this.#sessions.release();
  }

  close(): void {
    this.#credentials.close();
    this.#jobLogs.close();
    this.#assignments.close();
    this.#meshMaps.close();
    this.#relay.close();
    this.meshRelay.close();
    this.#sessions.close();
    this.#reports.close();
    this.#failures.close();
    this.#volumeReports.close();
  }
}
