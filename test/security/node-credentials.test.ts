import { afterAll, beforeAll, expect } from 'vitest';
import { CREDENTIAL_FEATURE } from '../../src/core/protocol/agent-protocol.ts';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { joinToken, nodeFacts, NodeFlow } from '../support/harness/node-flow.ts';
import { type AgentIdentity, refusedUpgrade, ScriptedAgent } from '../support/agents/scripted-agent.ts';

const LIFETIME_MS = 4000;
const FEATURES = { features: [CREDENTIAL_FEATURE] };

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

async function opened(identity: AgentIdentity): Promise<ScriptedAgent> {
  const agent = flow.dial(identity);
  await agent.welcome(FEATURES);
  return agent;
}

async function closed(agent: ScriptedAgent): Promise<void> {
  agent.close();
  await agent.closed;
}

/** The token that the agent is given; `keep` says that it is on disk. */
async function given(
  agent: ScriptedAgent,
  identity: AgentIdentity,
): Promise<AgentIdentity & { readonly keep: () => void }> {
  const { token, number } = await agent.next('credential');
  return { ...identity, token, keep: () => agent.send({ type: 'credential-kept', number }) };
}

/** Asked without a session, of which a node may not open so many. */
async function isRefused({ token }: AgentIdentity): Promise<boolean> {
  const { status } = await plane.as(token)('GET', '/api/v1/deployments');
  return status === 401;
}

attack("holder of a copy of a node's files", 'its token after the node has renewed it', async () => {
  const first = await flow.enrolled('renew-1', shop);
  const agent = await opened(first);
  const second = await given(agent, first);
  second.keep();
  await eventually(
    () => isRefused(first),
    (refused) => refused,
  );
  // The session goes on, and before the end of that one there is another.
  const third = await given(agent, second);
  third.keep();
  await eventually(
    () => isRefused(second),
    (refused) => refused,
  );
  expect(agent.socket.readyState).toBe(agent.socket.OPEN);
  await closed(agent);
  await closed(await opened(third));
});

attack('anybody', 'a cut between a new token and its word that it was kept', async () => {
  const first = await flow.enrolled('cut-1', shop);
  const agent = await opened(first);
  const lost = await given(agent, first);
  await closed(agent);
  // It was never written down: the old one opens a session, and brings another.
  const again = await opened(first);
  const kept = await given(again, first);
  await closed(again);
  expect(await isRefused(lost)).toBe(true);
  // It was written down, and the word was lost: the new one opens a session, and ends the old one.
  const last = await opened(kept);
  await eventually(
    () => isRefused(first),
    (refused) => refused,
  );
  await closed(last);
});

attack(
  'holder of a stolen node credential',
  'a node that was away for longer than its token lasts',
  async () => {
    const first = await flow.enrolled('away-1', shop);
    const agent = await opened(first);
    const second = await given(agent, first);
    second.keep();
    await eventually(
      () => isRefused(first),
      (refused) => refused,
    );
    await closed(agent);
    await eventually(
      () => isRefused(second),
      (refused) => refused,
    );
    const { status, body } = await refusedUpgrade(second);
    expect([status, body['code']]).toEqual([401, 'unauthenticated']);
    expect(body['why']).toContain('berth node token --name away-1');
    const call = plane.as(await joinToken(shop.call, { nodeName: 'away-1' }));
    const joined = await call('POST', '/api/v1/nodes', nodeFacts('away-1', first.key));
    expect(joined.status).toBe(200);
    await closed(await opened({ ...first, token: joined.body.nodeToken as string }));
    await shop.call('DELETE', '/api/v1/nodes/away-1');
    expect(await isRefused({ ...first, token: joined.body.nodeToken as string })).toBe(true);
  },
);
