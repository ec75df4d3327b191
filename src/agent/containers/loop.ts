import { messageOf } from '../../core/model/values.ts';
import type { AgentMessage, Assignment, Resolved, Verdict } from '../../core/protocol/agent-protocol.ts';
import { planAlone } from './alone.ts';
import type { Binds } from './binds.ts';
import type { DiskUser } from '../cleaning/disk-room.ts';
import type { ConfigFiles } from './config-files.ts';
import type { Engine, EngineKind } from '../engine/engine.ts';
import { EngineUnavailableError } from '../engine/errors.ts';
import { problemOf } from './failures.ts';
import { type Log } from '../log.ts';
import { type Ending, withFailure, withoutFailure } from './instance-history.ts';
import { Lanes } from './lanes.ts';
import { LoopState } from './loop-state.ts';
import { LastWords } from './last-words.ts';
import { Notes } from './notes.ts';
import { observationOf, type ObservationInput } from './observation.ts';
import { type EndedRun, Observer } from './observe.ts';
import type { OfflineNews } from './offline-news.ts';
import type { Ownership } from './own-labels.ts';
import {
  disconnectedDueMs,
  awaitedName,
  awaitedVolume,
  nextDueMs,
  type DisconnectedView,
  type NodeView,
  planDisconnected,
  planAsk,
  planInstance,
  RESOLVED_FRESH_MS,
} from './plan.ts';
import { type Material, MaterialClient, SessionLostError } from './material-client.ts';
import { planRecalled, type RecalledPlan } from './recalled.ts';
import type { InstanceStep } from './step.ts';
import { EXECUTORS, prepareImage, type Workbench } from './steps.ts';
import type { LocalPlace } from '../mesh/local-health.ts';
import type { InstanceObservation } from '../../core/model/instance.ts';

const MAX_KNOWN_IMAGES = 1_000;
/** Without a session for so long, it goes by what it remembers: one that comes at once brings newer orders. */
export const ALONE_AFTER_MS = 5_000;

export interface LoopOptions {
  readonly engine: Engine;
  readonly engineKind: EngineKind;
  readonly cpus: number;
  readonly node: string;
  readonly binds: Binds;
  readonly files: ConfigFiles;
  readonly hostPorts: readonly string[] | undefined;
  readonly volume: NodeView['volume'];
  readonly meshNetwork: Workbench['meshNetwork'];
  readonly drainsUntilMs: NonNullable<NodeView['drainsUntilMs']>;
  readonly nameAnswers: NonNullable<NodeView['nameAnswers']>;
  /** Before anything is done by it. */
  readonly onAssigned: (assignment: Assignment) => void;
  /** Resolves when what is assigned is on disk: what was stopped must not be started by older orders. */
  readonly ordersKept: () => Promise<void>;
  readonly onPulled: Workbench['onPulled'];
  /** What is started, and what waits, while there is no control plane. */
  readonly offline: OfflineNews;
  readonly send: (message: AgentMessage) => boolean;
  /** The report of this instance may have changed. */
  readonly onChange: (instanceId: string) => void;
  readonly onEngineProblem: () => void;
  readonly onCreateFailed: (error: unknown) => void;
  /** A full observation of the engine succeeded. */
  readonly onPass: () => void;
  /** From now on the observations are whole. */
  readonly onFirstLook: () => void;
  readonly log: Log;
}

/**
 * Brings the node to what is assigned. Each instance goes its own way, one step after the other; all share the gates.
 * Woken by assignments, by the engine's events and by a pass every ten seconds, and idle otherwise. Without a session
 * nothing is made on old orders: what ran and is down is started (`planRecalled`; with binds, `planDisconnected`).
 */
