import type {
  AgentMessage,
  AssignedVolume,
  Assignment,
  ServerMessage,
} from '../../../src/core/protocol/agent-protocol.ts';
import { withEnding, withFailure } from '../../../src/agent/containers/instance-history.ts';
import { LoopState } from '../../../src/agent/containers/loop-state.ts';
import { observationOf } from '../../../src/agent/containers/observation.ts';
import { nextDueMs, type NodeView, planAsk, planInstance } from '../../../src/agent/containers/plan.ts';
import { decodeServerMessage } from '../../../src/agent/session/server-message.ts';
import type { InstanceStep } from '../../../src/agent/containers/step.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { FakeTime } from './controllers.ts';
import type { Dice } from '../openapi-fuzz.ts';
import type { CrashSide } from './crasher.ts';
import { INSTALL, type SimulatedEngine } from './engine.ts';
import type { SimulatedVolumes } from './volumes.ts';

const HEARTBEAT_MS = 5000;
const SILENCE_MS = 10_000;
const PASS_MS = 10_000;
const COALESCE_MS = 50;
const FULL_EVERY_MS = 60_000;

/** What of the agent may be replaced, to see whether the laws notice. */
export interface AgentParts {
  readonly planInstance: typeof planInstance;
  readonly newState: () => LoopState;
}

export const AGENT_PARTS: AgentParts = { planInstance, newState: () => new LoopState() };

export interface AgentSurroundings {
  readonly time: FakeTime;
  readonly dice: Dice;
  readonly engine: SimulatedEngine;
  readonly volumes: SimulatedVolumes;
  readonly parts: AgentParts;
  /** Before a step reaches the engine. */
  readonly onStep: (step: InstanceStep) => void;
  /** The process has just died, before or after this call arrived at the engine. */
  readonly crashes: () => CrashSide | undefined;
  /** The agent wants a session. */
  readonly onDial: () => void;
  readonly send: (text: string) => void;
}

/**
 * One process of an agent: the real plan, orders, memory and observations; its engine and its connection are simulated. After
 * `kill` nothing of it happens any more, save for calls that are on their way to the engine.
 */
export class SimulatedAgent {
  readonly #around: AgentSurroundings;
  readonly state: LoopState;
  readonly #lanes = new Set<string>();
  readonly #sent = new Map<string, string>();
  readonly #changed = new Set<string>();
  readonly #cancels = new Set<() => void>();
  readonly #due = new Map<string, () => void>();
  /** When the reports of this session were sent, by their number. */
  readonly #beats = new Map<number, number>();
  #volumes: readonly AssignedVolume[] = [];
  #epoch: number | undefined;
  #heardMs = 0;
  #fullMs = 0;
  #beat = 0;
  #flushing = false;
  #alive = true;

  constructor(around: AgentSurroundings) {
    this.#around = around;
    this.state = around.parts.newState();
    around.engine.watcher = {
      changed: (id) => this.#onChanged(id),
      ended: (id, exitCode) => this.#onEnded(id, exitCode),
    };
    this.#every(PASS_MS, () => this.#pass());
    this.#every(1000, () => this.#watchSilence());
    this.#every(HEARTBEAT_MS, () => this.#report(this.#now() - this.#fullMs >= FULL_EVERY_MS));
  }

  get connected(): boolean {
    return this.#epoch !== undefined;
  }

