import { agentKey, ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { nodeFacts } from '../../support/harness/node-flow.ts';
import { ObligingAgent } from '../../support/agents/obliging-agent.ts';
import type { Stage } from './case.ts';

const KEEPERS = new WeakMap<Stage['tenant'], Promise<string>>();

/** A node of the tenant whose agent keeps volumes, each filled to nine tenths, and measures them when it is asked. */
export function keeperOf(stage: Stage): Promise<string> {
  const known = KEEPERS.get(stage.tenant) ?? connected(stage);
  KEEPERS.set(stage.tenant, known);
  return known;
}

async function connected(stage: Stage): Promise<string> {
  const node = stage.fresh('keeper');
  const key = agentKey();
  const join = await stage.call('POST', '/api/v1/join-tokens', { body: {} });
  const body = nodeFacts(node, key);
  const enrolled = await stage.call('POST', '/api/v1/nodes', { token: String(join.body['token']), body });
  if (enrolled.status !== 201) throw new Error(`the node was refused: ${enrolled.text}`);
  const token = String(enrolled.body['nodeToken']);
  const agent = new ScriptedAgent({ url: stage.plane.url, node, token, key });
  await agent.welcome({ volumeEngines: ['btrfs'] });
  new ObligingAgent(agent, { volumesFilled: 0.9 }).report();
  return node;
}
