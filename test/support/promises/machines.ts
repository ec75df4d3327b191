import { PLATFORM_CONTAINER_DEFAULTS } from '../../../src/core/model/container-defaults.ts';
import type { WebSocket } from 'ws';
import { awaitedVolume, RESOLVED_FRESH_MS } from '../../../src/agent/containers/plan.ts';
import type { AssignedInstance, Resolved, ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import { PROTOCOL_VERSION } from '../../../src/core/protocol/agent-protocol.ts';
import type { NodeName, TenantId } from '../../../src/core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../src/core/model/instance.ts';
import type { NodeRecord } from '../../../src/core/model/node.ts';
import { DEFAULT_REGIONS } from '../../../src/core/scheduler/regions.ts';
import {
  assignedInstance,
  type AssignmentFacts,
} from '../../../src/server/agents/assignments/assigned-instance.ts';
import { AgentSession } from '../../../src/server/agents/sessions/session.ts';
import { recordSession } from '../../../src/server/agents/sessions/session-record.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { SimulatedVolumes } from '../simulation/volumes.ts';
import type { Plane, PlaneTenant } from './plane.ts';

type Environment = Readonly<Record<string, string>>;

const CAPACITY = { cpu: 64, memoryBytes: 2 ** 36 };
const OPEN = 1;
const RETRY_MS = 2000;

/** A container that runs, with what it was given. */
export interface Container {
  readonly tenant: PlaneTenant;
  readonly node: string;
  readonly assigned: AssignedInstance;
  readonly environment: Environment;
  readonly number: number;
}

export interface Witness {
  /** The control plane gave out material; no container has it yet. */
  resolved(machine: Machine, assigned: AssignedInstance, environment: Environment): Promise<void>;
  created(container: Container): void;
  ended(container: Container): void;
}

export interface Machine {
  readonly tenant: PlaneTenant;
  readonly name: string;
  labels: Readonly<Record<string, string>>;
  online: boolean;
  /** Its engine takes long: what was asked for is made only when this ends. */
  slow: boolean;
  session: AgentSession | undefined;
  beat: number;
  readonly containers: Map<string, Container>;
  /** Containers whose program runs and answers no more, by number: only another container is well again. */
  readonly hung: Set<number>;
  /** Asked for, not made yet. */
  readonly resolved: Map<string, { readonly environment: Environment; readonly atMs: number }>;
  /** Why an instance has no container; it is asked for again after a while. */
  readonly refusals: Map<string, { readonly reason: string; readonly atMs: number }>;
  readonly volumes: SimulatedVolumes;
  /** What the newest message of the control plane said. */
  heard: ServerMessage | undefined;
}

let containers = 0;

/** The nodes of all tenants with an agent that does what it is told, as the real one plans it, at once. */
export class Machines {
  readonly #plane: Plane;
  readonly #witness: Witness;
  readonly byName = new Map<string, Machine>();
  readonly #facts = new Map<TenantId, AssignmentFacts>();
  #said = new Map<string, string>();

  constructor(plane: Plane, witness: Witness) {
    this.#plane = plane;
    this.#witness = witness;
    for (const { id, slug } of plane.tenants) {
      const tenant = plane.store.forTenant(id);
      this.#facts.set(id, {
        tenantSlug: slug,
        features: ['confinement', 'networks'],
        defaults: PLATFORM_CONTAINER_DEFAULTS,
        nodeMemoryBytes: CAPACITY.memoryBytes,
        spec: ({ deployment, specHash }) => tenant.get('specs', idOf('specs', deployment, specHash))?.record,
        volume: (volumeId) => tenant.get('volumes', idOf('volumes', volumeId))?.record,
        hasStarted: () => false,
      });
    }
  }

  all(): readonly Machine[] {
    return [...this.byName.values()];
  }

  /** What was run once has ended as soon as it was made. */
  running(): readonly Container[] {
    return this.all()
      .flatMap((machine) => [...machine.containers.values()])
      .filter(({ assigned }) => assigned.once === undefined);
  }

  async enrol(tenant: PlaneTenant, name: string, labels: Readonly<Record<string, string>>): Promise<Machine> {
    const record: NodeRecord = {
      name: name as NodeName,
      tenantId: tenant.id,
      claims: [tenant.id],
      schedulable: true,
      labels,
      capacity: CAPACITY,
      platform: 'linux/amd64',
      engine: { kind: 'docker', version: '28.0.0' },
      agentVersion: '0.0.0',
      volumeEngines: ['btrfs'],
      features: ['confinement'],
      publicKey: '',
      sessionEpoch: 1,
      createdAt: '',
    };
    const store = this.#plane.store.forTenant(tenant.id);
    const transaction = store.transaction().put('nodes', idOf('nodes', name), record);
    transaction.putGlobal('node-names', idOf('node-names', name), { tenantId: tenant.id });
    await store.commit(transaction);
    const machine: Machine = {
      tenant,
      name,
      labels,
      online: false,
      slow: false,
      session: undefined,
      beat: 0,
      containers: new Map(),
      hung: new Set(),
      resolved: new Map(),
      refusals: new Map(),
      volumes: new SimulatedVolumes({
        time: this.#plane.time,
        fence: (volumeId) => this.#fence(name, volumeId),
        peer: (node) => {
          const peer = this.byName.get(node);
          return peer?.online === true && this.byName.get(name)?.online === true ? peer.volumes : undefined;
        },
      }),
      heard: undefined,
    };
    this.byName.set(name, machine);
    await this.connect(machine);
    return machine;
  }

  /** A new session, with the labels that the machine has now. */
  async connect(machine: Machine): Promise<void> {
    const { plane, tenant } = { plane: this.#plane, tenant: machine.tenant };
    const node = plane.store.forTenant(tenant.id).get('nodes', idOf('nodes', machine.name))?.record;
    if (node === undefined) return;
    const { store, journal } = plane;
    const record = await recordSession({ store, journal, regions: DEFAULT_REGIONS }, tenant.id, node, {
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      node: machine.name,
      epoch: node.sessionEpoch + 1,
      signature: '',
      agentVersion: '0.0.0',
      engine: { kind: 'docker', version: '28.0.0' },
      platform: 'linux/amd64',
      labels: machine.labels,
      volumeEngines: ['btrfs'],
      features: ['confinement'],
      capacity: CAPACITY,
    });
    if ('code' in record) return;
    const socket = {
      readyState: OPEN,
      bufferedAmount: 0,
      send: (text: string) => {
        machine.heard = JSON.parse(text) as ServerMessage;
      },
    };
    const identity = {
      tenantId: tenant.id,
      node: machine.name as NodeName,
      tokenId: '',
      publicKey: '',
      epoch: record.sessionEpoch,
    };
    machine.session = new AgentSession(socket as unknown as WebSocket, identity, plane.time);
    machine.session.generation = 1;
    machine.online = true;
    plane.controllers.liveness.sessionOpened(tenant.id, machine.name as NodeName);
    this.beat(machine);
  }

  /** The network is cut: containers go on, and nothing is heard. */
  cut(machine: Machine): void {
    if (machine.session === undefined) return;
    machine.online = false;
    this.#plane.volumeReports.forget(machine.session);
    this.#plane.controllers.liveness.sessionClosed(machine.tenant.id, machine.name as NodeName);
    machine.session = undefined;
  }

  /** The machine is gone for good, with everything on it. */
  lose(machine: Machine): void {
    this.cut(machine);
    for (const container of machine.containers.values()) this.#witness.ended(container);
    machine.containers.clear();
    machine.resolved.clear();
    this.byName.delete(machine.name);
  }

  /** Somebody removes a container behind the agent's back. */
  removeContainer(container: Container): void {
    const machine = this.byName.get(container.node);
    if (machine?.containers.delete(container.assigned.id) === true) this.#witness.ended(container);
  }

  #fence(node: string, volumeId: string): void {
    const machine = this.byName.get(node);
    for (const container of machine?.containers.values() ?? []) {
      const { mounts = [] } = container.assigned.container ?? {};
      if (mounts.some((mount) => mount.volumeId === volumeId && !mount.readOnly))
        this.removeContainer(container);
    }
  }

  /** One report with everything; it is the heartbeat. */
  beat(machine: Machine): void {
    const { session, tenant, name } = machine;
    if (session === undefined || !machine.online) return;
    const { controllers, volumes, volumeReports, reports, time } = this.#plane;
    machine.beat += 1;
    const heardMs = time.monotonicMs();
    const report = {
      type: 'report' as const,
      epoch: session.identity.epoch,
      generation: 1,
      full: false,
      observations: this.#observations(machine),
      beat: machine.beat,
      volumes: machine.volumes.observations(),
    };
    controllers.liveness.beat(tenant.id, name as NodeName);
    reports.take(session, report);
    volumeReports.take(session, report, heardMs);
    if (!volumes.holdsLease(tenant.id, name)) return;
    if (!controllers.volumeSigns.mayLease(tenant.id, name as NodeName)) return;
    controllers.volumeSigns.leased(tenant.id, name as NodeName, heardMs);
    machine.volumes.leased(heardMs);
  }

  /** Every agent does what there is to do. True: something was done. */
  async act(): Promise<boolean> {
    let acted = false;
    for (const machine of this.all()) {
      if (!machine.online) continue;
      const done = this.#keepVolumes(machine);
      if ((await this.#runInstances(machine)) || done) {
        acted = true;
        this.beat(machine);
      }
    }
    return acted;
  }

  #keepVolumes(machine: Machine): boolean {
    let done = false;
    for (const assigned of this.#plane.volumes.assigned(machine.tenant.id, machine.name)) {
      if (machine.volumes.isDone(assigned)) continue;
      machine.volumes.carryOut(assigned);
      done = true;
    }
    return done;
  }

  async #runInstances(machine: Machine): Promise<boolean> {
    let done = false;
    for (const { record } of this.#plane.placed.on(machine.tenant.id, machine.name)) {
      const here = machine.containers.get(record.id);
      if (record.wanted === 'stop') {
        if (here !== undefined) this.removeContainer(here);
        machine.resolved.delete(record.id);
      } else if (here === undefined || !isOf(here, record)) {
        await this.#create(machine, record, here);
      }
      done = this.#isNews(machine, record) || done;
    }
    return done;
  }

  /** As the agent plans it: material first, then volumes, then what was there before goes. */
  async #create(machine: Machine, record: InstanceRecord, stale: Container | undefined): Promise<void> {
    const facts = this.#facts.get(machine.tenant.id) as AssignmentFacts;
    const assigned = assignedInstance(record, facts);
    const { container } = assigned ?? {};
    if (assigned === undefined || container === undefined) return;
    const environment = container.needsSecrets ? await this.#resolve(machine, assigned) : {};
    if (environment === undefined) return;
    const awaited = awaitedVolume({ volume: (id) => machine.volumes.state(id) }, container);
    if (machine.slow || awaited !== undefined) return;
    if (stale !== undefined) this.removeContainer(stale);
    machine.resolved.delete(record.id);
    const { tenant, name } = machine;
    containers += 1;
    const made: Container = { tenant, node: name, assigned, environment, number: containers };
    machine.containers.set(record.id, made);
    this.#witness.created(made);
  }

  async #resolve(machine: Machine, assigned: AssignedInstance): Promise<Environment | undefined> {
    const known = machine.resolved.get(assigned.id);
    const nowMs = this.#plane.time.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < RESOLVED_FRESH_MS) return known.environment;
    const { session } = machine;
    const refused = machine.refusals.get(assigned.id);
    if (session === undefined || (refused !== undefined && nowMs - refused.atMs < RETRY_MS)) return undefined;
    machine.heard = undefined;
    await this.#plane.resolver.answer(session, {
      type: 'resolve',
      requestId: 'r',
      instanceId: assigned.id,
      specHash: assigned.specHash,
      secretsVersion: assigned.secretsVersion,
    });
    const answer = machine.heard as Resolved | undefined;
    if (answer?.ok !== true) {
      machine.refusals.set(assigned.id, { reason: answer?.reason ?? 'unavailable', atMs: nowMs });
      return undefined;
    }
    machine.refusals.delete(assigned.id);
    machine.resolved.set(assigned.id, { environment: answer.environment, atMs: nowMs });
    await this.#witness.resolved(machine, assigned, answer.environment);
    return answer.environment;
  }

  #observation(machine: Machine, record: InstanceRecord): InstanceObservation {
    const { id } = record;
    const here = machine.containers.get(id);
    if (here === undefined) {
      if (record.wanted === 'stop') return { id, phase: 'removed' };
      const reason = machine.refusals.get(id)?.reason;
      return reason === undefined || reason === 'not_assigned'
        ? { id, phase: machine.resolved.has(id) ? 'creating' : 'pending' }
        : { id, phase: 'pending', reason: 'secret_unresolved', message: reason };
    }
    const { assigned } = here;
    const ends = assigned.once !== undefined;
    return {
      id,
      phase: ends ? 'exited' : 'running',
      ...(ends && { exitCode: 0 }),
      ...(assigned.container?.healthCheck &&
        !ends && { health: machine.hung.has(here.number) ? ('unhealthy' as const) : healthOf(assigned) }),
      containerId: `c${here.number}`,
      containerName: assigned.deployment,
      specHash: assigned.specHash,
      secretsVersion: assigned.secretsVersion,
    };
  }

  #observations(machine: Machine): readonly InstanceObservation[] {
    return this.#plane.placed
      .on(machine.tenant.id, machine.name)
      .map(({ record }) => this.#observation(machine, record));
  }

  #isNews(machine: Machine, record: InstanceRecord): boolean {
    const text = JSON.stringify(this.#observation(machine, record));
    if (this.#said.get(record.id) === text) return false;
    this.#said.set(record.id, text);
    return true;
  }
}

function isOf({ assigned }: Container, record: InstanceRecord): boolean {
  return assigned.specHash === record.specHash && assigned.attempt === record.attempt;
}

/** Images say how their containers do: `…-bad` never gets healthy. */
function healthOf({ container }: AssignedInstance): 'healthy' | 'unhealthy' {
  return container?.image.endsWith('-bad') === true ? 'unhealthy' : 'healthy';
}
