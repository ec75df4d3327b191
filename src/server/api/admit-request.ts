import type { ServerResponse } from 'node:http';
import { type ApiReply, type ApiRequest, paramsOf, queryOf } from './request-parts.ts';
import { nearest } from '../../core/schema/nearest.ts';
import { allows, type Permission, rolesThatMay } from '../../core/model/permission.ts';
import type { Tenant } from '../../core/model/tenant.ts';
import { received, redacted } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import { type Rejection, rejectionBody } from '../../core/rejections/rejection.ts';
import { authenticate, tenantActedFor } from '../access/authenticate.ts';
import {
  csrfRejection,
  findSession,
  sessionEndedRejection,
  sessionIdOf,
  settingsFor,
  touchSession,
} from '../access/session.ts';
import type { Principal } from '../access/principal.ts';
import { duplicateHeader, hostRejection } from './headers.ts';
import { baseUrlOf } from './replies.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { Route, RouteRequest } from './route.ts';
import type { ApiContext } from './api-context.ts';
import { unavailable } from './unavailable.ts';

export function queryRejection(
  route: Pick<Route, 'query'>,
  query: Readonly<Record<string, unknown>>,
): Rejection | undefined {
  const known = Object.keys(route.query ?? {});
  for (const [name, value] of Object.entries(query)) {
    if (known.includes(name) && typeof value === 'string') continue;
    if (known.includes(name)) {
      return reject('query_parameter_invalid', {
        field: name,
        received: received(value),
        expected: 'the parameter once',
        why: `The query parameter ${name} was sent more than once.`,
      });
    }
    const near = nearest(name, known);
    const list = known.length === 0 ? 'this route takes no query parameters' : `one of: ${known.join(', ')}`;
    return reject('query_parameter_unknown', {
      field: name,
      received: received(value),
      expected: list,
      why:
        near === undefined
          ? `There is no query parameter ${name} here.`
          : `There is no query parameter ${name} here; did you mean ${near}?`,
    });
  }
  return undefined;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function tenantAssertion(
  route: Route,
  request: ApiRequest,
): { readonly field: string; readonly value: string } | undefined | Rejection {
  const header = request.headers['x-tenant-id'];
  const value = typeof header === 'string' && header !== '' ? header : undefined;
  if (route.tenant === 'header' && value === undefined) {
    return reject('dvm_recommendation_tenant_required', {
      field: 'X-Tenant-ID',
      received: '(absent)',
      why: 'Recommendations are read for one tenant, which this header names.',
    });
  }
  if (route.tenant === 'header-uuid' && (value === undefined || !UUID.test(value))) {
    return reject('node_claim_release_no_tenant', {
      field: 'X-Tenant-ID',
      received: received(value),
      why: 'A claim is released per tenant; the header holds the UUID of the releasing tenant.',
    });
  }
  return value === undefined ? undefined : { field: 'X-Tenant-ID', value };
}

function tenantOf(
  { options }: ApiContext,
  route: Route,
  principal: Principal,
  request: ApiRequest,
): Tenant | Rejection {
  const asserted = tenantAssertion(route, request);
  if (isRejection(asserted)) return asserted;
  const { store } = options.access;
  const addressed = tenantInAddress(route, request);
  if (addressed === undefined) return tenantActedFor(store, principal, asserted);
  const inAddress = tenantActedFor(store, principal, { field: 'tenant', value: addressed });
  if (isRejection(inAddress) || asserted === undefined) return inAddress;
  const inHeader = tenantActedFor(store, principal, asserted);
  if (isRejection(inHeader) || inHeader.id === inAddress.id) return inHeader;
  return reject('tenant_forbidden', {
    field: 'X-Tenant-ID',
    received: received(asserted.value),
    why: 'The header and the address name two tenants.',
  });
}

/** In the path, or in the query of a WebSocket, with which a page cannot send a header. */
function tenantInAddress(route: Route, request: ApiRequest): string | undefined {
  if (route.tenant === 'path') return paramsOf(request)['tenant'] ?? '';
  const named: unknown = route.socket === undefined ? undefined : queryOf(request)['tenant'];
  // Given twice it is a list, and refused with the query.
  return typeof named === 'string' ? named : undefined;
}

/**
 * Authorization, or else the cookie of a session: a client that sends both means the header. Whether the credential still
 * holds is asked again while a stream lasts.
 */
export function principalOfRequest(
  { options }: ApiContext,
  request: ApiRequest,
  isUse = true,
): Principal | Rejection {
  const { access, sessions } = options;
  const { authorization, cookie } = request.headers;
  const id =
    authorization === undefined ? sessionIdOf(settingsFor(sessions, request.headers), cookie) : undefined;
  if (id === undefined) return authenticate(access, authorization);
  const session = findSession(access, sessions, id);
  if (session === undefined) return sessionEndedRejection();
  const forged =
    request.method === 'GET' ? undefined : csrfRejection(access.tokenKey, session, request.headers);
  if (forged) return forged;
  // That a stream is still open is no use: it would keep a forgotten tab signed in.
  if (isUse) touchSession(access, sessions, session);
  return session.principal;
}

function wantedPermissions(permission: Route['permission']): readonly Permission[] {
  return typeof permission === 'string' ? [permission] : permission;
}

export function permitted(principal: Principal, permission: Route['permission']): boolean {
  // A join token enrols and does nothing else, whatever role it was made with.
  if (principal.kind === 'join') return wantedPermissions(permission).includes('node.enrol');
  return typeof permission === 'string'
    ? allows(principal.role, permission)
    : permission.some((one) => allows(principal.role, one));
}

function forbidden(role: Principal['role'], permission: Route['permission']): Rejection {
  return reject('role_forbidden', {
    field: 'Authorization',
    received: role,
    expected: `a credential with a role that permits the operation: ${rolesThatMay(wantedPermissions(permission)).join(', ')}`,
    why: `The role ${role} may not do this (${String(permission)}).`,
  });
}

/** Of a part of a request that needs more than the route does. */
export function permissionRejection(principal: Principal, permission: Permission): Rejection | undefined {
  return permitted(principal, permission) ? undefined : forbidden(principal.role, permission);
}

/** Whether what was admitted would still be, while it lasts. */
export function credentialRejection(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
): Rejection | undefined {
  const principal = principalOfRequest(context, request, false);
  if (isRejection(principal)) return principal;
  if (!permitted(principal, route.permission)) return forbidden(principal.role, route.permission);
  const tenant = tenantOf(context, route, principal, request);
  return isRejection(tenant) ? tenant : undefined;
}

const starting = (): Rejection =>
  unavailable('The control plane is starting and has not read its store yet; /healthz says why.');

/** `who` sends: a token, or, where none is asked for, an address. */
export function rateRejection(
  limiter: RateLimiter,
  key: string,
  { authorization }: { readonly authorization?: string | undefined },
  who: 'token' | 'address' = 'token',
): Rejection | undefined {
  const wait = limiter.retryAfterSeconds(key);
  if (wait === undefined) return undefined;
  const { perSecond, burst } = limiter.limit;
  return {
    ...reject('rate_limited', {
      field: 'Authorization',
      received: redacted(authorization),
      expected: `at most ${perSecond} requests per second, ${burst} in a burst`,
      why: `This ${who} sends too fast; wait ${wait} s.`,
    }),
    retryAfterSeconds: wait,
  };
}

/** A request that is judged a second time is not a second request. */
export interface Counted {
  isCounted?: boolean;
}

export function admitRequest(
  context: ApiContext,
  route: Route,
  request: ApiRequest,
  reply: ApiReply,
  counted: Counted,
): Omit<RouteRequest, 'body' | 'caller'> | Rejection {
  const { options, limiter } = context;
  if (!options.ready()) return starting();
  const { raw } = request;
  // As many names as lines: none came twice.
  const once = Object.keys(raw.headers).length * 2 === raw.rawHeaders.length;
  const malformed = (once ? undefined : duplicateHeader(raw.rawHeaders)) ?? hostRejection(raw);
  if (malformed) return malformed;
  const principal = principalOfRequest(context, request);
  if (isRejection(principal)) return principal;
  const isAgain = counted.isCounted === true;
  const tooFast = isAgain ? undefined : rateRejection(limiter, principal.tokenId, request.headers);
  if (tooFast) return tooFast;
  counted.isCounted = true;
  // Before the tenant and its header: a caller without the permission does not learn how to ask.
  if (!permitted(principal, route.permission)) return forbidden(principal.role, route.permission);
  const tenant = tenantOf(context, route, principal, request);
  if (isRejection(tenant)) return tenant;
  const query = queryOf(request);
  const unknown = request.url.includes('?') ? queryRejection(route, query) : undefined;
  if (unknown) return unknown;
  return {
    principal,
    tenant,
    store: options.access.store.forTenant(tenant.id),
    params: paramsOf(request),
    query,
    headers: request.headers,
    requestId: request.id,
    departure: departure(context, request, reply.raw),
    words: (rejection) => rejectionBody(rejection, baseUrlOf(request, options.baseUrl)),
    charge: (requests) => isAgain || limiter.charge(principal.tokenId, requests),
  };
}

/** A revoked token and a session that is over end what they opened within this time. */
export const CREDENTIAL_CHECK_MS = 900;

/**
 * Made only when asked for: most requests are answered before anybody could go away. Its reason is the rejection when the credential
 * ended meanwhile.
 */
function departure(context: ApiContext, request: ApiRequest, response: ServerResponse): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => {
    if (controller !== undefined) return controller.signal;
    const created = new AbortController();
    controller = created;
    const check = setInterval(() => {
      const principal = principalOfRequest(context, request, false);
      if (isRejection(principal)) created.abort(principal);
    }, CREDENTIAL_CHECK_MS);
    created.signal.addEventListener('abort', () => clearInterval(check), { once: true });
    // The answer's, not the request's: that is over when its body has been read.
    const leave = (): void => {
      clearInterval(check);
      if (!response.writableFinished) created.abort();
    };
    response.once('close', leave);
    if (response.destroyed || response.closed) leave();
    return created.signal;
  };
}
