import { createHash } from 'node:crypto';
import type { Clock } from '../../../src/server/clock.ts';
import { AS_ADMITTED, FakeTime, hashSpec, TENANT } from './controllers.ts';
import type { Assignment, Verdict } from '../../../src/core/protocol/agent-protocol.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../../src/core/model/deployment.ts';
import { newId, type NodeName } from '../../../src/core/model/ids.ts';
import type { NodeRecord } from '../../../src/core/model/node.ts';
import type { Ids } from '../../../src/server/ids.ts';
import { putVersion, removeDeployment } from '../../../src/server/store/deployment-rows.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { Commit, CommitResult, Kv } from '../../../src/server/store/kv.ts';
import { createMemoryKv } from '../../../src/server/store/memory.ts';
import { Store, type TenantStore } from '../../../src/server/store/store.ts';
import { StoreView } from '../../../src/server/store/view.ts';
import { Dice } from '../openapi-fuzz.ts';
import { AGENT_PARTS, type AgentParts, SimulatedAgent } from './agent.ts';
import type { Crasher, CrashSide } from './crasher.ts';
import { SimulatedEngine } from './engine.ts';
import { FaultyKv, NO_TROUBLE, type StoreTrouble } from './faulty-kv.ts';
import { SimulationLaws } from './laws.ts';
import { SimulatedVolumes } from './volumes.ts';
import { type AgentEnd, askedOfPlacement, type PlaneSurroundings, SimulatedPlane } from './plane.ts';

const RESEND_MS = 700;
/** How long a process that crashed is away. */
const AWAY_MS = 1000;
export const CAPACITY = { cpu: 8, memoryBytes: 2 ** 34 };

/** What can be replaced by something that is wrong. */
export interface Parts extends AgentParts {
  readonly mayRemove: PlaneSurroundings['mayRemove'];
  readonly clock: (time: FakeTime) => Clock;
  readonly store: (kv: Kv) => Kv;
}

export const SOUND: Parts = {
  ...AGENT_PARTS,
  mayRemove: askedOfPlacement,
  clock: (time) => time,
  store: (kv) => kv,
};

/** A machine, its network and the agent on it. */
export interface Machine {
  readonly name: string;
  readonly engine: SimulatedEngine;
  readonly volumes: SimulatedVolumes;
  agent: SimulatedAgent | undefined;
  link: Link | undefined;
  /** Nothing gets through in that direction. */
  cutOut: boolean;
  cutIn: boolean;
  /** Messages take up to so long, and overtake each other. */
  slowMs: number;
  /** The next assignment arrives without its instances (F-29). */
  truncate: boolean;
}

interface Link extends AgentEnd {
  readonly plane: SimulatedPlane;
  open: boolean;
  epoch: number;
  toPlane(text: string): void;
}

/** Everything of one run: one clock, one store, the control planes and machines on it, and a seed that decides all the rest. */
export class World {
  readonly time = new FakeTime();
  readonly dice: Dice;
  readonly parts: Parts;
  readonly kv: Kv;
  readonly truth: TenantStore;
  readonly laws: SimulationLaws;
  readonly machines = new Map<string, Machine>();
  readonly problems: string[] = [];
  readonly ids: Ids;
  readonly #witness: StoreView;
  readonly #engines = new Map<string, SimulatedEngine>();
  readonly #heardMs = new Map<string, number>();
  readonly #trace = createHash('sha256');
  plane: SimulatedPlane | undefined;
  rival: SimulatedPlane | undefined;
  trouble: StoreTrouble = NO_TROUBLE;
  lateTurns = 0;
  /** Who says when a process dies at a point of its work; absent: none does. */
  crasher: Crasher | undefined;
  /** What every container is measured to use, in per cent of one core; absent: nothing is measured. */
  loadPercent: number | undefined;
  #late = 0;
  /** Of the newest control plane: what it stored last may be judged after its death. */
  #planeStartedMs = 0;
  #activity = 0;

