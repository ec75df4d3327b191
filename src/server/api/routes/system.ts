import type { EventSubject } from '../../../core/model/event.ts';
import { LONGEST_SAMPLING, SYSTEM } from '../../../core/operations/system.ts';
import type { SystemQuestion } from '../../../core/protocol/peer-messages.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { DiagnosticStream } from '../../diagnostics/diagnostics.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Admission, Caller } from '../../writes/admission.ts';
import { booleanParameter, invalidParameter } from '../paging.ts';
import { type Route, type StreamReply, serve } from '../route.ts';
import { durationParameter, ownLogRequest } from './own-log-request.ts';

/** How the control planes of a store are asked about themselves. */
export interface SystemQuestions {
  /** Of this process, when it is one of several; absent: it is the only one. */
  readonly self: string | undefined;
  /** Of its machine. */
  readonly nodeName: string;
  /** A text: why not now. `member` is the id of another process. */
  ask(
    question: SystemQuestion,
    member?: string,
  ): Promise<DiagnosticStream | string> | DiagnosticStream | string;
}

interface Asking {
  readonly store: TenantStore;
  readonly caller: Caller;
}

const RETRY_SECONDS = 10;

function busy(why: string): Rejection {
  return {
    ...reject('stream_limit_reached', {
      field: 'Authorization',
      received: 'a further one',
      expected: 'one report and 8 followed logs of a control plane at once',
      why: `The control plane cannot serve it: ${why}.`,
    }),
    retryAfterSeconds: RETRY_SECONDS,
  };
}

export function systemRoutes(admission: Admission, questions: SystemQuestions): readonly Route[] {
  /** Undefined: this process. */
  function memberNamed(
    text: string | undefined,
  ): { readonly id?: string; readonly name: string } | Rejection {
    const { self, nodeName } = questions;
    if (text === undefined || text === self || (self === undefined && text === nodeName))
      return { name: nodeName };
    const members = admission.store.listGlobal('control-planes');
    const found = members.filter(({ id, record }) => id === text || record.nodeName === text);
    const [one] = found;
    if (one === undefined || found.length > 1) {
      const known =
        self === undefined ? [nodeName] : members.map(({ id, record }) => `${record.nodeName} (${id})`);
      return invalidParameter(
        'member',
        text,
        `one of ${known.join(', ')}${found.length > 1 ? ', by its id' : ''}`,
      );
    }
    return one.id === self ? { name: nodeName } : { id: one.id, name: one.record.nodeName };
  }

  /** The audit line is stored before anything is sent. */
  async function answer(
    { store, caller }: Asking,
    member: string | undefined,
    question: SystemQuestion,
    details: Readonly<Record<string, string | number>>,
  ): Promise<StreamReply | Rejection> {
    const named = memberNamed(member);
    if (isRejection(named)) return named;
    const asking = store.transaction();
    const subject: EventSubject = { kind: 'ControlPlane', name: named.name };
    const action = question.kind === 'log' ? 'system.log_read' : 'system.debugged';
    admission.journal.audit(asking, store.tenantId, caller, action, subject, details);
    await store.commit(asking);
    const stream = await questions.ask(question, named.id);
    if (typeof stream === 'string') return busy(stream);
    return { status: 200, contentType: 'text/event-stream; charset=utf-8', stream };
  }

  return [
    serve(SYSTEM.logs, (request) => {
      const asked = ownLogRequest(request.query);
      if (isRejection(asked)) return asked;
      const { follow, level, forMs } = asked;
      const details = follow ? { level, seconds: Math.round(forMs / 1000) } : { level };
      return answer(request, request.query.member, { kind: 'log', ...asked }, details);
    }),
    serve(SYSTEM.debug, (request) => {
      const { query } = request;
      const profile = booleanParameter(query, 'profile');
      if (isRejection(profile)) return profile;
      const forMs = durationParameter('for', query.for, LONGEST_SAMPLING) ?? 0;
      if (isRejection(forMs)) return forMs;
      const details = { seconds: Math.round(forMs / 1000), profile: String(profile) };
      return answer(request, query.member, { kind: 'debug', forMs, profile }, details);
    }),
  ];
}
