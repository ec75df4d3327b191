import { Session } from '../../../src/agent/session/session.ts';
import type { Welcome } from '../../../src/core/protocol/agent-protocol.ts';
import type { Caller } from '../harness/control-plane.ts';
import { nodeFacts } from '../harness/node-flow.ts';
import { type AgentKey, agentKey, NODE_FACTS } from './scripted-agent.ts';

const silent = (): void => undefined;
const NO_LOG = { debug: silent, info: silent, warn: silent, error: silent };

/** The agent's own session, with its back-off, over a node that has nothing to do but to beat. Hundreds fit into one process. */
export class StormAgent {
  readonly name: string;
  /** When it was welcomed, each time. */
  readonly welcomedMs: number[] = [];
  readonly #session: Session;
  readonly #end = new AbortController();
  readonly #run: Promise<unknown>;
  #beat: NodeJS.Timeout | undefined;

  constructor(server: string, name: string, nodeToken: string, key: AgentKey) {
    this.name = name;
    this.#session = new Session({
      identity: { server, nodeName: name, nodeToken },
      key: key.privateKey,
      facts: async () => NODE_FACTS,
      handlers: {
        onWelcome: (welcome) => this.#welcomed(welcome),
        onMessage: silent,
        onLost: () => clearInterval(this.#beat),
      },
      log: NO_LOG,
    });
    this.#run = this.#session.run(this.#end.signal);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#run;
    clearInterval(this.#beat);
  }

  #welcomed({ epoch, heartbeatMs }: Welcome): void {
    this.welcomedMs.push(performance.now());
    const report = (): void =>
      void this.#session.send({ type: 'report', epoch, generation: 1, full: true, observations: [] });
    report();
    this.#beat = setInterval(report, heartbeatMs);
  }
}

const TOGETHER = 16;

/** Enrols so many nodes and starts them all. */
export async function startStorm(server: string, call: Caller, count: number): Promise<StormAgent[]> {
  const agents: StormAgent[] = [];
  let next = 0;
  const enrolNext = async (): Promise<void> => {
    while (next < count) {
      const name = `herd-${next}`;
      next += 1;
      const key = agentKey();
      const { status, body } = await call('POST', '/api/v1/nodes', nodeFacts(name, key));
      if (status !== 201) throw new Error(JSON.stringify(body));
      agents.push(new StormAgent(server, name, body.nodeToken as string, key));
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, enrolNext));
  return agents;
}