  private constructor(seed: number, parts: Parts, kv: Kv, witness: StoreView) {
    this.kv = kv;
    this.dice = new Dice(seed);
    this.parts = parts;
    this.#witness = witness;
    this.truth = new Store(this.kv, witness).forTenant(TENANT);
    this.ids = countingIds();
    this.laws = new SimulationLaws({
      nowMs: () => this.time.monotonicMs(),
      truth: this.truth,
      engines: this.#engines,
      heardMs: (node) => Math.max(this.#heardMs.get(node) ?? 0, this.#planeStartedMs),
      planeStartedMs: () => this.#planeStartedMs,
      rivalry: () => this.rival !== undefined,
    });
    witness.onChange((change) => {
      this.note(`${change.kind}/${change.id} ${change.after === undefined ? 'gone' : 'put'}`);
      this.laws.judgeChange(change);
    });
  }

  static async create(seed: number, nodes: readonly string[], parts: Parts = SOUND): Promise<World> {
    const kv = createMemoryKv();
    const witness = await StoreView.open(kv, { onProblem: () => undefined });
    const world = new World(seed, parts, kv, witness);
    for (const name of nodes) await world.enrol(name);
    await world.startPlane();
    for (const machine of world.machines.values()) world.startAgent(machine);
    return world;
  }

  /** One line of the run; two runs of one seed have the same lines. */
  note(line: string): void {
    this.#activity += 1;
    this.#trace.update(`${this.time.monotonicMs()} ${line}\n`);
  }

  traceHash(): string {
    return this.#trace.copy().digest('hex');
  }

  async enrol(name: string): Promise<void> {
    const record: NodeRecord = {
      name: name as NodeName,
      tenantId: TENANT,
      claims: [TENANT],
      schedulable: true,
      labels: {},
      capacity: CAPACITY,
      platform: 'linux/amd64',
      engine: { kind: 'docker', version: '28.0.0' },
      agentVersion: '0.0.0',
      publicKey: '',
      sessionEpoch: 1,
      createdAt: '',
    };
    await this.write((transaction) => transaction.put('nodes', idOf('nodes', name), record));
    const engine = new SimulatedEngine(name, this.time, this.dice);
    this.#engines.set(name, engine);
    const volumes = new SimulatedVolumes({
      time: this.time,
      fence: (volumeId) => engine.fence(volumeId),
      peer: (node) => this.#reachable(name, node)?.volumes,
    });
    this.machines.set(name, {
      name,
      engine,
      volumes,
      agent: undefined,
      link: undefined,
      cutOut: false,
      cutIn: false,
      slowMs: 0,
      truncate: false,
    });
  }

  #reachable(...[from, to]: readonly [string, string]): Machine | undefined {
    const ends = [from, to].map((name) => this.machines.get(name));
    return ends.some((end) => end === undefined || end.cutIn || end.cutOut) ? undefined : ends[1];
  }

  /** As admission writes: at once, by whoever asked. */
  async write(fill: (transaction: ReturnType<TenantStore['transaction']>) => unknown): Promise<void> {
    const transaction = this.truth.transaction();
    fill(transaction);
    await this.truth.commit(transaction);
  }

  async apply(name: string, changes: Partial<DeploymentSpec>): Promise<void> {
    const id = idOf('deployments', name);
    const stored = this.truth.get('deployments', id);
    const spec: DeploymentSpec = {
      kind: 'Deployment',
      image: 'shop/web:1',
      replicas: 1,
      secrets: [],
      secretsVersion: 0,
      resources: { requests: { cpu: 1 } },
      ...stored?.record.spec,
      name,
      ...changes,
    };
    const record: DeploymentRecord = {
      id: stored?.record.id ?? this.ids.next('deployment'),
      tenantId: TENANT,
      spec,
      specHash: hashSpec(spec),
      version: (stored?.record.version ?? 0) + 1,
      createdAt: '',
      updatedAt: '',
    };
    await this.write((transaction) =>
      putVersion(transaction, { previous: stored?.record, record }, AS_ADMITTED),
    );
  }

  async remove(name: string): Promise<void> {
    const stored = this.truth.get('deployments', idOf('deployments', name));
    if (stored !== undefined) await this.write((transaction) => removeDeployment(transaction, stored.record));
  }

  async alterNode(name: string, altered: Partial<NodeRecord>): Promise<void> {
    const stored = this.truth.get('nodes', idOf('nodes', name));
    if (stored === undefined) return;
    await this.write((transaction) =>
      transaction
        .expect('nodes', stored.id, stored)
        .put('nodes', stored.id, { ...stored.record, ...altered }),
    );
  }

