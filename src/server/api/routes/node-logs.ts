import type { TenantId } from '../../../core/model/ids.ts';
import { isRecord } from '../../../core/model/values.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { AGENT_LOG_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { AgentStream } from '../../agents/streams/streams.ts';
import { PacedScrubber } from '../../diagnostics/paced-scrubber.ts';
import { SearchShare } from '../../diagnostics/search-share.ts';
import { keptAlive, send } from '../../diagnostics/sink.ts';
import { nodeNotFound } from '../../reads/node.ts';
import { idOf } from '../../store/record-ids.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import type { ReplyTo, RequestFor, StreamSink } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';
import { outdated } from './instance-orders.ts';
import { lossReason } from './log-lines.ts';
import { ownLogRequest } from './own-log-request.ts';

type Logs = typeof NODES.logs;
/** Beyond what the agent was told: it ends by itself. */
const GRACE_MS = 5000;
/** Lines of agents are short; the rest of a longer one is left out. */
const MAX_LINE = 4 * 1024;
/** Of all streams of this process: agents wait. */
const searches = new SearchShare();

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
    stream: (sink) => keptAlive(sink, () => sendAgentLog(stream, store.tenantId, forMs, sink)),
  };
}

async function sendAgentLog(
  stream: AgentStream,
  tenantId: TenantId,
  forMs: number,
  sink: StreamSink,
): Promise<void> {
  const scrubber = new PacedScrubber([]);
  const leave = (): void => stream.cancel();
  const timer = setTimeout(leave, forMs + GRACE_MS);
  const { signal } = sink;
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  const line = async (text: string): Promise<void> => {
    const shown = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
    if (!signal.aborted) await searches.take(tenantId, shown.length, signal);
    if (!signal.aborted) await send(sink, 'log', { line: (await scrubber.scrub(shown)).text });
  };
  try {
    let rest = '';
    for await (const { text, value } of stream) {
      const dropped = isRecord(value) ? value['dropped'] : undefined;
      if (typeof dropped === 'number') await send(sink, 'gap', { lines: dropped });
      const lines = (rest + (text ?? '')).split('\n');
      const last = lines.pop() ?? '';
      rest = last.slice(0, MAX_LINE + 1);
      // What is left out is waited for like what is searched: an agent that sends without regard is cut off for it.
      for (let cut = last.length - rest.length; cut > 0 && stream.end === undefined; cut -= MAX_LINE)
        await searches.take(tenantId, Math.min(cut, MAX_LINE), signal);
      for (const one of lines) await line(one);
    }
    if (rest !== '') await line(rest);
    await send(sink, 'end', lossReason(stream) ?? { reason: 'the agent ended it' });
  } finally {
    clearTimeout(timer);
    leave();
  }
}
