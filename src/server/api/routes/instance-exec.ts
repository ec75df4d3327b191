import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import type { INSTANCES } from '../../../core/operations/instances.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { received, redacted } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { toldCommand } from '../../../core/rules/credentials/told-command.ts';
import type { Admission } from '../../writes/admission.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { AgentStream, StreamItem } from '../../agents/streams/streams.ts';
import type { ReplyTo, RequestFor } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';
import { runningInstance, unavailable } from './running-instance.ts';

const MAX_OUTPUT_BYTES = 2 ** 20;
const DEFAULT_TIMEOUT = '30s';
const MAX_TIMEOUT_MS = 10 * 60_000;
/** The agent ends the command at its timeout; the answer may take this much longer. */
const ANSWER_GRACE_MS = 5000;
const MAX_ARGUMENTS = 1000;
/** The agent's reason for a command that it killed. */
const TIMED_OUT = 'exec_timeout';

const asExecution = exactly<AnswerOf<typeof INSTANCES.exec>>();

/** The first bytes of an output; the rest is read and dropped, so that the exit code is still the command's own. */
class BoundedOutput {
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  truncated = false;

  take({ text, base64 }: StreamItem): void {
    const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
    const room = MAX_OUTPUT_BYTES - this.#bytes;
    if (bytes.length > room) this.truncated = true;
    if (room <= 0) return;
    const kept = bytes.subarray(0, room);
    this.#parts.push(kept);
    this.#bytes += kept.length;
  }

  text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}

async function collect(stream: AgentStream, timeoutMs: number) {
  const timer = setTimeout(
    () => stream.cancel('deadline', 'the agent did not answer in time'),
    timeoutMs + ANSWER_GRACE_MS,
  );
  const output = { stdout: new BoundedOutput(), stderr: new BoundedOutput() };
  try {
    for await (const item of stream) output[item.channel ?? 'stdout'].take(item);
  } finally {
    clearTimeout(timer);
  }
  const { exitCode, error } = stream.end ?? {};
  // What it printed until it was killed is an answer; anything else that failed is not.
  const timedOut = error?.reason === TIMED_OUT;
  if (error !== undefined && !timedOut)
    return unavailable(undefined, `The command was not run to its end: ${error.message}.`);
  const truncated = output.stdout.truncated || output.stderr.truncated;
  return {
    exitCode: exitCode ?? null,
    stdout: output.stdout.text(),
    stderr: output.stderr.text(),
    ...(truncated ? { truncated } : {}),
    ...(timedOut ? { timedOut } : {}),
  };
}

/** Audited before it runs: a command that could not be recorded is not run. */
async function audit(
  admission: Admission,
  { caller, store }: Pick<RequestFor<typeof INSTANCES.exec>, 'caller' | 'store'>,
  instance: InstanceRecord,
  action: string,
  details: Readonly<Record<string, string | number>>,
): Promise<void> {
  const transaction = store.transaction();
  const subject = { kind: 'Instance', name: instance.id } as const;
  admission.journal.audit(transaction, store.tenantId, caller, action, subject, {
    deployment: instance.deployment,
    ...details,
  });
  await store.commit(transaction);
}

export function timeoutOf(text: string | undefined): number | Rejection {
  const ms = parseDuration(text ?? DEFAULT_TIMEOUT);
  if (ms !== undefined && ms >= 1000 && ms <= MAX_TIMEOUT_MS) return ms;
  return reject('command_invalid', {
    field: 'timeout',
    received: received(text),
    expected: 'a duration from 1s to 10m',
    why: 'The timeout is not a duration in range.',
  });
}

function outcomeOf(
  departure: AbortSignal,
  result: Awaited<ReturnType<typeof collect>>,
): Readonly<Record<string, string | number>> {
  if (departure.aborted) return { outcome: isRejection(departure.reason) ? departure.reason.code : 'left' };
  if (isRejection(result)) return { outcome: result.code };
  if (result.timedOut === true) return { outcome: 'timed out' };
  return { outcome: 'done', ...(result.exitCode === null ? {} : { exitCode: result.exitCode }) };
}

export async function runCommand(
  admission: Admission,
  dispatch: Dispatch,
  request: RequestFor<typeof INSTANCES.exec>,
  choices: readonly InstanceRecord[],
): Promise<ReplyTo<typeof INSTANCES.exec>> {
  const { command = [], instance: named, timeout } = request.body;
  if (command.length === 0 || command[0] === '' || command.length > MAX_ARGUMENTS) {
    return reject('command_invalid', {
      field: 'command',
      received: redacted(command),
      expected: `1 to ${MAX_ARGUMENTS} elements, the first being the program`,
      why: 'The command is empty or too long.',
    });
  }
  const timeoutMs = timeoutOf(timeout);
  if (isRejection(timeoutMs)) return timeoutMs;
  const { store } = request;
  const instance = runningInstance(store, dispatch, choices, named);
  if (isRejection(instance)) return instance;
  const told = { command: toldCommand(command) };
  await audit(admission, request, instance, 'deployment.exec', told);
  const startedMs = performance.now();
  const stream = dispatch.stream(store.tenantId, instance.nodeId, {
    kind: 'exec',
    instanceId: instance.id,
    command,
    timeoutMs,
  });
  if (stream === undefined) return agentUnreachable(instance.nodeId);
  const departure = request.departure();
  departure.addEventListener('abort', () => stream.cancel(), { once: true });
  const result = await collect(stream, timeoutMs);
  await audit(admission, request, instance, 'deployment.exec_ended', {
    ...told,
    ...outcomeOf(departure, result),
    durationMs: Math.round(performance.now() - startedMs),
  });
  if (departure.aborted && isRejection(departure.reason)) return departure.reason;
  return isRejection(result)
    ? result
    : { status: 200, body: asExecution({ instance: instance.id, ...result }) };
}
