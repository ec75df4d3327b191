import type { KeyObject } from 'node:crypto';
import { messageOf, optional } from '../core/model/values.ts';
import type { AgentMessage, Farewell, MeshMap, Report, Welcome } from '../core/protocol/agent-protocol.ts';
import { checkBindSource } from './containers/bind-roots.ts';
import { Binds } from './containers/binds.ts';
import { ConfigFiles } from './containers/config-files.ts';
import type { Egress } from './networks/egress.ts';
import { Cleaner, type CleaningSettings } from './cleaning/cleaner.ts';
import { CleaningNews } from './cleaning/cleaning-news.ts';
import { DiskRoom } from './cleaning/disk-room.ts';
import { EngineStanding } from './cleaning/engine-standing.ts';
import { ImageQuestions } from './cleaning/image-questions.ts';
import { PulledImages } from './cleaning/pulled-images.ts';
import { CreationCheck } from './engine/creation-check.ts';
import type { Engine, EngineInfo } from './engine/engine.ts';
import { endIngress, Ingress } from './ingress/ingress.ts';
import { ChangedFacts } from './session/changed-facts.ts';
import { ClockSkew } from './session/clock-skew.ts';
import type { Identity } from './session/identity.ts';
import type { LogFeed } from '../core/contract/log-feed.ts';
import { type Log } from './log.ts';
import { LastOrders } from './last-orders.ts';
import { ALONE_AFTER_MS, Loop } from './containers/loop.ts';
import { OfflineNews } from './containers/offline-news.ts';
import { MESH_RELAY_PATH } from '../core/protocol/mesh-frame.ts';
import { ArrivingMap } from './mesh/arriving-map.ts';
import { MeshDevice } from './mesh/device.ts';
import { deviceName } from './mesh/machine.ts';
import { Mesh, removeMesh } from './mesh/mesh.ts';
import type { MeshEndpoint } from '../core/model/mesh.ts';
import { Networks } from './networks/networks.ts';
import { AGENT_FEATURES, type NodeFacts, nodeFacts } from './session/node-facts.ts';
import { ownership } from './containers/own-labels.ts';
import { Reporter } from './session/reporter.ts';
import type { WayOut } from './session/proxy.ts';
import { Session, type SessionMessage } from './session/session.ts';
import { openChannel } from './session/channel.ts';
import { Streams } from './session/streams.ts';
import { UsageMeter } from './containers/usage.ts';
import { receiveProblems } from './volumes/detect.ts';
import { PlainEngine } from './volumes/plain-engine.ts';
import { RelayLink, relayProof } from './volumes/relay-link.ts';
import type { VolumeEngine } from './volumes/volume-engine.ts';
import { Volumes } from './volumes/volumes.ts';

const INFO_DEADLINE_MS = 5_000;

export interface AgentOptions {
  readonly engine: Engine;
  readonly info: EngineInfo;
  readonly identity: Identity;
  readonly way: WayOut;
  readonly key: KeyObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly bindRoots: readonly string[];
  /** Absent: all. */
  readonly hostPorts: readonly string[] | undefined;
  readonly egress: Egress;
  /** Absent: this node takes no part in the mesh of its tenant. */
  readonly mesh?: { readonly port: number; readonly advertise: readonly string[] };
  /** Absent: this node serves no ingress. */
  readonly ingress?: { readonly http: number; readonly https: number };
  readonly dataDir: string;
  readonly volumeEngines: readonly VolumeEngine[];
  readonly copyIntervalMs: number;
  readonly cleaning: CleaningSettings;
  readonly version: string;
  readonly log: Log;
  /** That log, as others read it. */
  readonly feed: LogFeed;
  readonly onFirstWelcome: (facts: NodeFacts) => void;
  readonly onServers: (servers: readonly string[]) => void;
  readonly onAnchors: (anchors: readonly string[]) => void;
  readonly onCredential: (token: string, previous: string) => Promise<void>;
  readonly onRefused: () => Promise<string | undefined>;
}

