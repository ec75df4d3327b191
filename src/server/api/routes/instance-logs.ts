import type { InstanceRecord } from '../../../core/model/instance.ts';
import { MAX_TAIL } from '../../../core/operations/queries.ts';
import type { INSTANCES } from '../../../core/operations/instances.ts';
import type { ServedQuery } from '../../../core/operations/operation.ts';
import type { TenantStore } from '../../store/store.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { AgentStream } from '../../agents/streams/streams.ts';
import { booleanParameter, integerParameter, invalidParameter } from '../paging.ts';
import type { StreamReply, StreamSink } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';
import { type FollowSource, LogFollower, type LogRange } from './log-follow.ts';
import { eventForm, type LogForm, type LogSource, lossReason, pump, textForm } from './log-lines.ts';

const KEEP_ALIVE_MS = 15_000;
const DEFAULT_TAIL = 1000;
const MAX_SINCE_MS = 366 * 24 * 3_600_000;

interface LogRequest {
  readonly follow: boolean;
  readonly tail: number;
  readonly sinceSeconds?: number;
  readonly timestamps: boolean;
}

type LogQuery = Partial<ServedQuery<typeof INSTANCES.logs>>;

export function logRequest(query: LogQuery): LogRequest | Rejection {
  const follow = booleanParameter(query, 'follow');
  if (isRejection(follow)) return follow;
  const tail = integerParameter(query, 'tail', 0, MAX_TAIL);
  if (isRejection(tail)) return tail;
  const timestamps = booleanParameter(query, 'timestamps');
  if (isRejection(timestamps)) return timestamps;
  const { since } = query;
  if (since === undefined) return { follow, timestamps, tail: tail ?? DEFAULT_TAIL };
  const ms = parseDuration(since);
  if (ms === undefined || ms > MAX_SINCE_MS)
    return invalidParameter('since', since, 'a duration back from now, e.g. 10m');
  return { follow, timestamps, tail: tail ?? MAX_TAIL, sinceSeconds: Math.ceil(ms / 1000) };
}

async function sendLogs(
  sources: readonly LogSource[],
  missing: readonly InstanceRecord[],
  form: LogForm,
  sink: StreamSink,
): Promise<void> {
  const cancelAll = (): void => {
    for (const { stream } of sources) stream.cancel();
  };
  sink.signal.addEventListener('abort', cancelAll, { once: true });
  if (sink.signal.aborted) cancelAll();
  try {
    for (const instance of missing) sink.write(form.problem(instance, 'its agent is not connected'));
    await Promise.all(sources.map((source) => pump(source, form, sink)));
    sink.write(form.end(sources.map(({ stream }) => lossReason(stream)).find((lost) => lost !== undefined)));
  } finally {
    cancelAll();
  }
}

async function keptAlive(form: LogForm, sink: StreamSink, sending: () => Promise<void>): Promise<void> {
  const { keepAlive } = form;
  const timer = keepAlive === undefined ? undefined : setInterval(() => sink.write(keepAlive), KEEP_ALIVE_MS);
  try {
    await sending();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Logs of the instances there are now; nothing of them is stored here. Followed with `joining`, which says what is there at
 * any time, those that come later are read too.
 */
export function streamLogs(
  dispatch: Dispatch,
  { store, query }: { readonly store: TenantStore; readonly query: LogQuery },
  instances: readonly InstanceRecord[],
  joining?: FollowSource['instances'],
): StreamReply | Rejection {
  const wanted = logRequest(query);
  if (isRejection(wanted)) return wanted;
  const { follow, timestamps, ...range } = wanted;
  const open = (instance: InstanceRecord, part: LogRange): AgentStream | undefined =>
    dispatch.stream(store.tenantId, instance.nodeId, {
      kind: 'logs',
      instanceId: instance.id,
      follow,
      ...(timestamps && { timestamps }),
      ...part,
    });
  if (follow && joining !== undefined) {
    const form = eventForm();
    return {
      status: 200,
      contentType: form.contentType,
      stream: (sink) =>
        keptAlive(form, sink, () => new LogFollower({ instances: joining, open, range }, form, sink).run()),
    };
  }
  const sources: LogSource[] = [];
  const missing: InstanceRecord[] = [];
  for (const instance of instances) {
    const stream = open(instance, range);
    if (stream === undefined) missing.push(instance);
    else sources.push({ instance, stream });
  }
  const first = missing[0];
  if (sources.length === 0 && first !== undefined) return agentUnreachable(first.nodeId);
  const form = follow ? eventForm() : textForm(instances.length > 1);
  return {
    status: 200,
    contentType: form.contentType,
    stream: (sink) => keptAlive(form, sink, () => sendLogs(sources, missing, form, sink)),
  };
}
