import type { AssignedInstance, ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

const BEAT_MS = 50;

/** Carries out every assignment at once, and measures what the test says. */
export class WorkingAgent {
  assigned: readonly AssignedInstance[] = [];
  /** In per cent of one core; undefined: not measured. */
  load: (instance: AssignedInstance) => number | undefined = () => undefined;
  /** How its container is, beyond running and healthy. */
  seen: (instance: AssignedInstance) => Partial<InstanceObservation> = () => ({});
  readonly #agent: ScriptedAgent;
  readonly #timer: NodeJS.Timeout;
  #generation = 0;

  constructor(agent: ScriptedAgent) {
    this.#agent = agent;
    agent.socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as ServerMessage));
    this.#timer = setInterval(() => this.#report(), BEAT_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  running(canary: boolean): readonly AssignedInstance[] {
    return this.assigned.filter((one) => one.wanted === 'run' && (one.canary === true) === canary);
  }

  #take(message: ServerMessage): void {
    if (message.type !== 'assignment') return;
    this.assigned = message.instances;
    this.#generation = message.generation;
    this.#report();
  }

  #report(): void {
    if (this.#agent.socket.readyState !== this.#agent.socket.OPEN) return;
    const observations = this.assigned.map((one): InstanceObservation => {
      const id = one.id as InstanceObservation['id'];
      if (one.wanted === 'stop') return { id, phase: 'removed' };
      const { specHash, secretsVersion } = one;
      return {
        id,
        phase: 'running',
        health: 'healthy',
        containerId: `c-${one.id}`,
        specHash,
        secretsVersion,
        ...this.seen(one),
      };
    });
    const usage = this.assigned.flatMap((one) => {
      const cpuPercent = one.wanted === 'run' ? this.load(one) : undefined;
      return cpuPercent === undefined ? [] : [{ instanceId: one.id, cpuPercent, memoryBytes: 1 }];
    });
    const { epoch } = this.#agent;
    this.#agent.send({
      type: 'report',
      epoch,
      generation: this.#generation,
      full: true,
      observations,
      usage,
    });
  }
}
