import { SESSION } from '../../../core/operations/session.ts';
import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { session, sessionEnded } from '../../../core/contract/answers/access.ts';
import { optional } from '../../../core/model/values.ts';
import { PERMISSIONS } from '../../../core/model/permission.ts';
import { redacted } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import {
  csrfToken,
  findSession,
  sessionCookie,
  sessionIdOf,
  type SessionSettings,
  settingsFor,
} from '../../access/session.ts';
import type { Admission } from '../../writes/admission.ts';
import { closeSession, openSession } from '../../writes/tenants/sessions.ts';
import { RateLimiter } from '../rate-limit.ts';
import { type ReplyTo, type RequestFor, type Route, type RouteRequest, serve } from '../route.ts';

type Caller = Pick<RouteRequest, 'principal' | 'tenant'>;
const asSession = exactly<Answer<typeof session>>();
const asEnded = exactly<Answer<typeof sessionEnded>>();

/** Who calls and what they may do; the dashboard shows only what would not be refused. */
function whoCalls(store: Admission['store'], { principal, tenant }: Caller): Answer<typeof session> {
  const name = store.getGlobal('tokens', principal.tokenId)?.record.name;
  return {
    tokenId: principal.tokenId,
    ...(name === undefined ? {} : { tokenName: name }),
    role: principal.role,
    permissions: PERMISSIONS[principal.role],
    tenant: { id: tenant.id, slug: tenant.slug, name: tenant.name },
  };
}

/** A session that could open the next one would outlive every lifetime. */
function tokenRequired(): Rejection {
  return reject('unauthenticated', {
    field: 'Authorization',
    received: '(absent)',
    why: 'A session is opened with a token, not with another session.',
  });
}

/** Each is a record and a line of the audit: a loop would fill the disk. */
function tooManySignIns(authorization: string, perMinute: number, wait: number): Rejection {
  return {
    ...reject('rate_limited', {
      field: 'Authorization',
      received: redacted(authorization),
      expected: `at most ${perMinute} sign-ins per minute and token`,
      why: `This token signs in too often; wait ${wait} s.`,
    }),
    retryAfterSeconds: wait,
  };
}

/** Sign-in and sign-out of a browser. The token is sent once, as Authorization; from then on the cookie stands for it. */
export function sessionRoutes(
  admission: Admission,
  tokenKey: Buffer,
  settings: SessionSettings & { readonly signInsPerMinute: number },
): Route[] {
  let limiter: RateLimiter | undefined;
  const signIns = (): RateLimiter => {
    const { signInsPerMinute: burst } = settings;
    limiter ??= new RateLimiter({ perSecond: burst / 60, burst }, admission.clock);
    return limiter;
  };
  const idOf = ({ headers }: Pick<RouteRequest, 'headers'>) =>
    sessionIdOf(settingsFor(settings, headers), headers.cookie);
  const withSession = (request: Caller, id: string, expiresAt: string) =>
    asSession({ ...whoCalls(admission.store, request), expiresAt, csrfToken: csrfToken(tokenKey, id) });
  const current = (request: RequestFor<typeof SESSION.read>): ReplyTo<typeof SESSION.read> => {
    // With both, Authorization is what the request was admitted by.
    const id = request.headers.authorization === undefined ? idOf(request) : undefined;
    const access = { store: admission.store, tokenKey, clock: admission.clock };
    const session = id === undefined ? undefined : findSession(access, settings, id);
    return {
      status: 200,
      body:
        session === undefined
          ? asSession(whoCalls(admission.store, request))
          : withSession(request, session.id, session.stored.record.expiresAt),
    };
  };
  return [
    serve(SESSION.open, async (request) => {
      const { authorization } = request.headers;
      if (authorization === undefined) return tokenRequired();
      const wait = signIns().retryAfterSeconds(request.principal.tokenId);
      if (wait !== undefined) return tooManySignIns(authorization, settings.signInsPerMinute, wait);
      const { id, outcome, record } = await openSession(
        admission,
        { tokenKey, lifetimeMs: settings.lifetimeMs, ...optional('cell', settings.cell) },
        request.caller,
      );
      if (isRejection(outcome)) return outcome;
      return {
        status: 201,
        body: withSession(request, id, record?.expiresAt ?? ''),
        headers: { 'set-cookie': sessionCookie(settingsFor(settings, request.headers), id) },
      };
    }),
    serve(SESSION.read, current),
    serve(SESSION.close, async (request) => {
      const id = idOf(request);
      const outcome =
        id === undefined
          ? { body: asEnded({ ended: false }) }
          : await closeSession(admission, tokenKey, request.caller, id);
      if (isRejection(outcome)) return outcome;
      return {
        status: 200,
        body: asEnded(outcome.body),
        headers: { 'set-cookie': sessionCookie(settingsFor(settings, request.headers), '') },
      };
    }),
  ];
}
