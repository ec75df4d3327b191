import { endsByStop, STOPPING, unreadReason } from '../core/contract/log-end.ts';
import { parsedRecord } from '../core/model/values.ts';
import {
  type CallOptions,
  followedPastStops,
  type Frame,
  isAwayStatus,
  UnreachableError,
} from '../sdk/index.ts';
import { type Client, named } from './client.ts';
import { EXIT } from './exit-code.ts';
import { Failure, Refused } from './failure.ts';
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

/** The output of a deployment's instances, line by line; followed, it goes on past control planes that stop. */
export async function* logLines(
  client: Client,
  deployment: string,
  options: LogOptions,
  signal?: AbortSignal,
): AsyncGenerator<LogLine> {
  const { follow = false, ...query } = options;
  const operation = 'GET /api/v1/deployments/{name}/logs';
  if (!follow) return yield* plainLines(client.pieces(operation, { ...named(deployment), query }));
  const open = (since: string | undefined) => {
    const part = since === undefined ? {} : { since, tail: undefined };
    const asked = { ...named(deployment), query: { ...query, ...part, follow } };
    return client.frames(operation, since === undefined ? asked : { ...asked, attempts: 1 });
  };
  for await (const frame of followedPastStops(open, { signal, isAway })) {
    if (endsByStop(frame))
      yield { instance: '', text: `(${STOPPING.reason}; the log goes on when one answers)`, problem: true };
    else if (isWholeEnd(frame)) return;
    else yield followedLine(frame);
  }
}

function isAway(error: unknown): boolean {
  if (error instanceof Refused) return isAwayStatus(error.status);
  if (!(error instanceof Failure) || error.exitCode !== EXIT.unreachable) return false;
  return isAwayStatus(error.cause instanceof UnreachableError ? error.cause.status : undefined);
}

function isWholeEnd(frame: Frame): boolean {
  const reason = unreadReason(frame);
  if (reason !== undefined) throw unread(reason);
  return frame.event === 'end';
}

/** The output of a run of a job. With `follow`, server-sent events; else text. */
export async function* jobLines(
  client: Client,
  options: CallOptions<'GET /api/v1/jobs/{name}/logs'>,
  follow: boolean,
): AsyncGenerator<LogLine> {
  const operation = 'GET /api/v1/jobs/{name}/logs';
  if (!follow) return yield* plainLines(client.pieces(operation, options));
  // What was printed already would come again: one that breaks off is not taken up.
  for await (const frame of client.frames(operation, options)) {
    if (isWholeEnd(frame)) return;
    yield followedLine(frame);
  }
}

/** For the end of a log that is not taken up again. */
export function unread(reason: string = STOPPING.reason): Failure {
  return new Failure(`the log was not read to its end: ${reason}`, { exitCode: EXIT.unreachable });
}

function followedLine({ event, data }: Frame): LogLine {
  const entry = parsedRecord(data);
  const problem = event === 'problem';
  const text = problem
    ? `(no output from ${textOf(entry['nodeId'])}: ${textOf(entry['message'])})`
    : textOf(entry['line']);
  return { instance: textOf(entry['instance']), text: printable(text), problem };
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
