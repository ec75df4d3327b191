import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type {
  AssignedInstance,
  Assignment,
  Report,
  ServerMessage,
  StreamRequest,
} from '../../../src/core/protocol/agent-protocol.ts';
import { type Environment, FollowingAgent, observedAs, running } from './following-agent.ts';
import { type AgentIdentity, ScriptedAgent } from './scripted-agent.ts';

const HEARTBEAT_MS = 300;
const REDIAL_MS = 50;
const ASK_AGAIN_MS = 100;
/** Exactly what a policy of 50 % wants: nothing is scaled by it. */
const USAGE = { cpuPercent: 50, memoryBytes: 1_000_000 };

/**
 * A node without an engine that lives by itself: it runs what it is assigned, reports, and dials another control plane when a
 * session ends. What it "started" is counted, so that a test can tell whether anything was ever ordered twice.
 */
export class LiveAgent extends FollowingAgent {
  readonly #identity: Omit<AgentIdentity, 'url'>;
  readonly #urls: readonly string[];
  readonly #running = new Map<string, AssignedInstance>();
  /** By instance: how often a container was made for it. */
  readonly started = new Map<string, number>();
  /** Told what a container was given, which is asked for before it is made; absent: containers need nothing. */
  readonly #given: ((instance: AssignedInstance, environment: Environment) => void) | undefined;
  /** How a container is, beyond running. */
  seen: (instance: AssignedInstance) => Partial<InstanceObservation> = () => ({});
  sessions = 0;
  #agent: ScriptedAgent | undefined;
  #at: number;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(
    identity: Omit<AgentIdentity, 'url'>,
    urls: readonly string[],
    first = 0,
    given?: (instance: AssignedInstance, environment: Environment) => void,
  ) {
    super();
    this.#identity = identity;
    this.#given = given;
    this.#urls = urls;
    this.#at = first;
    this.#done = this.#live();
  }

  /** Which of the addresses it is connected to, or tries. */
  get at(): number {
    return this.#at % this.#urls.length;
  }

  /** Instances of which it has a container. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** The container of an instance is gone, and is made anew. */
  restart(id: string): void {
    const one = this.#running.get(id);
    if (one === undefined) return;
    this.#running.delete(id);
    this.report();
    this.#assign(one);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#agent?.socket.terminate();
    await this.#done;
  }

  async #live(): Promise<void> {
    while (!this.#stopped) {
      const agent = new ScriptedAgent({ ...this.#identity, url: this.#urls[this.at] ?? '' });
      this.#agent = agent;
      this.follow(agent, HEARTBEAT_MS);
      agent.socket.on('message', () => {
        agent.received.length = 0;
      });
      // The server pings a live session: one that hangs is given up as a real agent gives it up.
      await Promise.race([agent.closed, silence(agent)]);
      agent.socket.terminate();
      this.#at += 1;
      await new Promise((resolve) => setTimeout(resolve, REDIAL_MS));
    }
  }

  protected override onMessage(message: ServerMessage): void {
    if (message.type === 'challenge') this.#agent?.hello(message);
    else if (message.type === 'welcome') {
      if (this.#agent !== undefined) this.#agent.epoch = message.epoch;
      this.sessions += 1;
    } else if (message.type === 'request') this.#answer(message);
  }

  protected override onAssignment({ instances }: Assignment): void {
    // A new assignment is the whole: what was asked for before may not be wanted any more.
    this.forgetQuestions();
    for (const one of instances) this.#assign(one);
  }

  #assign(one: AssignedInstance): void {
    if (one.wanted === 'stop') this.#running.delete(one.id);
    else if (this.#given === undefined) this.#make(one);
    else if (!this.#running.has(one.id)) this.ask(one);
  }

  #make(one: AssignedInstance): void {
    if (!this.#running.has(one.id)) this.started.set(one.id, (this.started.get(one.id) ?? 0) + 1);
    this.#running.set(one.id, one);
  }

  protected override onMaterial(one: AssignedInstance, environment: Environment): void {
    if (this.#stopped) return;
    this.#given?.(one, environment);
    this.#make(one);
  }

  protected override onRefused(one: AssignedInstance): void {
    setTimeout(() => {
      const isWanted = this.assigned.some(({ id, wanted }) => id === one.id && wanted === 'run');
      if (isWanted && !this.#running.has(one.id)) this.ask(one);
    }, ASK_AGAIN_MS).unref();
  }

  #answer({ streamId, operation }: StreamRequest): void {
    if (operation.kind === 'logs')
      this.send({ type: 'data', streamId, channel: 'stdout', text: `log of ${operation.instanceId}\n` });
    if (operation.kind === 'exec')
      this.send({ type: 'data', streamId, channel: 'stdout', text: operation.command.join(' ') });
    this.send({ type: 'end', streamId, ...(operation.kind === 'exec' ? { exitCode: 7 } : {}) });
  }

  protected override observed(one: AssignedInstance): InstanceObservation {
    return { ...running(one), ...this.seen(one) };
  }

  /** Of all that it has, and of nothing that it has not made yet. */
  protected override observations(): readonly InstanceObservation[] {
    const stopped = this.assigned.filter(({ wanted }) => wanted === 'stop');
    return observedAs((one) => this.observed(one), [...this.#running.values(), ...stopped]);
  }

  protected override measured(): Partial<Report> {
    return { usage: this.running.map((instanceId) => ({ instanceId, ...USAGE })) };
  }
}

const SILENCE_MS = 2000;

async function silence(agent: ScriptedAgent): Promise<void> {
  let pings = -1;
  let epoch = -1;
  for (;;) {
    if (agent.pings === pings && agent.epoch === epoch) return;
    pings = agent.pings;
    epoch = agent.epoch;
    await new Promise((resolve) => setTimeout(resolve, SILENCE_MS).unref());
  }
}
