import { setTimeout as wait } from 'node:timers/promises';
import { isRecord } from '../../../core/model/values.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { AGENT_LOG_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { Scrubber } from '../../../core/rules/credentials/scrub.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { AgentStream } from '../../agents/streams/streams.ts';
import { keptAlive, send } from '../../diagnostics/sink.ts';
import { nodeNotFound } from '../../reads/node.ts';
import { idOf } from '../../store/record-ids.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import type { ReplyTo, RequestFor, StreamSink } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';
import { outdated } from './instance-orders.ts';
import { ownLogRequest } from './own-log-request.ts';

type Logs = typeof NODES.logs;
/** Beyond what the agent was told: it ends by itself. */
const GRACE_MS = 5000;
/** Lines of agents are short; the rest of a longer one is left out. */
const MAX_LINE = 4 * 1024;
/** Every line is searched for credentials, which costs this process more than the agent: no more is taken of one stream, and the agent waits. */
const BYTES_PER_SECOND = 256 * 1024;
const BURST_BYTES = 512 * 1024;

/** The log of an agent, which is told for how long its level is raised and ends it without us. Nothing of it is stored here. */
export async function readAgentLog(
  { admission: { journal } }: NodeAdmission,
  dispatch: Dispatch,
  { store, caller, params: { name }, query }: RequestFor<Logs>,
): Promise<ReplyTo<Logs>> {
  const asked = ownLogRequest(query);
  if (isRejection(asked)) return asked;
  if (store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
  if (!dispatch.connected(store.tenantId, name)) return agentUnreachable(name);
  const tooOld = outdated(store, name, AGENT_LOG_FEATURE);
  if (tooOld) return tooOld;
  const { follow, level, forMs } = asked;
  const asking = store.transaction();
  const details = follow ? { level, seconds: Math.round(forMs / 1000) } : { level };
  journal.audit(asking, store.tenantId, caller, 'node.log_read', { kind: 'Node', name }, details);
  await store.commit(asking);
  const stream = dispatch.stream(store.tenantId, name, { kind: 'agent-log', ...asked });
  if (stream === undefined) return agentUnreachable(name);
  return {
    status: 200,
    contentType: 'text/event-stream; charset=utf-8',
    stream: (sink) => keptAlive(sink, () => sendAgentLog(stream, forMs, sink)),
  };
}

async function sendAgentLog(stream: AgentStream, forMs: number, sink: StreamSink): Promise<void> {
  const scrubber = new Scrubber([]);
  const leave = (): void => stream.cancel();
  const timer = setTimeout(leave, forMs + GRACE_MS);
  sink.signal.addEventListener('abort', leave, { once: true });
  const line = (text: string): Promise<void> => {
    const shown = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
    return send(sink, 'log', { line: scrubber.scrub(shown).text });
  };
  const startMs = performance.now();
  let bytes = 0;
  try {
    let rest = '';
    for await (const { text, value } of stream) {
      const dropped = isRecord(value) ? value['dropped'] : undefined;
      if (typeof dropped === 'number') await send(sink, 'gap', { lines: dropped });
      bytes += text?.length ?? 0;
      const aheadMs = ((bytes - BURST_BYTES) / BYTES_PER_SECOND) * 1000 - (performance.now() - startMs);
      if (aheadMs > 0) await wait(aheadMs, undefined, { signal: sink.signal }).catch(() => undefined);
      const lines = (rest + (text ?? '')).split('\n');
      rest = (lines.pop() ?? '').slice(0, MAX_LINE + 1);
      for (const one of lines) await line(one);
    }
    if (rest !== '') await line(rest);
    const problem = stream.end?.error;
    await send(sink, 'end', { reason: problem === undefined ? 'the agent ended it' : problem.message });
  } finally {
    clearTimeout(timer);
    leave();
  }
}
