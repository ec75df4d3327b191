import { charactersIn } from '../../../core/model/characters.ts';
import type { token as tokenAnswer } from '../../../core/contract/answers/access.ts';
import { ASSIGNABLE_ROLES, MAX_TOKEN_NAME, type tokenBody } from '../../../core/contract/access-bodies.ts';
import { type Answer, exactly, type Exactly } from '../../../core/schema/shape.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import { tokenId } from '../../../core/model/ids.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { PLATFORM_SLUG, type TokenRecord } from '../../../core/model/tenant.ts';
import { isOneOf } from '../../../core/model/values.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { TOKENS } from '../../../core/operations/tokens.ts';
import { hashSecret, mintToken } from '../../access/token.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

const DEFAULT_TTL = '2160h';
const MAX_TTL_MS = 366 * 24 * 3_600_000;

/** Never the hash: a token is listed by its id. */
type Token = Answer<typeof tokenAnswer>;
const asToken = exactly<Token>();

export function tokenView({ hash: _hash, nextHash: _nextHash, ...token }: TokenRecord): Exactly<Token> {
  return asToken(token);
}

function invalid(field: string, value: unknown, expected: string, why: string): Rejection {
  return reject('token_invalid', { field, received: received(value), expected, why });
}

const created = acceptedOf<typeof TOKENS.create>();
const revoked = acceptedOf<typeof TOKENS.revoke>();

export async function createToken(
  admission: Admission,
  tokenKey: Buffer,
  caller: Caller,
  body: Draft<typeof tokenBody>,
): Promise<Outcome<typeof TOKENS.create>> {
  const { name, role, ttl = DEFAULT_TTL } = body;
  if (name === undefined || name === '' || charactersIn(name) > MAX_TOKEN_NAME) {
    return invalid(
      'name',
      name,
      `1 to ${MAX_TOKEN_NAME} characters`,
      'A token is named, so that its purpose is known when it is revoked.',
    );
  }
  if (role === undefined || !isOneOf(ASSIGNABLE_ROLES, role)) {
    return invalid(
      'role',
      role,
      `one of: ${ASSIGNABLE_ROLES.join(', ')}`,
      'The role is not one that a token can have.',
    );
  }
  if (
    role === 'platform-admin' &&
    (caller.principal?.role !== 'platform-admin' || caller.tenantSlug !== PLATFORM_SLUG)
  ) {
    return reject('role_forbidden', {
      field: 'role',
      received: role,
      why: 'Only a platform administrator, acting for the platform itself, makes platform administrators.',
    });
  }
  if (role === 'metrics' && caller.tenantSlug !== PLATFORM_SLUG) {
    return reject('role_forbidden', {
      field: 'role',
      received: role,
      expected: "a role of a tenant; metrics is one of the platform's tenant",
      why: "Metrics are figures of every tenant, so that only the platform's tenant has tokens that read them.",
    });
  }
  const ttlMs = parseDuration(ttl);
  if (ttlMs === undefined || ttlMs < 1000 || ttlMs > MAX_TTL_MS) {
    return invalid(
      'ttl',
      ttl,
      'a duration from 1s to 8784h (366 days)',
      'The lifetime is not a duration in range.',
    );
  }
  // The answer shows the token once, so it is not kept for an Idempotency-Key to replay.
  const { idempotency: _unused, ...withoutReplay } = caller;
  return commitAttempts(admission, withoutReplay, () => {
    const now = admission.clock.now();
    const id = tokenId(admission.ids.next('token').replace('_', ''));
    const { token, secret } = mintToken('pat', id);
    const record: TokenRecord = {
      id,
      kind: 'pat',
      tenantId: caller.tenant.tenantId,
      role,
      name,
      hash: hashSecret(tokenKey, secret),
      createdAt: now.toISOString(),
      createdBy: caller.principal?.tokenId ?? 'system',
      expiresAt: new Date(now.getTime() + ttlMs).toISOString(),
    };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('tokens', id, undefined)
      .putGlobal('tokens', id, record);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'token.created', {
      kind: 'Token',
      name: id,
    });
    const alterations =
      body.ttl === undefined
        ? [
            {
              field: 'ttl',
              from: '(absent)',
              to: DEFAULT_TTL,
              why: 'tokens expire; 90 days when nothing is said',
            },
          ]
        : [];
    return {
      answer: created(201, { ...tokenView(record), token, alterations, warnings: [], removed: [] }),
      transaction,
    };
  });
}

/** Revoked tokens stay on record, so that the audit log can be read. */
export async function revokeToken(
  admission: Admission,
  caller: Caller,
  id: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof TOKENS.revoke>> {
  return commitAttempts(admission, caller, () => {
    const stored = admission.store.getGlobal('tokens', id);
    if (stored === undefined || stored.record.tenantId !== caller.tenant.tenantId) {
      return reject('token_not_found', {
        field: 'id',
        received: received(id),
        why: 'The tenant has no token of this id.',
      });
    }
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const record = {
      ...stored.record,
      revokedAt: stored.record.revokedAt ?? admission.clock.now().toISOString(),
    };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('tokens', id, stored)
      .putGlobal('tokens', id, record);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'token.revoked', {
      kind: 'Token',
      name: id,
    });
    return {
      answer: revoked(200, { ...tokenView(record), alterations: [], warnings: [], removed: [] }),
      transaction,
    };
  });
}
