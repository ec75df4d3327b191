import type { ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import { type AgentIdentity, ScriptedAgent } from '../agents/scripted-agent.ts';
import type { HostileMessage, Told } from './hostile-messages.ts';

const REDIAL_MS = 300;
const ANSWER_MS = 5_000;

/** A stolen credential of a node: the session of a real one, in which anything is said. */
export class Thief {
  readonly #identity: AgentIdentity;
  #agent: ScriptedAgent | undefined;
  #told: { epoch: number; generation: number; instances: Told['instances']; streamIds: string[] } = {
    epoch: 0,
    generation: 0,
    instances: [],
    streamIds: [],
  };
  #turn = 0;
  sessions = 0;

  constructor(identity: AgentIdentity) {
    this.#identity = identity;
  }

  #hear(data: Buffer): void {
    const message = JSON.parse(data.toString()) as ServerMessage;
    if (message.type === 'assignment') {
      this.#told.generation = message.generation;
      this.#told.instances = message.instances;
    } else if (message.type === 'request')
      this.#told.streamIds = [message.streamId, ...this.#told.streamIds.slice(0, 50)];
    // Nothing of what was heard is kept: a session may last an hour.
    if (this.#agent !== undefined) this.#agent.received.length = 0;
  }

  /** The session, or a new one where it was ended. */
  async session(): Promise<ScriptedAgent | undefined> {
    const open = this.#agent;
    if (open?.socket.readyState === open?.socket.OPEN && open !== undefined) return open;
    await new Promise((resolve) => setTimeout(resolve, REDIAL_MS));
    const agent = new ScriptedAgent(this.#identity);
    try {
      await agent.welcome();
    } catch {
      agent.socket.terminate();
      return undefined;
    }
    this.sessions += 1;
    this.#agent = agent;
    this.#told.epoch = agent.epoch;
    for (const message of agent.received.splice(0)) this.#hear(Buffer.from(JSON.stringify(message)));
    agent.socket.on('message', (data: Buffer) => this.#hear(data));
    return agent;
  }

  /** One kind of message, and the time until the control plane answers the ping that follows it. */
  async say(message: HostileMessage): Promise<number | undefined> {
    const agent = await this.session();
    if (agent === undefined) return undefined;
    const { socket } = agent;
    for (let count = 0; count < message.times; count += 1) {
      if (socket.readyState !== socket.OPEN) return undefined;
      socket.send(message.frame(this.#told, (this.#turn += 1)));
    }
    const begun = performance.now();
    const answered = new Promise<boolean>((resolve) => {
      const done = (alive: boolean) => () => {
        clearTimeout(timer);
        socket.off('pong', pong).off('close', closed);
        resolve(alive);
      };
      const pong = done(true);
      const closed = done(false);
      const timer = setTimeout(closed, ANSWER_MS);
      socket.on('pong', pong).on('close', closed);
      socket.ping();
    });
    return (await answered) ? performance.now() - begun : undefined;
  }

  close(): void {
    this.#agent?.socket.terminate();
  }
}
