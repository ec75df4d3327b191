import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';
import { type Environment, FollowingAgent, running } from './following-agent.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

const BEAT_MS = 50;

export interface Delivered {
  readonly instance: AssignedInstance;
  readonly environment: Environment;
}

/** An agent without an engine that asks for the material of every container it is to make, and keeps what each was given. */
export class DeliveringAgent extends FollowingAgent {
  /** By instance id. */
  readonly containers = new Map<string, Delivered>();
  /** Deployments whose containers of one `secretsVersion` never get healthy. */
  readonly sick = new Map<string, number>();
  readonly #killed = new Set<string>();

  constructor(agent: ScriptedAgent) {
    super();
    this.follow(agent, BEAT_MS);
  }

  stop(): void {
    this.silence();
  }

  /** What the containers of a deployment that are to run hold now. */
  of(deployment: string): readonly Environment[] {
    return [...this.containers.values()]
      .filter(({ instance }) => instance.deployment === deployment)
      .map(({ environment }) => environment);
  }

  /** Their containers are gone, and made again. */
  kill(deployment: string): void {
    for (const [id, { instance }] of this.containers)
      if (instance.deployment === deployment && this.containers.delete(id)) this.#killed.add(id);
  }

  override report(): void {
    const wanted = this.assigned.filter((one) => one.wanted === 'run');
    const ids = new Set<string>(wanted.map(({ id }) => id));
    for (const id of this.containers.keys()) if (!ids.has(id)) this.containers.delete(id);
    for (const one of wanted) if (!this.containers.has(one.id)) this.ask(one);
    super.report();
  }

  protected override onMaterial(instance: AssignedInstance, environment: Environment): void {
    this.containers.set(instance.id, { instance, environment });
  }

  protected override observed(one: AssignedInstance): InstanceObservation {
    const container = this.containers.get(one.id);
    const id = one.id as InstanceObservation['id'];
    if (container === undefined)
      return this.#killed.has(one.id) ? { id, phase: 'exited', exitCode: 1 } : { id, phase: 'creating' };
    const { secretsVersion } = container.instance;
    const health = this.sick.get(one.deployment) === secretsVersion ? 'unhealthy' : 'healthy';
    return { ...running(container.instance), health };
  }
}
