import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Identity } from '../../src/agent/session/identity.ts';
import { AGENT_FEATURES } from '../../src/agent/session/node-facts.ts';
import { Session } from '../../src/agent/session/session.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { joinToken, nodeFacts, NodeFlow } from '../support/harness/node-flow.ts';
import { type AgentKey, NODE_FACTS } from '../support/agents/scripted-agent.ts';

const LIFETIME_MS = 3000;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_AGENTS_CREDENTIAL_LIFETIME: `${LIFETIME_MS}ms` });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

/** The agent's own session, with what it keeps on its disk; `isWritable` says whether that takes anything. */
class Running {
  readonly #stop = new AbortController();
  readonly #done: Promise<unknown>;
  kept: Identity;
  isUp = false;
  isWritable = true;
  joins = 0;

  constructor(identity: Identity, key: AgentKey) {
    this.kept = identity;
    const session = new Session({
      identity,
      key: key.privateKey,
      facts: async () => ({ ...NODE_FACTS, features: AGENT_FEATURES }),
      handlers: {
        onWelcome: () => {
          this.isUp = true;
        },
        onMessage: () => undefined,
        onLost: () => {
          this.isUp = false;
        },
      },
      random: () => 0.1,
      onCredential: async (nodeToken, previousToken) => {
        if (!this.isWritable) throw new Error('no space left on device');
        this.kept = { ...this.kept, nodeToken, previousToken };
      },
      onRefused: async () => {
        this.joins += 1;
        const call = plane.as(await joinToken(shop.call, { nodeName: identity.nodeName }));
        const { body } = await call('POST', '/api/v1/nodes', nodeFacts(identity.nodeName, key));
        return body.nodeToken as string;
      },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    this.#done = session.run(this.#stop.signal);
  }

  async up(): Promise<void> {
    await eventually(
      async () => this.isUp,
      (isUp) => isUp,
    );
  }

  async stop(): Promise<Identity> {
    this.#stop.abort();
    await this.#done;
    return this.kept;
  }
}

async function enrolled(name: string): Promise<{ identity: Identity; key: AgentKey }> {
  const { url, token, key } = await flow.enrolled(name, shop);
  return { identity: { server: url, nodeName: name, nodeToken: token }, key };
}

describe("an agent's credential", () => {
  it('is another after each renewal, and the agent stays connected for longer than any of them lasts', async () => {
    const { identity, key } = await enrolled('agent-1');
    const agent = new Running(identity, key);
    const seen = new Set<string>();
    await eventually(
      async () => seen.add(agent.kept.nodeToken).size,
      (count) => count >= 4,
    );
    expect(agent.isUp).toBe(true);
    const kept = await agent.stop();
    const again = new Running(kept, key);
    await again.up();
    await again.stop();
    expect(again.joins).toBe(0);
  });

  it('stays the old one on a disk that takes nothing, and is found again in a store that was put back', async () => {
    const { identity, key } = await enrolled('agent-2');
    const full = new Running(identity, key);
    full.isWritable = false;
    await full.up();
    const same = await full.stop();
    expect(same.nodeToken).toBe(identity.nodeToken);
    // As if the store knew nothing of the renewal: the newer one is unknown to it.
    const ahead: Identity = {
      ...same,
      nodeToken: `${same.nodeToken.slice(0, -8)}00000000`,
      previousToken: same.nodeToken,
    };
    const back = new Running(ahead, key);
    await back.up();
    expect(back.joins).toBe(0);
    await back.stop();
  });

  it('that has ended is made good by a join token, with the same key', async () => {
    const { identity, key } = await enrolled('agent-3');
    const first = new Running(identity, key);
    await eventually(
      async () => first.kept.nodeToken,
      (token) => token !== identity.nodeToken,
    );
    const kept = await first.stop();
    await new Promise((resolve) => setTimeout(resolve, LIFETIME_MS + 200));
    const later = new Running(kept, key);
    await later.up();
    expect(later.joins).toBe(1);
    await later.stop();
  });
});
