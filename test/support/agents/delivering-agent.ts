import type { AssignedInstance, ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

const BEAT_MS = 50;

export interface Delivered {
  readonly instance: AssignedInstance;
  readonly environment: Readonly<Record<string, string>>;
}

/** An agent without an engine that asks for the material of every container it is to make, and keeps what each was given. */
export class DeliveringAgent {
  /** By instance id. */
  readonly containers = new Map<string, Delivered>();
  /** Deployments whose containers of one `secretsVersion` never get healthy. */
  readonly sick = new Map<string, number>();
  readonly #agent: ScriptedAgent;
  readonly #timer: NodeJS.Timeout;
  readonly #asked = new Map<string, AssignedInstance>();
  #assigned: readonly AssignedInstance[] = [];
  #generation = 0;
  #count = 0;

  constructor(agent: ScriptedAgent) {
    this.#agent = agent;
    agent.socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as ServerMessage));
    for (const message of agent.received) this.#take(message);
    this.#timer = setInterval(() => this.#work(), BEAT_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** What the containers of a deployment that are to run hold now. */
  of(deployment: string): readonly Readonly<Record<string, string>>[] {
    return [...this.containers.values()]
      .filter(({ instance }) => instance.deployment === deployment)
      .map(({ environment }) => environment);
  }

  /** Their containers are gone, and made again. */
  kill(deployment: string): void {
    for (const [id, { instance }] of this.containers)
      if (instance.deployment === deployment) this.containers.delete(id);
  }

  #take(message: ServerMessage): void {
    if (message.type === 'assignment') {
      this.#assigned = message.instances;
      this.#generation = message.generation;
      this.#work();
    }
    if (message.type !== 'resolved') return;
    const instance = this.#asked.get(message.requestId);
    this.#asked.delete(message.requestId);
    if (instance === undefined) return;
    if (message.ok) this.containers.set(instance.id, { instance, environment: message.environment });
    this.#work();
  }

  #work(): void {
    if (this.#agent.socket.readyState !== this.#agent.socket.OPEN) return;
    const running = new Set(this.#assigned.filter(({ wanted }) => wanted === 'run').map(({ id }) => id));
    for (const id of this.containers.keys()) if (!running.has(id)) this.containers.delete(id);
    this.#ask();
    const { epoch } = this.#agent;
    const observations = this.#assigned.map((one) => this.#observed(one));
    this.#agent.send({ type: 'report', epoch, generation: this.#generation, full: true, observations });
  }

  #ask(): void {
    const asking = new Set([...this.#asked.values()].map(({ id }) => id));
    for (const one of this.#assigned) {
      if (one.wanted !== 'run' || this.containers.has(one.id) || asking.has(one.id)) continue;
      const requestId = `r${(this.#count += 1)}`;
      this.#asked.set(requestId, one);
      const { id: instanceId, specHash, secretsVersion } = one;
      this.#agent.send({ type: 'resolve', requestId, instanceId, specHash, secretsVersion });
    }
  }

  #observed(one: AssignedInstance): InstanceObservation {
    const id = one.id as InstanceObservation['id'];
    if (one.wanted === 'stop') return { id, phase: 'removed' };
    const container = this.containers.get(one.id);
    if (container === undefined) return { id, phase: 'exited', exitCode: 1 };
    const { specHash, secretsVersion } = container.instance;
    const health = this.sick.get(one.deployment) === secretsVersion ? 'unhealthy' : 'healthy';
    return { id, phase: 'running', health, containerId: `c-${one.id}`, specHash, secretsVersion };
  }
}
