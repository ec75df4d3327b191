import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type {
  AgentMessage,
  AssignedInstance,
  Assignment,
  Report,
  ServerMessage,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

export type Environment = Readonly<Record<string, string>>;

/**
 * A node without an engine that follows its newest assignment: what is to stop is gone, and what becomes of the rest says the class
 * that extends this one. It calls `follow` when its own fields are there.
 */
export abstract class FollowingAgent {
  assigned: readonly AssignedInstance[] = [];
  #agent: ScriptedAgent | undefined;
  #timer: NodeJS.Timeout | undefined;
  #generation = 0;
  #questions = 0;
  /** Instances whose material was asked for, by the id of the question. */
  readonly #asked = new Map<string, AssignedInstance>();

  /** Whatever this session says, and what it said before. */
  protected follow(agent: ScriptedAgent, beatMs?: number): void {
    this.silence();
    this.#agent = agent;
    agent.socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as ServerMessage));
    for (const message of agent.received) this.#take(message);
    if (beatMs !== undefined) this.#timer = setInterval(() => this.report(), beatMs);
    agent.socket.once('close', () => {
      if (this.#agent === agent) this.silence();
    });
  }

  /** It beats no more. */
  protected silence(): void {
    clearInterval(this.#timer);
  }

  /** How an instance that is to run is. */
  protected abstract observed(one: AssignedInstance): InstanceObservation;
  protected observations(): readonly InstanceObservation[] {
    return observedAs((one) => this.observed(one), this.assigned);
  }
  /** What a report has beside observations. */
  protected measured(): Partial<Report> {
    return {};
  }
  protected onAssignment(_assignment: Assignment): void {}
  protected onMaterial(_one: AssignedInstance, _environment: Environment): void {}
  protected onRefused(_one: AssignedInstance): void {}
  /** Neither an assignment nor material. */
  protected onMessage(_message: ServerMessage): void {}

  #take(message: ServerMessage): void {
    if (message.type === 'assignment') {
      this.assigned = message.instances;
      this.#generation = message.generation;
      this.onAssignment(message);
      this.report();
    } else if (message.type === 'resolved') {
      const one = this.#asked.get(message.requestId);
      this.#asked.delete(message.requestId);
      if (one === undefined) return;
      if (message.ok) this.onMaterial(one, message.environment);
      else this.onRefused(one);
      this.report();
    } else this.onMessage(message);
  }

  /** As an agent asks before it makes a container; not twice at once for one instance. */
  protected ask(one: AssignedInstance): void {
    if (!this.isConnected || [...this.#asked.values()].some(({ id }) => id === one.id)) return;
    const requestId = `r${(this.#questions += 1)}`;
    this.#asked.set(requestId, one);
    const { id: instanceId, specHash, secretsVersion } = one;
    this.send({ type: 'resolve', requestId, instanceId, specHash, secretsVersion });
  }

  /** No answer to an earlier question counts any more. */
  protected forgetQuestions(): void {
    this.#asked.clear();
  }

  /** It has a session that was welcomed. */
  protected get isConnected(): boolean {
    const agent = this.#agent;
    return agent !== undefined && agent.epoch !== 0 && agent.socket.readyState === agent.socket.OPEN;
  }

  protected send(message: AgentMessage): void {
    if (this.isConnected) this.#agent?.send(message);
  }

  report(): void {
    this.send({
      type: 'report',
      epoch: this.#agent?.epoch ?? 0,
      generation: this.#generation,
      full: true,
      observations: this.observations(),
      ...this.measured(),
    });
  }
}

/** What is to stop is gone. */
export function observedAs(
  observed: (one: AssignedInstance) => InstanceObservation,
  assigned: readonly AssignedInstance[],
): readonly InstanceObservation[] {
  return assigned.map((one) =>
    one.wanted === 'stop' ? { id: one.id as InstanceObservation['id'], phase: 'removed' } : observed(one),
  );
}

/** A container that was made as it was asked for. */
export function running(one: AssignedInstance): InstanceObservation {
  const { id, specHash, secretsVersion } = one;
  return {
    id: id as InstanceObservation['id'],
    phase: 'running',
    containerId: `c-${id}`,
    specHash,
    secretsVersion,
  };
}
