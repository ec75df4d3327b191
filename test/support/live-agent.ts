import type { AssignedInstance, StreamRequest } from '../../src/core/contract/agent-protocol.ts';
import type { InstanceId } from '../../src/core/model/ids.ts';
import type { InstanceObservation } from '../../src/core/model/instance.ts';
import { type AgentIdentity, ScriptedAgent } from './scripted-agent.ts';

const HEARTBEAT_MS = 300;
const REDIAL_MS = 50;
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
  sessions = 0;
  #agent: ScriptedAgent | undefined;
  #at: number;
  #generation = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(identity: Omit<AgentIdentity, 'url'>, urls: readonly string[], first = 0) {
    this.#identity = identity;
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
      for (const one of message.instances) this.#assign(one);
      this.#removed = message.instances.filter(({ wanted }) => wanted === 'stop').map(({ id }) => id);
      this.#report();
    } else if (message.type === 'request') this.#answer(agent, message);
  }

  #assign(one: AssignedInstance): void {
    const known = this.#running.has(one.id);
    if (one.wanted === 'stop') this.#running.delete(one.id);
    else {
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
