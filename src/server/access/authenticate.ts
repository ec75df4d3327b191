import { received, redacted } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Tenant, TokenRecord } from '../../core/model/tenant.ts';
import { PLATFORM_SLUG } from '../../core/model/tenant.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Clock } from '../clock.ts';
import { idOf } from '../store/record-ids.ts';
import type { Stored } from '../store/collection.ts';
import type { Store } from '../store/store.ts';
import type { Principal } from './principal.ts';
import { steadyMs } from './steady-time.ts';
import { matchesHash, parseToken } from './token.ts';

/** The bootstrap token may be any text, so it has an id of its own. */
export const BOOTSTRAP_TOKEN_ID = 'bootstrap';

export interface AccessDependencies {
  readonly store: Store;
  readonly tokenKey: Buffer;
  readonly clock: Clock;
  readonly proven: ProvenTokens;
}

const MAX_PROVEN = 10_000;

interface Proof {
  readonly principal: Principal;
  /** Another object when anything of it changed, also where a store that was set back uses a revision again. */
  readonly stored: Stored<TokenRecord>;
}

/**
 * Authorization headers whose token was compared with its stored hash, so that a busy client does not pay for that with
 * every request. Bound to the revision of the record: a token that was revoked or replaced is compared again.
 */
export class ProvenTokens {
  readonly #proofs = new Map<string, Proof>();

  find(header: string): Proof | undefined {
    return this.#proofs.get(header);
  }

