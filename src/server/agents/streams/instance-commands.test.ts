import { expect, it } from 'vitest';
import { instanceId, nodeName, tenantId } from '../../../core/model/ids.ts';
import { instanceCommands } from './instance-commands.ts';
import { AgentStream, TOO_MANY_STREAMS } from './streams.ts';

const COMMAND = {
  runId: 'run_1',
  deployment: 'pg',
  instanceId: instanceId('ins_1'),
  nodeId: nodeName('n1'),
  command: ['dump'],
  timeoutMs: 1_000,
};

const ENDS: readonly (readonly [Parameters<AgentStream['finish']>[0], object])[] = [
  [{ exitCode: 0 }, { ok: true }],
  [{ exitCode: 3 }, { ok: false, reason: 'before_failed', exitCode: 3 }],
  [{ error: { reason: 'exec_timeout', message: '' } }, { ok: false, reason: 'before_timed_out' }],
  [{ error: { reason: 'exec_unavailable', message: '' } }, { ok: false, reason: 'before_failed' }],
  [{ error: { reason: 'agent_unreachable', message: '' } }, { ok: false, reason: 'before_unavailable' }],
  [{ error: { reason: TOO_MANY_STREAMS, message: '' } }, { ok: false, reason: 'before_unavailable' }],
];

it.each(ENDS)('a command that ends with %j', async (end, outcome) => {
  const stream = new AgentStream(
    's1',
    () => true,
    () => undefined,
  );
  stream.finish(end);
  const commands = instanceCommands(() => ({ stream: () => stream }));
  const signal = new AbortController().signal;
  expect(await commands.run(tenantId('ten_a'), COMMAND, signal)).toMatchObject(outcome);
});
