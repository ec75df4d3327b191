import type { AssignedInstance, Resolved, StreamRequest } from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceId } from '../../../src/core/model/ids.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
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
export class LiveAgent {
  readonly #identity: Omit<AgentIdentity, 'url'>;
  readonly #urls: readonly string[];
  readonly #running = new Map<string, AssignedInstance>();
  /** What the newest assignment wants gone: said to be, until it is no longer asked for. */
  #removed: readonly string[] = [];
  /** By instance: how often a container was made for it. */
  readonly started = new Map<string, number>();
  /** Asked for before a container is made, as a real agent asks; absent: containers need nothing. */
  readonly #given: ((instance: AssignedInstance, environment: Environment) => void) | undefined;
  /** What it wants to make, by the id of the question. */
  readonly #asked = new Map<string, AssignedInstance>();
  #questions = 0;
  sessions = 0;
  #agent: ScriptedAgent | undefined;
  #at: number;
  #generation = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(
    identity: Omit<AgentIdentity, 'url'>,
    urls: readonly string[],
    first = 0,
    given?: (instance: AssignedInstance, environment: Environment) => void,
  ) {
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
    this.#report();
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
      const timer = setInterval(() => this.#report(), HEARTBEAT_MS);
      agent.socket.on('message', (data: Buffer) => this.#hear(agent, data));
      // The server pings a live session: one that hangs is given up as a real agent gives it up.
      await Promise.race([agent.closed, silence(agent)]);
      clearInterval(timer);
      agent.socket.terminate();
      this.#at += 1;
      await new Promise((resolve) => setTimeout(resolve, REDIAL_MS));
    }
  }

  #hear(agent: ScriptedAgent, data: Buffer): void {
    const message = JSON.parse(data.toString()) as (typeof agent.received)[number];
    agent.received.length = 0;
    if (message.type === 'challenge') agent.hello(message);
    else if (message.type === 'welcome') {
      agent.epoch = message.epoch;
      this.sessions += 1;
    } else if (message.type === 'assignment') {
      this.#generation = message.generation;
      // A new assignment is the whole: what was asked for before may not be wanted any more.
      this.#asked.clear();
      for (const one of message.instances) this.#assign(one);
      this.#removed = message.instances.filter(({ wanted }) => wanted === 'stop').map(({ id }) => id);
      this.#report();
    } else if (message.type === 'request') this.#answer(agent, message);
    else if (message.type === 'resolved') this.#resolved(message);
  }

  #ask(one: AssignedInstance): void {
    const agent = this.#agent;
    if (agent === undefined || agent.epoch === 0 || agent.socket.readyState !== agent.socket.OPEN) return;
    const requestId = `q${(this.#questions += 1)}`;
    this.#asked.set(requestId, one);
    const { id: instanceId, specHash, secretsVersion } = one;
    agent.send({ type: 'resolve', requestId, instanceId, specHash, secretsVersion });
  }

  #resolved(message: Resolved): void {
    const one = this.#asked.get(message.requestId);
    this.#asked.delete(message.requestId);
    if (one === undefined || this.#stopped) return;
    if (!message.ok) {
      setTimeout(() => {
        const wanted = [...this.#asked.values()].some(({ id }) => id === one.id);
        if (!wanted && !this.#running.has(one.id) && !this.#removed.includes(one.id)) this.#ask(one);
      }, ASK_AGAIN_MS).unref();
      return;
    }
    this.#given?.(one, message.environment);
    this.#running.set(one.id, one);
    this.started.set(one.id, (this.started.get(one.id) ?? 0) + 1);
    this.#report();
  }

  #assign(one: AssignedInstance): void {
    const known = this.#running.has(one.id);
    if (one.wanted === 'stop') this.#running.delete(one.id);
    else if (this.#given !== undefined) {
      if (!known) this.#ask(one);
    } else {
      this.#running.set(one.id, one);
      if (!known) this.started.set(one.id, (this.started.get(one.id) ?? 0) + 1);
    }
  }

  #answer(agent: ScriptedAgent, { streamId, operation }: StreamRequest): void {
    if (operation.kind === 'logs')
      agent.send({ type: 'data', streamId, channel: 'stdout', text: `log of ${operation.instanceId}\n` });
    if (operation.kind === 'exec')
      agent.send({ type: 'data', streamId, channel: 'stdout', text: operation.command.join(' ') });
    agent.send({ type: 'end', streamId, ...(operation.kind === 'exec' ? { exitCode: 7 } : {}) });
  }

  #report(): void {
    const agent = this.#agent;
    if (agent === undefined || agent.epoch === 0 || agent.socket.readyState !== agent.socket.OPEN) return;
    const usage = [...this.#running.keys()].map((instanceId) => ({ instanceId, ...USAGE }));
    agent.send({
      type: 'report',
      epoch: agent.epoch,
      generation: this.#generation,
      full: true,
      observations: [
        ...[...this.#running.values()].map(observed),
        ...this.#removed.map((id) => ({ id: id as InstanceId, phase: 'removed' as const })),
      ],
      usage,
    });
  }
}

type Environment = Readonly<Record<string, string>>;

function observed({ id, specHash, secretsVersion }: AssignedInstance): InstanceObservation {
  return { id: id as InstanceId, phase: 'running', containerId: `c-${id}`, specHash, secretsVersion };
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