  async startPlane(): Promise<void> {
    this.#planeStartedMs = this.time.monotonicMs();
    this.plane = await this.#newPlane(this.lateTurns);
    this.note('control plane started');
  }

  async #newPlane(lateTurns: number): Promise<SimulatedPlane> {
    let plane: SimulatedPlane | undefined;
    const store = new FaultyKv({
      kv: this.parts.store(this.kv),
      dice: this.dice,
      trouble: () => this.trouble,
      lateTurns,
      onCommit: (commit) => this.#judgeCommit(commit, plane),
      crashes: () => this.#crashPlane(),
      onLate: (pending) => {
        this.#late += pending;
      },
    });
    plane = await SimulatedPlane.start({
      time: this.time,
      clock: this.parts.clock(this.time),
      ids: this.ids,
      store,
      mayRemove: this.parts.mayRemove,
      onHeard: (node) => this.#heardMs.set(node, this.time.monotonicMs()),
      measured: (nodes) => this.#measured(nodes),
      onProblem: (problem) => this.problems.push(problem),
    });
    return plane;
  }

  #measured(nodes: readonly string[]): ReadonlyMap<string, number> {
    const { loadPercent } = this;
    if (loadPercent === undefined) return new Map();
    const running = nodes
      .filter((node) => this.machines.get(node)?.agent?.connected === true)
      .flatMap((node) => this.machines.get(node)?.engine.list() ?? [])
      .filter(({ status }) => status === 'running');
    return new Map(running.map(({ instanceId }) => [instanceId, loadPercent]));
  }

  #judgeCommit(commit: Commit, plane: SimulatedPlane | undefined): (result: CommitResult) => void {
    this.#activity += 1;
    const before = this.laws.broken.length;
    if (plane !== undefined) this.laws.judgeDecision(commit, plane.tenant);
    const found = this.laws.broken.splice(before);
    // What was not stored changed nothing.
    return (result) => {
      if (result.ok) this.laws.broken.push(...found);
    };
  }

  #crashPlane(): CrashSide | undefined {
    const side = this.crasher?.meet('commit');
    if (side === undefined) return undefined;
    // Not awaited: it waits for the commit that this is about.
    void this.killPlane();
    this.time.after(AWAY_MS, () => void this.startPlane());
    return side;
  }

  #crashAgent(machine: Machine): CrashSide | undefined {
    const side = this.crasher?.meet('call');
    if (side === undefined) return undefined;
    this.killAgent(machine);
    this.time.after(AWAY_MS, () => this.startAgent(machine));
    return side;
  }

  async killPlane(): Promise<void> {
    const { plane } = this;
    this.plane = undefined;
    this.note('control plane killed');
    await plane?.kill();
  }

  /** A second process that also believes it decides, hears late, and is gone before it would judge nodes. */
  async startRival(): Promise<void> {
    this.rival = await this.#newPlane(6);
    this.note('rival started');
  }

  async stopRival(): Promise<void> {
    const { rival } = this;
    await rival?.kill();
    this.rival = undefined;
  }

  startAgent(machine: Machine): void {
    if (machine.agent !== undefined) return;
    this.note(`agent ${machine.name} started`);
    machine.agent = new SimulatedAgent({
      time: this.time,
      dice: this.dice,
      engine: machine.engine,
      volumes: machine.volumes,
      parts: this.parts,
      onStep: (step) => {
        this.note(`${machine.name} ${step.kind} ${step.instanceId}`);
        this.laws.judgeStep(machine.name, step);
      },
      crashes: () => this.#crashAgent(machine),
      onDial: () => {
        this.#close(machine);
        this.#dialSoon(machine);
      },
      send: (text) => machine.link?.toPlane(text),
    });
    this.#dialSoon(machine);
  }

  killAgent(machine: Machine): void {
    if (machine.agent === undefined) return;
    this.note(`agent ${machine.name} killed`);
    machine.agent.kill();
    machine.agent = undefined;
    this.#close(machine);
  }

  /** The connection breaks; both ends notice sooner or later. */
  #close(machine: Machine): void {
    const { link } = machine;
    machine.link = undefined;
    if (link === undefined) return;
    link.open = false;
    this.#carry(machine, 'out', 0, () => link.plane.closed(link));
  }

  #dialSoon(machine: Machine): void {
    const { agent } = machine;
    this.time.after(100 + this.dice.below(3000), () => {
      if (agent === undefined || machine.agent !== agent || agent.connected) return;
      void this.#dial(machine, agent);
    });
  }

  async #dial(machine: Machine, agent: SimulatedAgent): Promise<void> {
    const { plane } = this;
    if (plane === undefined || machine.cutIn || machine.cutOut) {
      this.#dialSoon(machine);
      return;
    }
    const link = this.#newLink(machine, agent, plane);
    const epoch = await plane.dial(link, { capacity: CAPACITY });
    if (epoch === undefined || machine.agent !== agent || agent.connected) {
      link.open = false;
      if (machine.agent === agent && !agent.connected) this.#dialSoon(machine);
      return;
    }
    link.epoch = epoch;
    machine.link = link;
    this.note(`${machine.name} connected ${epoch}`);
    this.laws.begun(machine.name, epoch);
    agent.welcome(epoch);
    plane.opened(link);
  }

  #newLink(machine: Machine, agent: SimulatedAgent, plane: SimulatedPlane): Link {
    const link: Link = {
      node: machine.name,
      plane,
      open: true,
      epoch: 0,
      toAgent: (text) => {
        const sent = machine.truncate ? this.#truncated(machine, text) : text;
        this.#carry(
          machine,
          'in',
          machine.slowMs,
          () => {
            if (!link.open || machine.agent !== agent) return;
            this.#overhear(machine, sent);
            agent.heard(sent);
          },
          link,
        );
      },
      toPlane: (text) => {
        this.#carry(
          machine,
          'out',
          machine.slowMs,
          () => {
            if (link.open) plane.receive(link, text);
          },
          link,
        );
      },
      closed: () => {
        // A reset does not always get through; silence tells in the end.
        this.#carry(machine, 'in', 0, () => {
          if (!link.open) return;
          link.open = false;
          if (machine.link === link) machine.link = undefined;
          if (machine.agent === agent) agent.lost();
        });
      },
    };
    return link;
  }

  #truncated(machine: Machine, text: string): string {
    if (!text.startsWith('{"type":"assignment"')) return text;
    machine.truncate = false;
    // The control plane has no reason to say it again; the next session does, and there is one before long.
    const { link } = machine;
    const end = (): void => {
      if (link === undefined || machine.link !== link) return;
      link.closed();
      this.time.after(5000, end);
    };
    this.time.after(5000 + this.dice.below(10_000), end);
    return JSON.stringify({ ...(JSON.parse(text) as Assignment), instances: [] });
  }

  #overhear(machine: Machine, text: string): void {
    if (text === '') return;
    const message = JSON.parse(text) as Assignment | Verdict;
    if (message.type === 'assignment') this.laws.ordered(machine.name, message);
    else if (message.type === 'verdict') this.laws.condemned(machine.name, message);
  }

  /** What an open connection took is sent again until it arrives or the connection ends; a reset is not. */
  #carry(machine: Machine, way: 'in' | 'out', slowMs: number, task: () => void, link?: Link): void {
    const deliver = (): void => {
      if (way === 'in' ? machine.cutIn : machine.cutOut) {
        if (link?.open === true) this.time.after(RESEND_MS, deliver);
        return;
      }
      this.#activity += 1;
      task();
    };
    this.time.after(slowMs > 0 ? this.dice.below(slowMs) : 2, deliver);
  }

  /** Until nothing moves any more at this moment. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const before = this.#activity;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#activity === before && this.#late === 0 ? quiet + 1 : 0;
    }
    this.laws.judgeContainers();
  }

  async advance(ms: number): Promise<void> {
    await this.time.advance(ms, () => this.settle());
  }

  async close(): Promise<void> {
    for (const machine of this.machines.values()) this.killAgent(machine);
    await this.plane?.kill();
    await this.rival?.kill();
    this.#witness.close();
    await this.kv.close();
  }
}

/** Like the real ones they sort by the time they were made; unlike them they are the same in every run. */
export function countingIds(): Ids {
  let made = 0;
  return {
    next: (kind) => {
      made += 1;
      return newId(kind, String(made).padStart(12, '0'));
    },
    tenant: () => TENANT,
    request: () => 'req',
  };
}