  kill(): void {
    this.#alive = false;
    for (const cancel of this.#cancels) cancel();
    if (this.#around.engine.watcher !== undefined) this.#around.engine.watcher = undefined;
  }

  welcome(epoch: number): void {
    this.#heardMs = this.#now();
    this.#epoch = epoch;
    const { node } = this.#around.engine;
    this.state.begin({ node, installId: INSTALL, tenantId: 'tenant', tenantSlug: 'shop' });
    this.state.network = undefined;
    this.#sent.clear();
    this.#beat = 0;
    this.#beats.clear();
    this.#report(true);
  }

  lost(): void {
    if (this.#epoch === undefined) return;
    this.#epoch = undefined;
    this.state.end();
    if (this.#alive) this.#around.onDial();
  }

  heard(text: string): void {
    if (!this.#alive || this.#epoch === undefined) return;
    this.#heardMs = this.#now();
    if (text === '') return;
    const message = decodeServerMessage(text);
    if (message === undefined) throw new Error(`the agent does not understand ${text.slice(0, 200)}`);
    this.#take(message);
  }

  #take(message: ServerMessage): void {
    if (message.type === 'request') {
      const { streamId } = message;
      this.#send({ type: 'data', streamId, text: `printed for ${streamId}` });
      this.#send({ type: 'end', streamId });
      return;
    }
    if (!('epoch' in message) || message.epoch !== this.#epoch) return;
    if (message.type === 'assignment') this.#assign(message);
    else if (message.type === 'lease') this.#renew(message.beat);
    else if (message.type === 'verdict') {
      for (const id of message.remove) {
        if (this.state.assigned.has(id) || !this.state.askedAtMs.has(id)) continue;
        this.state.condemned.add(id);
        this.#wake(id);
      }
    }
  }

  #assign(assignment: Assignment): void {
    if (!this.state.assign(assignment)) return;
    this.#volumes = assignment.volumes ?? [];
    for (const volume of this.#volumes) this.#keep(volume);
    for (const id of this.state.assigned.keys()) {
      this.#wake(id);
      this.#tell(id);
    }
    this.#ask();
  }

  #renew(beat: number): void {
    const sentMs = this.#beats.get(beat);
    if (sentMs === undefined) return;
    this.#around.volumes.leased(sentMs);
    for (const id of this.state.assigned.keys()) this.#wake(id);
  }

  #keep(volume: AssignedVolume): void {
    const { volumes, dice, time } = this.#around;
    const lane = `volume ${volume.id}`;
    if (volumes.isDone(volume) || this.#lanes.has(lane)) return;
    this.#lanes.add(lane);
    time.after(10 + dice.below(300), () => {
      const crash = this.#alive ? this.#around.crashes() : undefined;
      if (!this.#alive && crash !== 'after') return;
      volumes.carryOut(volume);
      if (!this.#alive) return;
      this.#lanes.delete(lane);
      this.#report(false);
      for (const id of this.state.assigned.keys()) this.#wake(id);
    });
  }

  #now(): number {
    return this.#around.time.monotonicMs();
  }

  #view(): NodeView | undefined {
    if (this.#epoch === undefined || !this.state.synced || !this.#alive) return undefined;
    const { engine } = this.#around;
    const { assigned, history, condemned, askedAtMs, network, images, reservedNames } = this.state;
    return {
      nowMs: this.#now(),
      engineKind: 'docker',
      installId: INSTALL,
      assigned,
      containers: engine.byInstance(),
      history,
      condemned,
      askedAtMs,
      networkReady: network !== undefined,
      images,
      takenNames: new Map([
        ...engine.list().map((one) => [one.name, one.instanceId] as const),
        ...reservedNames,
      ]),
      volume: (id) => this.#around.volumes.state(id),
      heldFolder: '/held',
    };
  }

  #wake(instanceId: string): void {
    const view = this.#view();
    if (view === undefined || this.#lanes.has(instanceId)) return;
    const step = this.#around.parts.planInstance(view, instanceId);
    if (step === undefined) {
      const retryMs = this.state.historyOf(instanceId).failure?.retryAtMs;
      const dueMs = retryMs ?? nextDueMs(view, instanceId);
      this.#due.get(instanceId)?.();
      if (dueMs !== undefined) {
        const waitMs = Math.max(1, dueMs - view.nowMs + 1);
        this.#due.set(
          instanceId,
          this.#once(waitMs, () => this.#wake(instanceId)),
        );
      }
      return;
    }
    this.#lanes.add(instanceId);
    this.#around.onStep(step);
    if (step.kind === 'create') this.state.reservedNames.set(step.name, instanceId);
    const assigned = this.state.assigned.get(instanceId);
    this.state.activity.set(instanceId, step.kind);
    // Not cancelled by `kill`: a call that was sent may reach the engine although nobody waits for its answer.
    const arrives = this.#around.dice.chance(0.5);
    this.#around.time.after(10 + this.#around.dice.below(300), () => {
      const crash = this.#alive ? this.#around.crashes() : undefined;
      if (!this.#alive && !(crash === undefined ? arrives : crash === 'after')) return;
      const done = this.#carryOut(step, assigned);
      if (!this.#alive) return;
      this.#lanes.delete(instanceId);
      this.state.activity.delete(instanceId);
      if (step.kind === 'create') this.state.reservedNames.delete(step.name);
      if (!done) this.#failed(instanceId, step.kind);
      this.#tell(instanceId);
      this.#wake(instanceId);
    });
  }

  #carryOut(step: InstanceStep, assigned: Assignment['instances'][number] | undefined): boolean {
    const { engine } = this.#around;
    switch (step.kind) {
      case 'resolve':
        this.state.history.set(step.instanceId, {
          ...this.state.historyOf(step.instanceId),
          resolvedAtMs: this.#now(),
        });
        return true;
      case 'ensureNetwork':
        this.state.network = { name: 'simulated' };
        return true;
      case 'pull':
        this.state.images.add(step.image);
        return true;
      case 'create':
        return assigned === undefined || engine.create(step.name, assigned);
      case 'start':
        engine.start(step.containerId);
        return true;
      case 'stop':
      case 'end':
        engine.stop(step.containerId);
        return true;
      case 'remove':
        engine.remove(step.containerId);
        return true;
      default:
        throw new Error(`no such step here: ${step.kind}`);
    }
  }

  #failed(instanceId: string, step: InstanceStep['kind']): void {
    const problem = { step, reason: 'engine', message: 'refused' };
    const backOff = { baseMs: 500, capMs: 5000 };
    this.state.history.set(
      instanceId,
      withFailure(this.state.historyOf(instanceId), problem, backOff, this.#now()),
    );
  }

  #onEnded(instanceId: string, exitCode: number): void {
    if (!this.state.assigned.has(instanceId)) return;
    const ending = { atMs: this.#now(), exitCode, outOfMemory: false };
    this.state.history.set(instanceId, withEnding(this.state.historyOf(instanceId), ending));
  }

  #onChanged(instanceId: string): void {
    const { failure, ...memory } = this.state.historyOf(instanceId);
    const runs = this.#around.engine
      .list()
      .some((one) => one.instanceId === instanceId && one.status === 'running');
    if (failure !== undefined && runs) this.state.history.set(instanceId, memory);
    this.#tell(instanceId);
    this.#wake(instanceId);
  }

  #pass(): void {
    for (const id of [...this.state.assigned.keys(), ...this.state.condemned]) this.#wake(id);
    for (const volume of this.#volumes) this.#keep(volume);
    this.#ask();
  }

  #ask(): void {
    const view = this.#view();
    if (view === undefined || this.#epoch === undefined) return;
    for (const { instanceIds } of planAsk(view)) {
      for (const id of instanceIds) this.state.askedAtMs.set(id, view.nowMs);
      this.#send({ type: 'ask', epoch: this.#epoch, instanceIds });
    }
  }

  #watchSilence(): void {
    if (this.#epoch !== undefined && this.#now() - this.#heardMs >= SILENCE_MS) this.lost();
  }

  #tell(instanceId: string): void {
    this.#changed.add(instanceId);
    if (this.#flushing) return;
    this.#flushing = true;
    this.#once(COALESCE_MS, () => {
      this.#flushing = false;
      this.#report(false);
    });
  }

