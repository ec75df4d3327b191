import type { InstanceRecord } from '../../../core/model/instance.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Dispatch } from '../../dispatch/dispatch.ts';
import type { AgentStream } from '../../dispatch/streams.ts';
import { booleanParameter, integerParameter, invalidParameter } from '../paging.ts';
import type { Reply, RouteRequest, StreamSink } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';

const KEEP_ALIVE_MS = 15_000;
const MAX_TAIL = 100_000;
const DEFAULT_TAIL = 1000;
/** A line without an end is given out in pieces of this length. */
const MAX_LINE = 64 * 1024;
const MAX_SINCE_MS = 366 * 24 * 3_600_000;

interface LogSource {
  readonly instance: InstanceRecord;
  readonly stream: AgentStream;
}

type Channel = 'stdout' | 'stderr';

interface LogRequest {
  readonly follow: boolean;
  readonly tail: number;
  readonly sinceSeconds?: number;
}

export function logRequest(query: Readonly<Record<string, string>>): LogRequest | Rejection {
  const follow = booleanParameter(query, 'follow');
  if (isRejection(follow)) return follow;
  const tail = integerParameter(query, 'tail', 0, MAX_TAIL);
  if (isRejection(tail)) return tail;
  const { since } = query;
  if (since === undefined) return { follow, tail: tail ?? DEFAULT_TAIL };
  const ms = parseDuration(since);
  if (ms === undefined || ms > MAX_SINCE_MS)
    return invalidParameter('since', since, 'a duration back from now, e.g. 10m');
  return { follow, tail: tail ?? MAX_TAIL, sinceSeconds: Math.ceil(ms / 1000) };
}

/** Text comes in pieces; lines of several instances must not be torn into each other. */
async function* lines({
  stream,
}: LogSource): AsyncGenerator<{ readonly channel: Channel; readonly line: string }> {
  const partial: Record<Channel, string> = { stdout: '', stderr: '' };
  for await (const { text, base64, channel = 'stdout' } of stream) {
    partial[channel] += text ?? Buffer.from(base64 ?? '', 'base64').toString('utf8');
    const parts = partial[channel].split('\n');
    partial[channel] = parts.pop() ?? '';
    for (const line of parts) yield { channel, line };
    if (partial[channel].length > MAX_LINE) {
      yield { channel, line: partial[channel] };
      partial[channel] = '';
    }
  }
  for (const channel of ['stdout', 'stderr'] as const)
    if (partial[channel] !== '') yield { channel, line: partial[channel] };
}

interface LogForm {
  readonly contentType: string;
  line(instance: InstanceRecord, channel: Channel, line: string): string;
  problem(instance: InstanceRecord, message: string): string;
  readonly keepAlive?: string;
  readonly end: string;
}

function eventForm(): LogForm {
  const frame = (event: string, data: unknown): string =>
    `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  return {
    contentType: 'text/event-stream; charset=utf-8',
    line: ({ id, nodeId }, channel, line) => frame('log', { instance: id, nodeId, channel, line }),
    problem: ({ id, nodeId }, message) => frame('problem', { instance: id, nodeId, message }),
    keepAlive: ': keep-alive\n\n',
    end: frame('end', {}),
  };
}

function textForm(named: boolean): LogForm {
  const prefix = ({ id }: InstanceRecord): string => (named ? `${id} | ` : '');
  return {
    contentType: 'text/plain; charset=utf-8',
    line: (instance, _channel, line) => `${prefix(instance)}${line}\n`,
    problem: ({ id, nodeId }, message) => `${id} | (no log from ${nodeId}: ${message})\n`,
    end: '',
  };
}

async function pump(source: LogSource, form: LogForm, sink: StreamSink): Promise<void> {
  for await (const { channel, line } of lines(source)) {
    // A reader that is slow stops the reading here, which stops the credit, which stops the agent.
    if (!sink.write(form.line(source.instance, channel, line))) await sink.drained();
    if (sink.signal.aborted) return;
  }
  const problem = source.stream.end?.error;
  if (problem !== undefined && !sink.signal.aborted)
    sink.write(form.problem(source.instance, problem.message));
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
  const { keepAlive } = form;
  const timer = keepAlive === undefined ? undefined : setInterval(() => sink.write(keepAlive), KEEP_ALIVE_MS);
  try {
    for (const instance of missing) sink.write(form.problem(instance, 'its agent is not connected'));
    await Promise.all(sources.map((source) => pump(source, form, sink)));
    sink.write(form.end);
  } finally {
    clearInterval(timer);
    cancelAll();
  }
}

export function instanceNotFound(id: string): Rejection {
  return reject('instance_not_found', {
    field: 'instance',
    received: received(id),
    why: 'The deployment has no instance of this id.',
  });
}

/** Logs of the instances there are now; nothing of them is stored here. */
export function streamLogs(
  dispatch: Dispatch,
  { store, query }: RouteRequest,
  instances: readonly InstanceRecord[],
): Reply {
  const wanted = logRequest(query);
  if (isRejection(wanted)) return wanted;
  const sources: LogSource[] = [];
  const missing: InstanceRecord[] = [];
  for (const instance of instances) {
    const stream = dispatch.stream(store.tenantId, instance.nodeId, {
      kind: 'logs',
      instanceId: instance.id,
      ...wanted,
    });
    if (stream === undefined) missing.push(instance);
    else sources.push({ instance, stream });
  }
  const first = missing[0];
  if (sources.length === 0 && first !== undefined) return agentUnreachable(first.nodeId);
  const form = wanted.follow ? eventForm() : textForm(instances.length > 1);
  return {
    status: 200,
    contentType: form.contentType,
    stream: (sink) => sendLogs(sources, missing, form, sink),
  };
}
