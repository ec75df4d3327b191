import { type Client, deploymentPath, type Json } from './client.ts';
import { serverEvents } from './event-source.ts';
import { textOf } from './fields.ts';
import { printable } from './style.ts';

export interface LogOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly instance?: string;
}

export interface LogLine {
  readonly instance: string;
  readonly channel: string;
  readonly text: string;
}

/** The output of a deployment's instances, line by line. */
export async function* logLines(
  client: Client,
  deployment: string,
  options: LogOptions,
): AsyncGenerator<LogLine> {
  const answer = await client.stream({
    path: `${deploymentPath(deployment)}/logs`,
    query: {
      follow: options.follow === true ? 'true' : undefined,
      tail: options.tail === undefined ? undefined : String(options.tail),
      since: options.since,
      instance: options.instance,
    },
    headers: { accept: options.follow === true ? 'text/event-stream' : 'application/json' },
  });
  if ((answer.headers['content-type'] ?? '').includes('text/event-stream')) {
    for await (const { data } of serverEvents(answer)) yield lineOf(JSON.parse(data) as Json);
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  for (const entry of JSON.parse(Buffer.concat(chunks).toString('utf8')) as readonly Json[])
    yield lineOf(entry);
}

function lineOf(entry: Json): LogLine {
  return {
    instance: textOf(entry, 'instance') || textOf(entry, 'instanceId'),
    channel: textOf(entry, 'channel') || 'stdout',
    text: printable(
      (textOf(entry, 'line') || textOf(entry, 'text') || textOf(entry, 'message')).replace(/\n$/, ''),
    ),
  };
}

/** For the end of a failed wait: whatever can be had, never an error of its own. */
export async function lastLogLines(
  client: Client,
  deployment: string,
  count: number,
): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  try {
    for await (const line of logLines(client, deployment, { tail: count })) lines.push(line);
  } catch {
    return [];
  }
  return lines.slice(-count);
}