export class Loop {
  readonly observer: Observer;
  readonly state = new LoopState();
  readonly words: LastWords;
  readonly #options: LoopOptions;
  readonly #resolver: MaterialClient;
  readonly #material = new Map<string, Material>();
  readonly #pulls = new Map<string, Promise<void>>();
  readonly #refusals: Workbench['refusals'] = new Map();
  readonly #network: Workbench['network'] = { made: undefined };
  readonly #lanes: Lanes;
  readonly #notes: Notes;
  #epoch: number | undefined;
  #aloneSinceMs = performance.now();
  #over = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#resolver = new MaterialClient(options.send);
    const { engine, log, onChange } = options;
    this.words = new LastWords({ engine, log, onWords: onChange });
    this.observer = new Observer(
      options.engine,
      options.node,
      {
        onChange: (id) => this.#changed(id),
        onEnding: (id, ending, run) => this.#ended(id, ending, run),
        onPass: ({ first }) => {
          this.#pass();
          options.onPass();
          if (first) options.onFirstLook();
        },
        onProblem: () => options.onEngineProblem(),
      },
      options.log,
    );
    this.#notes = new Notes(this.state, this.observer, this.words);
    this.#lanes = new Lanes({
      cpus: options.cpus,
      next: (id) => this.#next(id),
      take: (id, kind) => this.#takeIfStillNext(id, kind),
      onStuck: (id, kind, problem) => this.#fail(id, kind, problem),
      onRest: (id) => this.#dropStaleMaterial(id),
      dueMs: (id) => this.#dueMs(id),
    });
  }

  /** Runs until `signal`; running steps finish, the next start completes what they leave half done. */
  async run(signal: AbortSignal): Promise<void> {
    const end = (): void => {
      this.#over = true;
      this.end();
    };
    signal.addEventListener('abort', end, { once: true });
    await this.observer.run(signal);
  }

  begin(owner: Ownership, epoch: number): void {
    this.state.begin(owner);
    this.words.begin();
    this.state.network = undefined;
    this.#epoch = epoch;
  }

  /** No session has come since the agent began: it goes by what it was told before. */
  recall(owner: Ownership, assignment: Assignment): void {
    this.state.recall(owner, assignment);
    for (const id of this.state.assigned.keys()) this.#lanes.wake(id);
  }

  /** The session is gone. */
  end(): void {
    this.#epoch = undefined;
    this.#aloneSinceMs = performance.now();
    this.state.end();
    this.#resolver.lost();
    this.#material.clear();
    this.#refusals.clear();
    this.#lanes.forgetTimers();
    for (const id of new Set([...this.#options.binds.instanceIds, ...this.state.assigned.keys()]))
      this.#lanes.wake(id);
  }

  /** False: it is older than that which is in force, and nothing of it is an order. */
  assign(assignment: Assignment): boolean {
    if (!this.state.assign(assignment)) {
      this.#options.log.warn('ignored older assignment', { generation: assignment.generation });
      return false;
    }
    this.#options.onAssigned(assignment);
    for (const id of this.state.assigned.keys()) {
      this.#notes.ran(id);
      this.#lanes.wake(id);
    }
    for (const id of this.state.assigned.keys()) this.#options.onChange(id);
    this.#ask();
    return true;
  }

  condemn({ remove }: Verdict): void {
    for (const id of remove) {
      // Only what was asked about in this session: a verdict is an answer, never an order out of the blue.
      if (this.state.assigned.has(id) || !this.state.askedAtMs.has(id)) continue;
      this.state.condemned.add(id);
      this.#lanes.wake(id);
    }
  }

  /** Its state is another: what waited for it goes on, and what may no longer write it ends, with or without a session. */
  volumeChanged(volumeId: string): void {
    const lost = this.#options.volume(volumeId).kind === 'lost';
    for (const { id, container } of this.state.assigned.values()) {
      if (container?.mounts.some((mount) => mount.volumeId === volumeId) !== true) continue;
      if (lost) this.#endNow(id);
      this.#options.onChange(id);
      this.#lanes.wake(id);
    }
  }

  /** Where an instance of this node takes connections, as the engine says; undefined: it has not been looked at. */
  placeOf(instanceId: string): LocalPlace | undefined {
    if (!this.observer.looked) return undefined;
    const installId = this.state.owner?.installId;
    const taking = (this.observer.byInstance.get(instanceId) ?? []).find(
      (one) =>
        one.installId === installId &&
        one.status === 'running' &&
        one.address !== undefined &&
        (one.health === undefined || one.health.status === 'healthy'),
    );
    return taking?.address === undefined ? 'none' : { address: taking.address };
  }

  /** This node goes by another map of the tenant's network: what waited for it before it stops, or starts, goes on. */
  networkChanged(): void {
    for (const { id, wanted, container } of this.state.assigned.values())
      if (wanted === 'stop' || container?.after !== undefined) this.#lanes.wake(id);
  }

  usesVolume(volumeId: string): boolean {
    return [...this.state.assigned.values()].some(
      ({ wanted, container }) =>
        wanted === 'run' && container.mounts.some((mount) => mount.volumeId === volumeId),
    );
  }

  /** References that orders name or that are being pulled: before the first orders, anything may be wanted. */
  get wantedImages(): ReadonlySet<string> {
    const assigned = [...this.state.assigned.values()].flatMap(({ container }) => container?.image ?? []);
    return new Set([...assigned, ...this.#pulls.keys()]);
  }

  /** Containers whose orders ask for disk. */
  get diskUsers(): readonly DiskUser[] {
    return [...this.state.assigned.values()].flatMap(({ id, container }) => {
      const askedBytes = container?.diskBytes;
      if (askedBytes === undefined) return [];
      return (this.observer.byInstance.get(id) ?? []).map((one) => ({ containerId: one.id, askedBytes }));
    });
  }

  imageRemoved(image: string): void {
    this.state.images.delete(image);
  }

  /** Throws with why it is not here. */
  async prepareImage(volumeId: string, image: string): Promise<void> {
    const bench = this.#epoch === undefined ? undefined : this.#bench();
    if (bench === undefined) throw new SessionLostError('no session');
    await prepareImage(image, volumeId, bench);
  }

  /** The kernel's side of this is done by the volume's fence; this makes the engine not restart it. */
  #endNow(instanceId: string): void {
    for (const { id, status } of this.observer.byInstance.get(instanceId) ?? []) {
      if (status !== 'running' && status !== 'restarting') continue;
      this.#options.engine.stop(id, 0).catch((error: unknown) => {
        this.#options.log.warn('a container could not be stopped', {
          container: id,
          problem: messageOf(error),
        });
      });
    }
  }

  answer(answer: Resolved): void {
    this.#resolver.answer(answer);
  }

  observation(instanceId: string): InstanceObservation {
    const installId = this.state.owner?.installId;
    const { binds } = this.#options;
    return observationOf({
      instanceId,
      assigned: this.state.assigned.get(instanceId),
      containers: (this.observer.byInstance.get(instanceId) ?? []).filter(
        (one) => one.installId === installId,
      ),
      restartsOf: (containerId) => binds.restartsOf(instanceId, containerId),
      history: this.state.historyOf(instanceId),
      activity: this.state.activity.get(instanceId),
      awaited: this.#awaited(instanceId),
      words: this.words.of(instanceId),
      nowMs: performance.now(),
    });
  }

  #awaited(instanceId: string): ObservationInput['awaited'] {
    const { container, attempt = 0 } = this.state.assigned.get(instanceId) ?? {};
    if (container === undefined) return undefined;
    const awaited = awaitedVolume(this.#options, container);
    return awaited ?? (attempt === 0 ? awaitedName(this.#options, container) : undefined);
  }

  /** Of all that is assigned or there. */
  observations(): readonly InstanceObservation[] {
    const installId = this.state.owner?.installId;
    const there = [...this.observer.all()].filter((one) => one.installId === installId);
    const ids = new Set([...this.state.assigned.keys(), ...there.map(({ instanceId }) => instanceId)]);
    return [...ids].map((id) => this.observation(id));
  }

  #changed(instanceId: string): void {
    this.#notes.seen(instanceId);
    this.#options.onChange(instanceId);
    this.#lanes.wake(instanceId);
  }

  #ended(instanceId: string, ending: Ending, run: EndedRun | undefined): void {
    const activity = this.state.activity.get(instanceId);
    if (
      activity === 'stop' ||
      activity === 'end' ||
      activity === 'restart' ||
      activity === 'remove' ||
      !this.#isKept(instanceId)
    )
      return;
    this.#notes.ended(instanceId, ending, run);
    this.#options.onChange(instanceId);
  }

  #pass(): void {
    this.state.foreignNames.clear();
    if (this.state.images.size > MAX_KNOWN_IMAGES) this.state.images.clear();
    const { assigned, condemned } = this.state;
    for (const id of new Set([...assigned.keys(), ...condemned, ...this.#options.binds.instanceIds]))
      this.#lanes.wake(id);
    this.#ask();
    this.#releaseBinds();
  }

  /** What a killed agent left behind. Before the orders are known, anything may be wanted. */
  #releaseBinds(): void {
    if (this.#view() === undefined) return;
    const { assigned } = this.state;
    const isWanted = (id: string): boolean =>
      this.#lanes.isBusy(id) || this.observer.byInstance.has(id) || assigned.get(id)?.wanted === 'run';
    void this.#options.binds.sweep(isWanted);
    void this.#options.files.sweep(isWanted);
  }

  #isKept(instanceId: string): boolean {
    return this.state.assigned.has(instanceId) || this.#options.binds.record(instanceId) !== undefined;
  }

  #view(): NodeView | undefined {
    const { owner, synced } = this.state;
    if (this.#epoch === undefined || !synced || owner === undefined) return undefined;
    if (this.observer.problem !== undefined || !this.observer.looked) return undefined;
    const { volume, binds, engineKind, drainsUntilMs, nameAnswers } = this.#options;
    return this.state.view(this.observer, {
      nowMs: performance.now(),
      engineKind,
      installId: owner.installId,
      volume,
      heldFolder: binds.folder,
      drainsUntilMs,
      nameAnswers,
    });
  }

  #lonelyView(): DisconnectedView | undefined {
    if (this.#epoch !== undefined || this.#over) return undefined;
    if (this.observer.problem !== undefined || !this.observer.looked) return undefined;
    const { volume, binds } = this.#options;
    const { history } = this.state;
    return {
      nowMs: performance.now(),
      fromMs: this.#aloneSinceMs + ALONE_AFTER_MS,
      containers: this.observer.byInstance,
      history,
      volume,
      heldFolder: binds.folder,
    };
  }

  #next(instanceId: string): InstanceStep | undefined {
    const view = this.#view();
    if (view !== undefined) return planInstance(view, instanceId);
    const record = this.#options.binds.record(instanceId);
    const lonely = this.#lonelyView();
    if (lonely === undefined) return undefined;
    if (record !== undefined) return planDisconnected(lonely, record) ?? this.#nextAlone(lonely, instanceId);
    const plan = this.#planRecalled(lonely, instanceId);
    return plan?.kind === 'step' ? plan.step : this.#nextAlone(lonely, instanceId);
  }

  #planRecalled(
    { nowMs, fromMs, containers, history, volume }: DisconnectedView,
    instanceId: string,
  ): RecalledPlan | undefined {
    const { assigned, owner, recalled } = this.state;
    const instance = assigned.get(instanceId);
    if (instance === undefined || owner === undefined) return undefined;
    const { engineKind, offline } = this.#options;
    const plan = planRecalled(
      {
        nowMs,
        fromMs,
        engineKind,
        installId: owner.installId,
        containers,
        history,
        volume,
        areRecalled: recalled,
      },
      instance,
    );
    if (recalled) offline.planned(instance, plan);
    return plan;
  }

  #nextAlone({ nowMs, containers, history, volume }: DisconnectedView, instanceId: string) {
    const { assigned, owner } = this.state;
    if (owner === undefined) return undefined;
    const { installId } = owner;
    const sinceMs = this.#aloneSinceMs;
    return planAlone({ nowMs, sinceMs, installId, assigned, containers, history, volume }, instanceId);
  }

  /** Without a session: for what the instance's record says, or the last orders. */
  #bench(instanceId?: string): Workbench | undefined {
    const { engine, engineKind, binds, files, hostPorts, volume, send, meshNetwork } = this.#options;
    const historyOf = instanceId === undefined ? undefined : binds.record(instanceId)?.owner;
    const owner = (this.#epoch === undefined ? historyOf : undefined) ?? this.state.owner;
    if (owner === undefined) return undefined;
    const { observer, state } = this;
    return {
      engine,
      engineKind,
      observer,
      state,
      owner,
      resolver: this.#resolver,
      binds,
      files,
      hostPorts,
      volume,
      material: this.#material,
      pulls: this.#pulls,
      refusals: this.#refusals,
      onPulled: this.#options.onPulled,
      network: this.#network,
      meshNetwork,
      send,
      ordersKept: this.#options.ordersKept,
      epoch: this.#epoch ?? 0,
    };
  }

  #ask(): void {
    const view = this.#view();
    const bench = this.#bench();
    if (view === undefined || bench === undefined) return;
    for (const step of planAsk(view)) void EXECUTORS.ask(step, bench);
  }

  /** Orders may have changed while the step waited at the gate. From here to the engine's call nothing is awaited. */
  async #takeIfStillNext(instanceId: string, kind: InstanceStep['kind']): Promise<void> {
    const step = this.#next(instanceId);
    const bench = this.#bench(instanceId);
    if (step === undefined || step.kind !== kind || bench === undefined) return;
    this.state.activity.set(instanceId, kind);
    this.#options.onChange(instanceId);
    this.#options.log.debug('step', { step: kind, instance: instanceId });
    try {
      await execute(step, bench);
      if (this.#epoch === undefined && this.state.recalled && kind !== 'healthcheckNow')
        this.#options.offline.took(instanceId, kind);
      const history = this.state.historyOf(instanceId);
      if (history.failure?.step === kind) this.state.history.set(instanceId, withoutFailure(history));
    } catch (error) {
      this.#fail(instanceId, kind, error);
    } finally {
      this.state.activity.delete(instanceId);
      this.#options.onChange(instanceId);
    }
  }

  #fail(instanceId: string, kind: InstanceStep['kind'], error: unknown): void {
    if (error instanceof SessionLostError) return;
    if (error instanceof EngineUnavailableError) this.observer.suspect(error.message);
    if (kind === 'create') this.#options.onCreateFailed(error);
    const { failure, backOff } = problemOf(kind, error);
    const history = withFailure(this.state.historyOf(instanceId), failure, backOff, performance.now());
    if (this.#isKept(instanceId) || this.state.condemned.has(instanceId)) {
      this.state.history.set(instanceId, history);
    }
    this.#options.log.warn('a step failed', {
      step: kind,
      instance: instanceId,
      reason: failure.reason,
      problem: messageOf(error),
      failures: history.failure?.count ?? 1,
    });
    this.#lanes.wakeAt(instanceId, history.failure?.retryAtMs ?? 0);
  }

  /** A failure has set its own timer. */
  #dueMs(instanceId: string): number | undefined {
    if (this.state.historyOf(instanceId).failure !== undefined) return undefined;
    const view = this.#view();
    return view === undefined ? this.#disconnectedDueMs(instanceId) : nextDueMs(view, instanceId);
  }

  #disconnectedDueMs(instanceId: string): number | undefined {
    const record = this.#options.binds.record(instanceId);
    const view = this.#lonelyView();
    if (view === undefined) return undefined;
    if (record !== undefined) return disconnectedDueMs(view, record);
    const plan = this.#planRecalled(view, instanceId);
    return plan?.kind === 'later' ? plan.atMs : undefined;
  }

  #dropStaleMaterial(instanceId: string): void {
    const at = this.state.historyOf(instanceId).resolvedAtMs ?? -Infinity;
    if (performance.now() - at > RESOLVED_FRESH_MS) this.#material.delete(instanceId);
  }
}

async function execute(step: InstanceStep, bench: Workbench): Promise<void> {
  const executor = EXECUTORS[step.kind] as (step: InstanceStep, bench: Workbench) => Promise<void>;
  await executor(step, bench);
}