/** Joins the parts: the session's messages go to loop and streams, what they see goes through the reporter back. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #session: Session;
  readonly #loop: Loop;
  readonly #binds: Binds;
  readonly #networks: Networks;
  readonly #mesh: Mesh | undefined;
  readonly #arriving = new ArrivingMap();
  #meshEndpoint: MeshEndpoint | undefined;
  readonly #ingress: Ingress | undefined;
  readonly #clock = new ClockSkew();
  readonly #changed = new ChangedFacts();
  readonly #reporter: Reporter;
  readonly #streams: Streams;
  readonly #meter: UsageMeter;
  readonly #creation: CreationCheck;
  readonly #volumes: Volumes;
  readonly #orders: LastOrders;
  readonly #offline: OfflineNews;
  readonly #pulled: PulledImages;
  readonly #imageQuestions: ImageQuestions;
  readonly #cleaner: Cleaner;
  readonly #room: DiskRoom;
  readonly #standing: EngineStanding;
  readonly #cleaned = new CleaningNews();
  #info: EngineInfo;
  #facts: NodeFacts;
  #cannotReceive: readonly string[] = [];
  #welcomed = false;

  constructor(options: AgentOptions) {
    const { engine, info, identity, key, log } = options;
    this.#options = options;
    this.#orders = new LastOrders(options.dataDir, log);
    this.#offline = new OfflineNews(log);
    this.#pulled = new PulledImages(options.dataDir, log);
    this.#info = info;
    this.#creation = new CreationCheck({
      engine,
      node: identity.nodeName,
      dataDir: options.dataDir,
      onChange: () => this.#reporter.nodeChanged(),
      log,
    });
    const send = (message: AgentMessage): boolean => this.#session.send(message);
    this.#imageQuestions = new ImageQuestions(send);
    this.#cleaner = new Cleaner({
      engine,
      pulled: this.#pulled,
      settings: options.cleaning,
      rootDir: () => this.#info.rootDir,
      wanted: () => new Set([...this.#loop.wantedImages, ...this.#volumes.preparedImages]),
      ask: (images) => this.#imageQuestions.ask(images),
      divergences: (dryRun) => this.#volumes.discardDue(dryRun),
      onRemoved: (removed, cause) => {
        this.#loop.imageRemoved(removed.image);
        this.#cleaned.removed(removed, cause);
      },
      onConditions: () => this.#reporter.nodeChanged(),
      log,
    });
    this.#room = new DiskRoom({
      engine,
      rootDir: () => this.#info.rootDir,
      users: () => this.#loop.diskUsers,
      onChange: () => this.#reporter.nodeChanged(),
    });
    this.#standing = new EngineStanding({
      problem: () => this.#loop?.observer.problem,
      rootDir: () => this.#info.rootDir,
      onChange: () => this.#reporter.nodeChanged(),
    });
    this.#facts = this.#nodeFacts();
    this.#session = new Session({
      identity,
      way: options.way,
      key,
      log,
      facts: () => this.#readFacts(),
      onServers: options.onServers,
      onAnchors: options.onAnchors,
      onCredential: async (token, previous) => {
        await options.onCredential(token, previous);
        this.#mesh?.renewKey();
      },
      onRefused: options.onRefused,
      handlers: {
        onWelcome: (welcome, roundTripMs) => this.#begin(welcome, roundTripMs),
        onMessage: (message) => this.#take(message),
        onLost: () => this.#end(),
      },
    });
    this.#networks = new Networks({ engine, onChange: () => this.#reporter.nodeChanged(), log });
    const link = new RelayLink(
      identity,
      () => this.#session.server,
      (path) => relayProof(key, path, this.#session.epoch ?? 0, identity.nodeName),
      this.#session.pins,
      () => this.#session.token,
    );
    const device = new MeshDevice(deviceName(identity.nodeName, options.dataDir), options.mesh?.port ?? 0);
    if (options.mesh === undefined) void removeMesh(device, log);
    this.#mesh =
      options.mesh &&
      new Mesh({
        engine,
        node: identity.nodeName,
        device,
        advertise: options.mesh.advertise,
        dataDir: options.dataDir,
        dialRelay: () => link.open(MESH_RELAY_PATH),
        placeOf: (id) => this.#loop.placeOf(id),
        onJoined: (id) => this.#loop.observer.refresh(id),
        onChange: () => this.#reporter.nodeChanged(),
        onApplied: () => this.#loop.networkChanged(),
        log,
      });
    this.#ingress =
      options.ingress &&
      new Ingress({
        ...options.ingress,
        node: identity.nodeName,
        dataDir: options.dataDir,
        hostPorts: options.hostPorts,
        send,
        onChange: () => this.#reporter.nodeChanged(),
        log,
      });
    this.#binds = new Binds(options);
    this.#loop = new Loop({
      engine,
      engineKind: info.kind,
      cpus: info.cpus,
      node: identity.nodeName,
      binds: this.#binds,
      files: new ConfigFiles(options.dataDir, options.log),
      hostPorts: options.hostPorts,
      volume: (id) => this.#volumes.mountState(id),
      meshNetwork: async () => await this.#mesh?.network(),
      nameAnswers: (name) => this.#mesh?.answers(name),
      drainsUntilMs: (id, orderedMs) => this.#mesh?.drainsUntilMs(id, orderedMs),
      onAssigned: (assignment) => {
        const { owner } = this.#loop.state;
        if (owner !== undefined) this.#orders.keep(owner, assignment);
        this.#volumes.assign(assignment.volumes ?? []);
      },
      ordersKept: () => this.#orders.settled(),
      onPulled: async (image) => {
        const { id } = await engine.inspectImage(image);
        await this.#pulled.pulled(image, id);
        this.#cleaner.wake();
      },
      offline: this.#offline,
      send,
      onChange: (id) => {
        this.#reporter.changed(id);
        this.#mesh?.changed(id);
        this.#volumes.wake();
      },
      onEngineProblem: () => this.#reporter.nodeChanged(),
      onCreateFailed: (error) => this.#creation.failed(error),
      onPass: () => this.#networks.look(),
      onFirstLook: () => this.#reporter.becameWhole(),
      log,
    });
    this.#reporter = new Reporter(
      {
        observation: (id) => this.#loop.observation(id),
        observations: () => this.#loop.observations(),
        isWhole: () => this.#loop.observer.looked,
        generation: () => this.#loop.state.generation,
        isReading: (id) => this.#loop.words.isReading(id),
        failures: () => this.#loop.words.toTell(),
        hasFailures: () => this.#loop.words.isUntold,
        engineProblem: () => this.#loop.observer.problem,
        networks: () => this.#networks.observations(),
        mesh: () => this.#mesh?.paths() ?? [],
        ingress: () => this.#ingress?.routes(),
        traffic: () => this.#ingress?.traffic() ?? [],
        facts: () => this.#changedFacts(),
        offline: () => this.#offline.take(),
        cleaned: () => this.#cleaned.take(),
        discarded: () => this.#cleaned.takeDiscarded(),
        notSent: (news) => this.#cleaned.putBack(news),
        volumes: () => this.#volumes.observations(),
        onBeat: (beat) => this.#volumes.leases.sent(beat),
      },
      { send, pulse: () => this.#session.pulse() },
    );
    this.#meter = new UsageMeter(
      engine,
      () => [...this.#loop.observer.all()].filter(({ status }) => status === 'running'),
      (usage) => this.#reporter.measured(usage),
    );
    this.#volumes = new Volumes({
      dataDir: options.dataDir,
      engines: options.volumeEngines,
      plain: new PlainEngine(),
      copyIntervalMs: options.copyIntervalMs,
      ...optional('keepDivergedMs', options.cleaning.divergedMs),
      onDiscarded: (volumeId, { epoch, path, keptMs }) =>
        this.#cleaned.discarded({ volumeId, epoch, path, keptMs: Math.floor(keptMs) }),
      link,
      leaseHost: () => new URL(this.#session.server).hostname.replace(/^\[|\]$/g, ''),
      bindSource: async (path) => {
        const { owner } = this.#loop.state;
        return await checkBindSource(path, options.bindRoots, owner?.tenantSlug ?? '');
      },
      inUse: (id) => this.#loop.usesVolume(id),
      prepareImage: (id, image) => this.#loop.prepareImage(id, image),
      onChange: (id) => this.#loop.volumeChanged(id),
      onNews: () => this.#reporter.volumesChanged(),
      log,
    });
    this.#streams = new Streams({
      engine,
      containerOf: (id) => this.#containerOf(id),
      plainOf: (id) => this.#loop.state.assigned.get(id)?.container?.environment ?? {},
      networkContainers: (name) => this.#networks.containers(name),
      send,
      queuedBytes: () => this.#session.bufferedBytes,
      openChannel: (id, signal) => openChannel((path) => link.open(path), id, signal),
      measureVolume: (id) => this.#volumes.measureNow(id),
      receive: (operation, aborted) => this.#volumes.receive(operation, aborted),
      revokeCertificate: async (host) => {
        if (this.#ingress === undefined) throw new Error('this node serves no ingress');
        return await this.#ingress.revoke(host);
      },
      clean: (dryRun) => this.#cleaner.clean(dryRun),
      renewMeshKey: async () => {
        const publicKey = await this.#mesh?.renewKeyNow();
        if (publicKey === undefined)
          throw new Error(this.#mesh?.problem ?? "it takes no part in the tenant's network (--mesh off)");
        return { publicKey };
      },
      log,
      feed: options.feed,
    });
  }

  /** Until `signal`, or until the control plane dismisses the node. Containers are left running in both cases. */
  async run(signal: AbortSignal): Promise<Farewell | undefined> {
    const stop = new AbortController();
    const all = AbortSignal.any([signal, stop.signal]);
    this.#meter.run(all);
    this.#cleaner.run(all);
    this.#room.run(all);
    this.#standing.run(all);
    await Promise.all([
      this.#volumes.load(),
      this.#binds.load(),
      this.#pulled.load(),
      this.#options.egress.run(all),
    ]);
    if (this.#ingress === undefined) await endIngress(this.#options.dataDir, this.#options.log);
    const looping = this.#loop.run(all);
    const recall = setTimeout(() => {
      this.#recall(all).catch((error: unknown) =>
        this.#options.log.warn('the last orders could not be followed', { problem: messageOf(error) }),
      );
    }, ALONE_AFTER_MS);
    const farewell = await this.#session.run(signal);
    stop.abort();
    clearTimeout(recall);
    if (farewell !== undefined) await this.#orders.forget();
    this.#creation.end();
    this.#mesh?.end();
    this.#ingress?.end();
    await Promise.all([looping, this.#volumes.end()]);
    return farewell;
  }

  #nodeFacts(): NodeFacts {
    const { labels, version, volumeEngines, hostPorts } = this.#options;
    return {
      ...nodeFacts(this.#info, labels, version),
      volumeEngines: volumeEngines.map(({ name }) => name),
      features: AGENT_FEATURES,
      ...(hostPorts === undefined ? {} : { hostPorts }),
      ...this.#problems(),
      ...optional('notReady', this.#creation.problem),
      ...this.#conditions(),
      ...optional('disk', this.#room.room),
      ...(this.#meshEndpoint && { mesh: this.#meshEndpoint }),
      ...optional('ingress', this.#ingress?.lastFacts),
    };
  }

  #problems(): Pick<NodeFacts, 'problems'> {
    const { problem } = this.#options.egress;
    const problems = [
      problem,
      this.#mesh?.problem,
      this.#mesh?.addressProblem,
      this.#mesh?.repairProblem,
      this.#ingress?.lastFacts?.problem,
      this.#clock.problem(Date.now(), performance.now()),
      ...this.#cannotReceive,
    ].filter((one) => one !== undefined);
    return problems.length === 0 ? {} : { problems };
  }

  #conditions(): Pick<NodeFacts, 'conditions' | 'faults'> {
    const { conditions } = this.#cleaner;
    const clock = this.#clock.fault(Date.now(), performance.now());
    const engine = this.#standing.fault();
    const faults = [
      ...(clock === undefined ? [] : [{ kind: 'clock', message: clock } as const]),
      ...(engine === undefined ? [] : [{ kind: 'engine', message: engine } as const]),
    ];
    return {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(faults.length === 0 ? {} : { faults }),
    };
  }

  /** Of what may change while a session lasts: what the control plane was told in its `hello` no longer holds. */
  #changedFacts(): Report['facts'] {
    const [mesh, ingress] = [this.#mesh?.lastEndpoint, this.#ingress?.lastFacts];
    return this.#changed.of({
      ...this.#problems(),
      ...optional('notReady', this.#creation.problem),
      ...this.#conditions(),
      ...optional('disk', this.#room.room),
      ...optional('mesh', mesh),
      ...optional('ingress', ingress),
    });
  }

  /** The engine may have been upgraded or its machine changed since the last session. */
  async #readFacts(): Promise<NodeFacts> {
    const { engine, volumeEngines } = this.#options;
    this.#cannotReceive = await receiveProblems(volumeEngines);
    this.#meshEndpoint = await this.#mesh?.endpoint();
    await this.#ingress?.facts();
    await this.#creation.look();
    await this.#room.read();
    await this.#standing.look();
    // The last known facts; that the engine is away is in the report.
    this.#info = await engine.info({ deadlineMs: INFO_DEADLINE_MS }).catch(() => this.#info);
    this.#facts = this.#nodeFacts();
    const { problems, notReady, conditions, faults, disk, mesh, ingress } = this.#facts;
    this.#changed.begin({
      ...optional('problems', problems),
      ...optional('notReady', notReady),
      ...optional('conditions', conditions),
      ...optional('faults', faults),
      ...optional('disk', disk),
      ...optional('mesh', mesh),
      ...optional('ingress', ingress),
    });
    return this.#facts;
  }

  /** The machine has started, and no control plane answers: what may run without one runs as it was last ordered. */
  async #recall(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const orders = await this.#orders.read();
    if (orders === undefined || this.#welcomed || signal.aborted) return;
    if (this.#session.wasRefused) {
      log.warn('the control plane refuses this node: nothing is started by its last orders');
      return;
    }
    const { owner, assignment, map } = orders;
    const { instances, volumes = [] } = assignment;
    this.#offline.recalled(instances.length, volumes.length);
    this.#volumes.recall(volumes);
    this.#loop.recall(owner, assignment);
    if (map === undefined) return;
    this.#mesh?.begin(owner);
    this.#ingress?.begin();
    this.#takeMap(map);
  }

  #begin(welcome: Welcome, roundTripMs: number): void {
    const { log, identity, onFirstWelcome } = this.#options;
    this.#clock.learn(welcome.nowMs, performance.now(), roundTripMs);
    const owner = ownership(identity.nodeName, welcome);
    this.#loop.begin(owner, welcome.epoch);
    this.#networks.begin(owner);
    this.#mesh?.begin(owner);
    this.#ingress?.begin();
    this.#volumes.begin();
    this.#imageQuestions.begin(welcome.answersImages === true ? welcome.epoch : undefined);
    this.#reporter.begin(welcome);
    this.#meter.every(welcome.usageMs);
    log.info('session with the control plane', { epoch: welcome.epoch, tenant: welcome.tenantSlug });
    if (!this.#welcomed) onFirstWelcome(this.#facts);
    this.#welcomed = true;
  }

  #end(): void {
    this.#loop.end();
    this.#networks.end();
    this.#ingress?.lost();
    this.#imageQuestions.lost();
    this.#reporter.end();
    this.#streams.end();
  }

  #takeMap(map: MeshMap | undefined): void {
    if (map === undefined) return;
    this.#mesh?.take(map);
    this.#ingress?.take(map);
  }

  #take(message: SessionMessage): void {
    switch (message.type) {
      case 'assignment':
        if (this.#loop.assign(message)) this.#networks.assign(message);
        return;
      case 'mesh':
      case 'mesh-change': {
        const map = this.#arriving.take(message);
        if (map !== undefined) this.#orders.keepMap(map);
        return this.#takeMap(map);
      }
      case 'lease':
        this.#volumes.lease(message).catch((error: unknown) => {
          this.#options.log.error('a lease could not be recorded', { problem: messageOf(error) });
        });
        return;
      case 'verdict':
        return this.#loop.condemn(message);
      case 'resolved':
        return this.#loop.answer(message);
      case 'images-needed':
        return this.#imageQuestions.answer(message);
      case 'ingressMaterial':
        return this.#ingress?.answer(message);
      case 'request':
        return this.#streams.open(message);
      case 'credit':
        return this.#streams.credit(message.streamId, message.bytes);
      case 'cancel':
        return this.#streams.cancel(message.streamId);
    }
  }

  /** Only containers of this control plane's, the running one first. */
  #containerOf(instanceId: string): string | undefined {
    const { owner } = this.#loop.state;
    const mine = (this.#loop.observer.byInstance.get(instanceId) ?? []).filter(
      (one) => one.installId === owner?.installId,
    );
    return (mine.find(({ status }) => status === 'running') ?? mine[0])?.id;
  }
}
