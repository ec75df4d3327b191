import type { AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';
import type { ContainerHealth } from '../../../src/agent/engine/container.ts';
import type { ObservedContainer } from '../../../src/agent/containers/observed-container.ts';
import type { FakeTime } from './controllers.ts';
import type { Dice } from '../openapi-fuzz.ts';

export const INSTALL = 'install';

/** Images say how their containers do: `…:bad` never gets healthy, `…:crash` fails soon after its start, `…:task` ends well. */
const BAD = /:bad/;
const CRASH = /:crash/;
const TASK = /:task/;

interface Container {
  seen: ObservedContainer;
  readonly image: string;
  readonly checked: boolean;
  /** Volumes that it mounts to write. */
  readonly writes: readonly string[];
  /** Of its last start: what was to happen to an older run happens to none. */
  run: number;
}

interface EngineEvents {
  changed(instanceId: string): void;
  ended(instanceId: string, exitCode: number): void;
}

/** One machine's engine: containers live on whatever becomes of agents, networks and control planes. */
export class SimulatedEngine {
  readonly node: string;
  readonly #time: FakeTime;
  readonly #dice: Dice;
  readonly #containers = new Map<string, Container>();
  #byInstance: ReadonlyMap<string, readonly ObservedContainer[]> | undefined;
  /** Counts its changes. */
  changes = 0;
  /** The agent that looks on, if any. */
  watcher: EngineEvents | undefined;
  #made = 0;

  constructor(node: string, time: FakeTime, dice: Dice) {
    this.node = node;
    this.#time = time;
    this.#dice = dice;
  }

  list(): readonly ObservedContainer[] {
    return [...this.#containers.values()].map(({ seen }) => seen);
  }

  byInstance(): ReadonlyMap<string, readonly ObservedContainer[]> {
    this.#byInstance ??= Map.groupBy(this.list(), ({ instanceId }) => instanceId);
    return this.#byInstance;
  }

  get(id: string): ObservedContainer | undefined {
    return this.#containers.get(id)?.seen;
  }

  /** False: the name is taken. */
  create(name: string, assigned: AssignedInstance): boolean {
    if (this.list().some((one) => one.name === name)) return false;
    this.#made += 1;
    const id = `${this.node}-c${String(this.#made).padStart(4, '0')}`;
    const { container } = assigned;
    this.#containers.set(id, {
      seen: {
        id,
        name,
        instanceId: assigned.id,
        installId: INSTALL,
        specHash: assigned.specHash,
        secretsVersion: assigned.secretsVersion,
        attempt: assigned.attempt,
        status: 'created',
        oomKilled: false,
        restarts: 0,
        restartsItself: true,
        binds: [],
        ports: [],
      },
      image: container?.image ?? '',
      checked: container?.healthCheck !== undefined,
      writes: (container?.mounts ?? []).filter(({ readOnly }) => !readOnly).map(({ volumeId }) => volumeId),
      run: 0,
    });
    this.#tell(assigned.id);
    return true;
  }

  start(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined || container.seen.status === 'running') return;
    container.run += 1;
    const { exitCode: _before, ...rest } = container.seen;
    const health = container.checked ? { health: healthOf('starting') } : {};
    this.#set(container, { ...rest, status: 'running', ...health });
    this.#inThisRun(container, 1000 + this.#dice.below(5000), () => {
      if (CRASH.test(container.image)) this.crash(id);
      else if (TASK.test(container.image)) this.crash(id, 0);
      else if (container.checked) this.setHealth(id, BAD.test(container.image) ? 'unhealthy' : 'healthy');
    });
  }

  stop(id: string): void {
    const container = this.#containers.get(id);
    if (container?.seen.status !== 'running') return;
    container.run += 1;
    this.#set(container, { ...container.seen, status: 'exited', exitCode: 0 });
  }

  /** Ends all that write the volume. */
  fence(volumeId: string): void {
    for (const { seen, writes } of this.#containers.values())
      if (writes.includes(volumeId)) this.crash(seen.id, 137);
  }

  /** Volumes that a running container writes, once per container. */
  written(): readonly string[] {
    return [...this.#containers.values()]
      .filter(({ seen }) => seen.status === 'running')
      .flatMap(({ writes }) => writes);
  }

  remove(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined || container.seen.status === 'running') return;
    this.#containers.delete(id);
    this.#tell(container.seen.instanceId);
  }

  crash(id: string, exitCode = 1): void {
    const container = this.#containers.get(id);
    if (container?.seen.status !== 'running') return;
    container.run += 1;
    this.watcher?.ended(container.seen.instanceId, exitCode);
    const { health: _before, ...rest } = container.seen;
    this.#set(container, { ...rest, status: 'exited', exitCode, restarts: rest.restarts + 1 });
  }

  setHealth(id: string, status: ContainerHealth['status']): void {
    const container = this.#containers.get(id);
    if (container?.seen.status !== 'running' || !container.checked) return;
    this.#set(container, { ...container.seen, health: healthOf(status) });
  }

  #inThisRun(container: Container, ms: number, task: () => void): void {
    const { run } = container;
    this.#time.after(ms, () => {
      if (container.run === run && this.#containers.has(container.seen.id)) task();
    });
  }

  #set(container: Container, seen: ObservedContainer): void {
    container.seen = seen;
    this.#tell(seen.instanceId);
  }

  #tell(instanceId: string): void {
    this.#byInstance = undefined;
    this.changes += 1;
    this.watcher?.changed(instanceId);
  }
}

function healthOf(status: ContainerHealth['status']): ContainerHealth {
  return { status, failingStreak: status === 'unhealthy' ? 3 : 0, commandNotFound: false };
}