  #observation(instanceId: string): InstanceObservation {
    return observationOf({
      instanceId,
      assigned: this.state.assigned.get(instanceId),
      containers: this.#around.engine.byInstance().get(instanceId) ?? [],
      history: this.state.historyOf(instanceId),
      activity: this.state.activity.get(instanceId),
      awaited: undefined,
      nowMs: this.#now(),
    });
  }

  #report(full: boolean): void {
    if (this.#epoch === undefined) return;
    const there = this.#around.engine.list().map(({ instanceId }) => instanceId);
    const ids = full ? new Set([...this.state.assigned.keys(), ...there]) : this.#changed;
    const all = [...ids].map((id) => this.#observation(id));
    const news = full ? all : all.filter((one) => this.#sent.get(one.id) !== JSON.stringify(one));
    this.#changed.clear();
    if (full) this.#fullMs = this.#now();
    for (const one of news) this.#sent.set(one.id, JSON.stringify(one));
    this.#beat += 1;
    this.#beats.set(this.#beat, this.#now());
    this.#send({
      type: 'report',
      epoch: this.#epoch,
      generation: this.state.generation,
      full,
      observations: news,
      beat: this.#beat,
      volumes: this.#around.volumes.observations(),
    });
  }

  #send(message: AgentMessage): void {
    if (this.#alive) this.#around.send(JSON.stringify(message));
  }

  #once(ms: number, task: () => void): () => void {
    const cancel = this.#around.time.after(ms, () => {
      this.#cancels.delete(cancel);
      task();
    });
    this.#cancels.add(cancel);
    return cancel;
  }

  #every(ms: number, task: () => void): void {
    this.#once(ms, () => {
      task();
      this.#every(ms, task);
    });
  }
}
