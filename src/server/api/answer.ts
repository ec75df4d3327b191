import { createHash } from 'node:crypto';
import { isRecord } from '../../core/model/values.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { checkBody } from '../../core/schema/shape.ts';
import type { Principal } from '../access/principal.ts';
import type { Guard } from '../store/kv.ts';
import type { Answering, Caller } from '../writes/admission.ts';
import { CommitProof } from '../writes/commit-proof.ts';
import { AcceptedText } from './accepted-text.ts';
import { admitRequest, type Counted, credentialRejection, principalOfRequest } from './admit-request.ts';
import type { ApiContext } from './api-context.ts';
import { parseBody } from './body.ts';
import { idempotencyKeyRejection, sourceOf } from './headers.ts';
import { faultRejection } from './refusals.ts';
import { send, sendRejection, sendRejections, statusOf } from './replies.ts';
import type { ApiReply, ApiRequest } from './request-parts.ts';
import { JsonText, lasts, Rejections, type Reply, type Route } from './route.ts';
import { openSocket, socketRejection } from './sockets.ts';
import { sendStream } from './stream.ts';
import { unavailable } from './unavailable.ts';

/** The answer is from what is known here; the store could not be asked for what is newest. */
const STALE = 'berth-stale';

const NO_BYTES = Buffer.alloc(0);

function bodyOf(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  charge: (requests: number) => void,
): { readonly value: unknown } | Rejection {
  const bytes = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  if (route.body === undefined) return { value: undefined };
  if (bytes.length === 0 && route.body.optional) return { value: undefined };
  const parsed = parseBody(bytes, request.headers['content-type'], route.body, {
    maxDepth: context.options.limits.jsonDepth,
    charge,
  });
  if (isRejection(parsed) || route.body.unchecked) return parsed;
  return checkBody(route.body.shape, parsed.value) ?? parsed;
}

function idempotencyOf(route: Route, request: ApiRequest): Caller['idempotency'] | Rejection {
  const key = request.headers['idempotency-key'];
  if (route.method !== 'POST' || typeof key !== 'string') return undefined;
  const malformed = idempotencyKeyRejection(key);
  if (malformed) return malformed;
  const body = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  return {
    id: createHash('sha256').update(key).digest('hex'),
    requestDigest: createHash('sha256')
      .update(`${request.method} ${request.url}\n`)
      .update(body)
      .digest('hex'),
  };
}

/** Known once the request was admitted. */
interface Asked extends Counted {
  principal?: Principal;
  /** It is judged by the view as it is. */
  readonly sole?: Guard;
  proof?: CommitProof;
  /** What it was answered with before the handler returned. */
  sent?: { readonly status: number; readonly line: string };
}

/** Until its connection or its answer is over. */
function takeStream({ streams }: ApiContext, principal: Principal, { raw }: ApiReply): Rejection | undefined {
  // Its end would go unnoticed.
  if (raw.destroyed) return undefined;
  const taken = streams.take(principal);
  if (isRejection(taken)) return taken;
  raw.once('close', taken);
  return undefined;
}

function serve(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: ApiReply,
  asked: Asked,
): Promise<Reply> | Reply {
  const admitted = admitRequest(context, route, request, reply, asked);
  if (isRejection(admitted)) return admitted;
  const { store } = context.options.access;
  if (asked.sole) asked.proof = new CommitProof(store, asked.sole, admitted.principal, admitted.tenant.id);
  const unread =
    socketRejection(route, request, context.options.baseUrl) ?? context.unread.refusal(admitted.principal);
  if (unread) return unread;
  asked.principal = admitted.principal;
  const refused = lasts(route, request.headers) ? takeStream(context, admitted.principal, reply) : undefined;
  if (refused) return refused;
  const idempotency = idempotencyOf(route, request);
  if (isRejection(idempotency)) return idempotency;
  const body = bodyOf(context, route, request, admitted.charge);
  if (isRejection(body)) return body;
  const caller: Caller = {
    principal: admitted.principal,
    requestId: admitted.requestId,
    tenant: admitted.store,
    tenantSlug: admitted.tenant.slug,
    ...sourceOf(request.raw),
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(asked.proof && { proof: asked.proof }),
  };
  return route.handle({
    ...admitted,
    caller,
    body: body.value,
    ...(route.method !== 'GET' && { answering: answering(reply, asked) }),
  });
}

/** Rules compare the revisions that a header names; the client is shown the header that it sent. */
function asReceived({ headers }: ApiRequest, rejection: Rejection): Rejection {
  const sent = headers['if-match'];
  return rejection.field === 'If-Match' && sent !== undefined
    ? { ...rejection, received: received(sent) }
    : rejection;
}

/** Refused for who asks, not for what is asked. */
const REFUSED_FOR_WHO: ReadonlySet<string> = new Set([
  'unauthenticated',
  'join_token_invalid',
  'csrf_token_invalid',
  'role_forbidden',
  'tenant_forbidden',
]);

export function noteRefusal(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  { code }: Rejection,
): void {
  const { onRefusal, access } = context.options;
  if (onRefusal === undefined || !REFUSED_FOR_WHO.has(code)) return;
  const principal = principalOfRequest(context, request, false);
  onRefusal({
    at: access.clock.now().toISOString(),
    code,
    method: route.method,
    path: route.path,
    ...sourceOf(request.raw),
    ...(isRejection(principal) ? {} : { tokenId: principal.tokenId }),
    requestId: request.id,
  });
}

