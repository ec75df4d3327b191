import type { StreamOperation } from '../../../src/core/protocol/agent-protocol.ts';
import { nodeFacts } from '../../support/harness/node-flow.ts';
import { agentKey, ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import type { Stage } from './case.ts';

/** A node whose agent says this of itself, and answers one kind of question, or says why not. */
export async function agentOf(
  stage: Pick<Stage, 'plane' | 'fresh' | 'call'>,
  kind: StreamOperation['kind'],
  { value, problem }: { readonly value?: unknown; readonly problem?: string | undefined },
  said: Parameters<ScriptedAgent['welcome']>[0] = {},
): Promise<string> {
  const [key, node] = [agentKey(), stage.fresh('node')];
  const enrolled = await stage.call('POST', '/api/v1/nodes', { body: nodeFacts(node, key) });
  const token = String(enrolled.body['nodeToken']);
  const agent = new ScriptedAgent({ url: stage.plane.url, node, token, key });
  await agent.welcome(said);
  agent.answer(kind, value, problem);
  return node;
}
