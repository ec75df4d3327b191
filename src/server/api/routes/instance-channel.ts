import { CHANNELS_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { type ChannelEnd, channelStart } from '../../../core/contract/channel-messages.ts';
import { frameReader } from '../../../core/schema/read-message.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { INSTANCES } from '../../../core/operations/instances.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { AgentChannel, ChannelOperation } from '../../agents/streams/channel.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Admission } from '../../writes/admission.ts';
import type { ReplyTo, RequestFor, SocketClient } from '../route.ts';
import { agentUnreachable } from './agent-answers.ts';
import { ClientChannel } from './client-channel.ts';
import { carry } from './carry.ts';
import { taskOf } from './channel-task.ts';
import { runningInstance, unavailable } from './running-instance.ts';

const START_MS = 10_000;

const readStart = frameReader(channelStart);

type Request = RequestFor<typeof INSTANCES.channel>;

export function openChannelTo(
  admission: Admission,
  dispatch: Dispatch,
  request: Request,
  choices: readonly InstanceRecord[],
): ReplyTo<typeof INSTANCES.channel> {
  const { store } = request;
  const instance = runningInstance(store, dispatch, choices, request.query.instance);
  if (isRejection(instance)) return instance;
  const { features = [] } = store.get('nodes', idOf('nodes', instance.nodeId))?.record ?? {};
  if (!features.includes(CHANNELS_FEATURE))
    return agentUnreachable(
      instance.nodeId,
      `The agent of ${instance.nodeId} is of an older release, which runs commands without input only; upgrade it.`,
    );
  return {
    status: 101,
    converse: (client) => new Conversation(admission, dispatch, request, instance).run(client),
  };
}

/** Of a WebSocket that is refused a page sees no answer: it is told inside. */
export function toldInside(rejection: Rejection): ReplyTo<typeof INSTANCES.channel> {
  return {
    status: 101,
    converse: ({ connection, words }) =>
      new ClientChannel(connection).end({ type: 'end', rejection: recordOf(words(rejection)) }),
  };
}

/** One client at one instance, from its first message to the end of what it asked for. */
class Conversation {
  readonly #admission: Admission;
  readonly #dispatch: Dispatch;
  readonly #request: Request;
  readonly #instance: InstanceRecord;

  constructor(admission: Admission, dispatch: Dispatch, request: Request, instance: InstanceRecord) {
    this.#admission = admission;
    this.#dispatch = dispatch;
    this.#request = request;
    this.#instance = instance;
  }

  async run({ connection, words, departure }: SocketClient): Promise<void> {
    const client = new ClientChannel(connection);
    let end: ChannelEnd | Rejection;
    try {
      const start = await client.first(START_MS);
      end = start === undefined ? notAStart() : await this.#serve(client, start, departure);
    } catch {
      end = reject('internal_error', {
        field: 'server',
        received: '(none)',
        why: `The control plane failed on this request (${this.#request.requestId}); its log says more.`,
      });
    }
    await client.end(isRejection(end) ? { type: 'end', rejection: recordOf(words(end)) } : end);
  }

  async #serve(client: ClientChannel, text: string, departure: AbortSignal): Promise<ChannelEnd | Rejection> {
    const start = readStart(text);
    if (start === undefined) return notAStart();
    const task = taskOf(start, this.#instance.id);
    if (isRejection(task)) return task;
    // Before it runs: what could not be written down is not run.
    await this.#audit(task.action, task.told);
    const startedMs = performance.now();
    const end = await this.#carry(client, task.operation, departure);
    await this.#audit(`${task.action}_ended`, {
      ...task.told,
      ...outcomeOf(end),
      durationMs: Math.round(performance.now() - startedMs),
    });
    return end;
  }

  async #carry(
    client: ClientChannel,
    operation: ChannelOperation,
    departure: AbortSignal,
  ): Promise<ChannelEnd | Rejection> {
    const { store } = this.#request;
    const channel = await this.#dispatch.channel(store.tenantId, this.#instance.nodeId, operation);
    if ('error' in channel) {
      const { reason, message } = channel.error;
      return reason === 'agent_unreachable'
        ? agentUnreachable(this.#instance.nodeId)
        : unavailable(this.#instance.id, `It was not started: ${message}.`);
    }
    await client.news({ type: 'started', instance: this.#instance.id });
    await carry(client, channel, departure);
    if (departure.aborted && isRejection(departure.reason)) return departure.reason;
    return endOf(await channel.ended, this.#instance.id);
  }

  async #audit(action: string, details: Readonly<Record<string, string | number>>): Promise<void> {
    const { store, caller } = this.#request;
    const transaction = store.transaction();
    const subject = { kind: 'Instance', name: this.#instance.id } as const;
    this.#admission.journal.audit(transaction, store.tenantId, caller, action, subject, {
      deployment: this.#instance.deployment,
      ...details,
    });
    await store.commit(transaction);
  }
}

function notAStart(): Rejection {
  return reject('body_malformed', {
    field: 'body',
    received: '(the first message)',
    expected: 'a text message such as {"type": "exec", "command": ["ls"]} within 10 s',
    why: 'The first message does not say what the channel is for.',
  });
}

function recordOf(words: Readonly<Record<string, string>>): NonNullable<ChannelEnd['rejection']> {
  const { code = '', field = '', received: got = '', expected = '', why = '', doc = '' } = words;
  return { code, field, received: got, expected, why, doc };
}

function endOf(
  { exitCode, error }: Awaited<AgentChannel['ended']>,
  instance: string,
): ChannelEnd | Rejection {
  if (error?.reason === 'exec_timeout') return { type: 'end', timedOut: true };
  if (error?.reason === 'exec_left') return { type: 'end', detached: true };
  if (error !== undefined) return unavailable(instance, `It did not come to its end: ${error.message}.`);
  return exitCode === undefined ? { type: 'end' } : { type: 'end', exitCode };
}

function outcomeOf(end: ChannelEnd | Rejection): Readonly<Record<string, string | number>> {
  if (isRejection(end)) return { outcome: end.code };
  if (end.timedOut === true) return { outcome: 'timed out' };
  if (end.detached === true) return { outcome: 'detached' };
  return end.exitCode === undefined ? { outcome: 'done' } : { outcome: 'done', exitCode: end.exitCode };
}