/** The line of an accepted write. */
function tell(
  { options }: ApiContext,
  { method, path }: Route,
  { id }: ApiRequest,
  status: number,
  more: string,
): void {
  // An id of a request is plain text, whoever chose it (`requestIdOf`).
  const members = `"requestId":"${id}","method":"${method}","path":"${path}","status":${status}${more}`;
  const say = options.line ?? ((text, message) => options.log.info(JSON.parse(`{${text}}`), message));
  say(members, 'accepted');
}

/** Answers with the body to send. */
function tellAccepted(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  { status, body }: { readonly status: number; readonly body: unknown },
): unknown {
  if (!context.options.log.isLevelEnabled('info')) return body;
  const accepted = isRecord(body) && !(body instanceof JsonText) ? new AcceptedText(body) : undefined;
  tell(context, route, request, status, accepted?.line ?? '');
  return accepted === undefined ? body : new JsonText(accepted.text());
}

/** Written out while the commit is, and sent before anybody else hears of it: a client that waits for one answer after another waits for less. */
function answering(reply: ApiReply, asked: Asked): Answering {
  return ({ status, body }) => {
    const accepted = new AcceptedText(body, true);
    return (revision) => {
      if (reply.raw.headersSent) return;
      asked.sent = { status, line: accepted.line };
      send(reply, status, new JsonText(accepted.text(revision)), { etag: `"${revision}"` });
    };
  };
}

function deliver<R extends ApiReply>(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: R,
  { result, start, principal, sent }: Asked & { readonly result: Reply; readonly start: number },
): R | Promise<R> {
  if ('stream' in result)
    return sendStream(
      request,
      reply,
      result,
      () => !isRejection(principalOfRequest(context, request, false)),
      (bytes) => principal !== undefined && context.unread.hold(reply.raw, principal, bytes),
    );
  if ('converse' in result)
    return openSocket(request, reply, result, {
      baseUrl: context.options.baseUrl,
      credential: () => credentialRejection(context, route, request),
    });
  const status = sent?.status ?? (isRejection(result) ? statusOf(result) : result.status);
  context.options.metrics.request(route, status, (performance.now() - start) / 1000);
  if (sent !== undefined) {
    if (context.options.log.isLevelEnabled('info')) tell(context, route, request, status, sent.line);
    if (principal !== undefined) context.unread.follow(reply.raw, principal);
    return reply;
  }
  if (result instanceof Rejections) return sendRejections(context, request, reply, result.rejections);
  if (isRejection(result)) {
    noteRefusal(context, route, request, result);
    return sendRejection(context, request, reply, asReceived(request, result));
  }
  let { body } = result;
  if (route.method !== 'GET') body = tellAccepted(context, route, request, result);
  else if (context.options.log.isLevelEnabled('debug'))
    context.options.log.debug(
      { requestId: request.id, path: route.path, status, ms: performance.now() - start },
      'read',
    );
  const headers = reply.hasHeader(STALE) ? { ...result.headers, [STALE]: 'true' } : result.headers;
  send(reply, result.status, body, headers);
  if (principal !== undefined) context.unread.follow(reply.raw, principal);
  return reply;
}

/** A read that is answered from the view takes no turn of the event loop: it is answered at once. */
export function answer<R extends ApiReply>(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: R,
  counted: Counted = {},
): R | Promise<R> {
  const start = performance.now();
  const asked: Asked = { ...counted };
  const respond = (result: Reply) => deliver(context, route, request, reply, { ...asked, result, start });
  const failed = (error: unknown) => respond(faultRejection(context, request, error));
  try {
    const result = serve(context, route, request, reply, asked);
    return result instanceof Promise ? result.then(respond, failed) : respond(result);
  } catch (error) {
    return failed(error);
  }
}

const storeAway = (): Rejection =>
  unavailable('The store does not answer, so nothing can be decided on its newest state; /healthz says why.');

/** What it is judged by are records of the view; an idempotency key has an answer in the store, and a query may ask for more than the commit. */
function isProvable({ isProvable: is }: Route, { headers, url }: ApiRequest): boolean {
  return (
    is === true &&
    headers.authorization !== undefined &&
    headers['idempotency-key'] === undefined &&
    !url.includes('?')
  );
}

/** Judged by the view as it is; undefined: the commit did not prove that, and nothing was stored. */
async function answerProven<R extends ApiReply>(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: R,
  asked: Asked,
): Promise<R | undefined> {
  const start = performance.now();
  let result: Reply;
  try {
    result = await serve(context, route, request, reply, asked);
  } catch (error) {
    if (asked.proof?.wasSent !== true) return undefined;
    // Whether it was stored is not known. That the store is away is: the next request need not find it out.
    void context.options.fresh?.();
    result = faultRejection(context, request, error);
    return deliver(context, route, request, reply, { ...asked, result, start });
  }
  if (asked.proof?.isStored !== true) return undefined;
  return deliver(context, route, request, reply, { ...asked, result, start });
}

/** A read is answered from what is known, and says so, while the store is away; a write is not decided on what may be old. */
export async function answerFresh<R extends ApiReply>(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: R,
): Promise<R> {
  const { fresh, sole, ready } = context.options;
  const counted: Counted = {};
  const guard = ready() && isProvable(route, request) ? sole?.() : undefined;
  if (guard !== undefined) {
    const asked: Asked = { sole: guard };
    const proven = await answerProven(context, route, request, reply, asked);
    if (proven !== undefined) return proven;
    counted.isCounted = asked.isCounted === true;
  }
  if (fresh !== undefined && ready() && !(await fresh())) {
    if (route.method !== 'GET') return sendRejection(context, request, reply, storeAway());
    void reply.header(STALE, 'true');
  }
  return answer(context, route, request, reply, counted);
}
