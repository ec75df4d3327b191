import { parsedRecord } from '../core/model/values.ts';
import type { CallOptions } from '../sdk/index.ts';
import { type Client, named } from './client.ts';
import { textOf } from './fields.ts';
import { printable } from './style.ts';

export interface LogOptions {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly instance?: string;
  /** Of instances that failed, whether or not they are still there. */
  readonly previous?: boolean;
  readonly timestamps?: boolean;
}

export interface LogLine {
  /** Empty when there is one instance only. */
  readonly instance: string;
  readonly text: string;
  /** Not output, but why there is none. */
  readonly problem: boolean;
}

/** The output of a deployment's instances, line by line. */
export async function* logLines(
  client: Client,
  deployment: string,
  options: LogOptions,
): AsyncGenerator<LogLine> {
  const { follow = false, ...query } = options;
  const asked = { ...named(deployment), query: { ...query, follow: follow || undefined } };
  yield* streamedLines(client, 'GET /api/v1/deployments/{name}/logs', asked, follow);
}

type LogName = 'GET /api/v1/deployments/{name}/logs' | 'GET /api/v1/jobs/{name}/logs';

/** With `follow`, server-sent events; else text. */
export async function* streamedLines<N extends LogName>(
  client: Client,
  operation: N,
  options: CallOptions<N>,
  follow: boolean,
): AsyncGenerator<LogLine> {
  if (!follow) {
    yield* plainLines(client.pieces(operation, options));
    return;
  }
  // What was printed already would come again: one that breaks off is not taken up.
  for await (const { event, data } of client.frames(operation, options)) {
    if (event === 'end') return;
    const entry = parsedRecord(data);
    const problem = event === 'problem';
    const text = problem
      ? `(no output from ${textOf(entry['nodeId'])}: ${textOf(entry['message'])})`
      : textOf(entry['line']);
    yield { instance: textOf(entry['instance']), text: printable(text), problem };
  }
}

/** With several instances each line is `<id> | <line>`. */
const NAMED = /^(ins_[a-z0-9]+) \| (.*)$/s;

async function* plainLines(answer: AsyncIterable<Uint8Array>): AsyncGenerator<LogLine> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield plainLine(line);
  }
  if (rest !== '') yield plainLine(rest);
}

function plainLine(line: string): LogLine {
  const [, instance = '', text = line] = NAMED.exec(line) ?? [];
  return { instance, text: printable(text), problem: false };
}

/** For the end of a failed wait: whatever can be had, never an error of its own. */
export async function lastLogLines(
  client: Client,
  deployment: string,
  options: LogOptions & { readonly tail: number },
): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  try {
    for await (const line of logLines(client, deployment, options)) lines.push(line);
  } catch {
    return [];
  }
  return lines.slice(-options.tail);
}