  add(header: string, principal: Principal, stored: Stored<TokenRecord>): void {
    if (this.#proofs.size >= MAX_PROVEN) this.#proofs.clear();
    this.#proofs.set(header, { principal, stored });
  }
}

function unauthenticated(header: string | undefined, why: string): Rejection {
  return reject('unauthenticated', { field: 'Authorization', received: redacted(header), why });
}

/** Unknown, used, expired or for another name: one answer, so that nothing can be learned by trying. */
export function joinTokenInvalid(header: string | undefined): Rejection {
  return reject('join_token_invalid', {
    field: 'Authorization',
    received: redacted(header),
    why: 'The join token is not known, was used, has expired or is for another node.',
  });
}

export function usable(record: TokenRecord, clock: Clock): boolean {
  if (record.revokedAt !== undefined) return false;
  if (record.expiresAt === undefined) return true;
  const nowMs = record.kind === 'node' ? steadyMs(clock) : clock.now().getTime();
  return Date.parse(record.expiresAt) > nowMs;
}

interface Candidate {
  readonly stored: Stored<TokenRecord>;
  readonly secret: string;
}

/** The bootstrap token may be any text, one that has the form of a token included. */
function candidateOf(store: Store, text: string): Candidate | undefined {
  const parsed = parseToken(text);
  const named = parsed && store.getGlobal('tokens', parsed.id);
  if (parsed && named && parsed.id !== BOOTSTRAP_TOKEN_ID) return { stored: named, secret: parsed.secret };
  const bootstrap = store.getGlobal('tokens', BOOTSTRAP_TOKEN_ID);
  return bootstrap && { stored: bootstrap, secret: text };
}

function isSecretOf(tokenKey: Buffer, secret: string, { hash, nextHash }: TokenRecord): boolean {
  return (
    matchesHash(tokenKey, secret, hash) || (nextHash !== undefined && matchesHash(tokenKey, secret, nextHash))
  );
}

/** A caller that has the secret may know that it was valid once. */
function endedNode(
  { kind, expiresAt, revokedAt, nodeName }: TokenRecord,
  header: string,
): Rejection | undefined {
  if (kind !== 'node' || revokedAt !== undefined || nodeName === undefined) return undefined;
  return unauthenticated(
    header,
    `The credential of node ${nodeName} ended at ${expiresAt}, while the node was away. Make a join token for it (berth node token --name ${nodeName}) and start its agent with that line once, with the same data folder: key, containers and volumes stay.`,
  );
}

const UNKNOWN = 'The token is not known, has expired or was revoked.';

/** The same answer for an unknown, expired, revoked or mistyped token: nothing to learn from it. */
export function authenticate(
  { store, tokenKey, clock, proven }: AccessDependencies,
  header: string | undefined,
): Principal | Rejection {
  if (header === undefined) return unauthenticated(header, 'The request has no Authorization header.');
  const proof = proven.find(header);
  const known = proof && store.getGlobal('tokens', proof.principal.tokenId);
  if (proof && known === proof.stored && usable(known.record, clock)) return proof.principal;
  const text = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (text === undefined) return unauthenticated(header, 'The Authorization header is not "Bearer <token>".');
  const unknown = (): Rejection =>
    parseToken(text)?.kind === 'join' ? joinTokenInvalid(header) : unauthenticated(header, UNKNOWN);
  const candidate = candidateOf(store, text);
  if (candidate === undefined) return unknown();
  const { record } = candidate.stored;
  if (!isSecretOf(tokenKey, candidate.secret, record)) return unknown();
  if (!usable(record, clock)) return endedNode(record, header) ?? unknown();
  const principal = principalOf(record);
  proven.add(header, principal, candidate.stored);
  return principal;
}

export function principalOf({ id, kind, role, tenantId }: TokenRecord): Principal {
  return { tokenId: id, kind, role, tenantId };
}

/** By UUID, in either case as RFC 9562 asks of readers, or by slug. */
export function findTenant(store: Store, text: string): Tenant | undefined {
  const direct = store.getGlobal('tenants', text.toLowerCase())?.record;
  if (direct) return direct;
  const slug = store.getGlobal('tenant-slugs', idOf('tenant-slugs', text))?.record;
  return slug === undefined ? undefined : store.getGlobal('tenants', slug.tenantId)?.record;
}

/** Of a deleted tenant it is said what is left of it. Only for platform administrators: they may know of every tenant. */
export function tenantNotFound(store: Store, field: string, value: string): Rejection {
  const erasing = store
    .listGlobal('tenant-erasures')
    .find(({ id, record }) => id === value.toLowerCase() || record.slug === value)?.record;
  return reject('tenant_not_found', {
    field,
    received: received(value),
    why:
      erasing?.problem === undefined
        ? 'There is no tenant of this id or slug.'
        : `The tenant was deleted at ${erasing.requestedAt}. Its secret material is still in the secrets store, and removing it is tried again: ${erasing.problem}.`,
  });
}

function tenantGone({ tokenId }: Principal): Rejection {
  const why = 'The tenant of this token no longer exists.';
  return reject('unauthenticated', { field: 'Authorization', received: tokenId, why });
}

/** `X-Tenant-ID` and path tenants are assertions, compared with the credential; only platform administrators choose. */
export function tenantActedFor(
  store: Store,
  principal: Principal,
  assertion: { readonly field: string; readonly value: string } | undefined,
): Tenant | Rejection {
  const own = store.getGlobal('tenants', principal.tenantId)?.record;
  if (assertion === undefined) return own ?? tenantGone(principal);
  const named = findTenant(store, assertion.value);
  if (principal.role === 'platform-admin') {
    return named ?? tenantNotFound(store, assertion.field, assertion.value);
  }
  // A tenant that does not exist and another's tenant get the same answer.
  if (named === undefined || own === undefined || named.id !== own.id) {
    return reject('tenant_forbidden', {
      field: assertion.field,
      received: received(assertion.value),
      ...(assertion.field === 'tenant' ? { expected: 'the tenant of the credential in the path' } : {}),
      why: 'The credential belongs to another tenant than the one named.',
    });
  }
  return own;
}

export function platformTenantId(store: Store): TenantId | undefined {
  return store.getGlobal('tenant-slugs', PLATFORM_SLUG)?.record.tenantId;
}
