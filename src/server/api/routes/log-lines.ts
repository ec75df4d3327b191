import { AGENT_LOST } from '../../../core/contract/log-end.ts';
import { isRecord } from '../../../core/model/values.ts';
import type { StreamSink } from '../route.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { received } from '../../../core/rejections/redaction.ts';
import type { AgentStream } from '../../agents/streams/streams.ts';

/** A line without an end is given out in pieces of this length. */
const MAX_LINE = 64 * 1024;

type Channel = 'stdout' | 'stderr';

export interface LogSource {
  readonly instance: InstanceRecord;
  readonly stream: AgentStream;
}

type LogPart = { readonly channel: Channel; readonly line: string } | { readonly problem: string };

/** The agent's reason for lines that its engine overwrote before they were read. */
function lossOf(value: unknown): string {
  const gap = isRecord(value) ? value['gap'] : undefined;
  const { after, before } = isRecord(gap) ? gap : {};
  return `lines between ${received(after)} and ${received(before)} are lost: they were overwritten on the node before the reader took them`;
}

/** Text comes in pieces; lines of several instances must not be torn into each other. */
async function* lines({ stream }: LogSource): AsyncGenerator<LogPart> {
  const partial: Record<Channel, string> = { stdout: '', stderr: '' };
  for await (const { text, base64, value, channel = 'stdout' } of stream) {
    if (value !== undefined) {
      yield { problem: lossOf(value) };
      continue;
    }
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

export interface LogForm {
  readonly contentType: string;
  line(instance: InstanceRecord, channel: Channel, line: string): string;
  problem(instance: InstanceRecord, message: string): string;
  readonly keepAlive?: string;
  /** `reason`: why it is not that of what is read. */
  end(ended?: { readonly reason: string }): string;
}

export function eventForm(): LogForm {
  const frame = (event: string, data: unknown): string =>
    `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  return {
    contentType: 'text/event-stream; charset=utf-8',
    line: ({ id, nodeId }, channel, line) => frame('log', { instance: id, nodeId, channel, line }),
    problem: ({ id, nodeId }, message) => frame('problem', { instance: id, nodeId, message }),
    keepAlive: ': keep-alive\n\n',
    end: (ended) => frame('end', ended ?? {}),
  };
}

export function textForm(named: boolean): LogForm {
  const prefix = ({ id }: InstanceRecord): string => (named ? `${id} | ` : '');
  return {
    contentType: 'text/plain; charset=utf-8',
    line: (instance, _channel, line) => `${prefix(instance)}${line}\n`,
    problem: ({ id, nodeId }, message) => `${id} | (no log from ${nodeId}: ${message})\n`,
    end: () => '',
  };
}

/** It may go on, but not to here. */
export function isLost({ end }: AgentStream): boolean {
  return end?.error?.reason === 'agent_unreachable';
}

/** Why what was read is not all of it; undefined: it is. */
export function lossReason(stream: AgentStream): { readonly reason: string } | undefined {
  if (isLost(stream)) return AGENT_LOST;
  const problem = stream.end?.error;
  return problem && { reason: problem.message };
}

export async function pump(source: LogSource, form: LogForm, sink: StreamSink): Promise<void> {
  for await (const part of lines(source)) {
    const text =
      'problem' in part
        ? form.problem(source.instance, part.problem)
        : form.line(source.instance, part.channel, part.line);
    // A reader that is slow stops the reading here, which stops the credit, which stops the agent.
    if (!sink.write(text)) await sink.drained();
    if (sink.signal.aborted) return;
  }
  const problem = source.stream.end?.error;
  if (problem !== undefined && !sink.signal.aborted)
    sink.write(form.problem(source.instance, problem.message));
}
