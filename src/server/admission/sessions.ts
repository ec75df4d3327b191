import type { SessionRecord } from '../../core/model/session.ts';
import { newSessionId, sessionKey } from '../access/session.ts';
import { type Admission, type Caller, commitAttempts, type Outcome } from './admission.ts';

export interface SessionOpening {
  readonly tokenKey: Buffer;
  readonly lifetimeMs: number;
}

/** A session under a fresh id, never one that the browser brought along. The id goes into the cookie and nowhere else. */
export async function openSession(
  admission: Admission,
  { tokenKey, lifetimeMs }: SessionOpening,
  caller: Caller,
): Promise<{ readonly id: string; readonly outcome: Outcome; readonly record?: SessionRecord }> {
  const id = newSessionId();
  const key = sessionKey(tokenKey, id);
  const principal = caller.principal;
  if (principal === undefined) throw new Error('a session is opened with a token');
  let record: SessionRecord | undefined;
  // The answer holds the session's CSRF token, so it is not kept for an Idempotency-Key to replay.
  const { idempotency: _unused, ...withoutReplay } = caller;
  const outcome = await commitAttempts(admission, withoutReplay, () => {
    const now = admission.clock.now();
    record = {
      tokenId: principal.tokenId as SessionRecord['tokenId'],
      tenantId: principal.tenantId,
      createdAt: now.toISOString(),
      lastUsedAt: now.toISOString(),
      expiresAt: new Date(now.getTime() + lifetimeMs).toISOString(),
    };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('sessions', key, undefined)
      .putGlobal('sessions', key, record);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'session.opened', {
      kind: 'Token',
      name: principal.tokenId,
    });
    return { answer: { status: 201, body: {} }, transaction };
  });
  return { id, outcome, ...(record === undefined ? {} : { record }) };
}

/** Ends the session of this id. One that is over already is no error: whoever signs out wants it to be over. */
export async function closeSession(
  admission: Admission,
  tokenKey: Buffer,
  caller: Caller,
  id: string,
): Promise<Outcome> {
  const key = sessionKey(tokenKey, id);
  return commitAttempts(admission, caller, () => {
    const stored = admission.store.getGlobal('sessions', key);
    if (stored === undefined) return { answer: { status: 200, body: { ended: false } } };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('sessions', key, stored)
      .deleteGlobal('sessions', key);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'session.closed', {
      kind: 'Token',
      name: stored.record.tokenId,
    });
    return { answer: { status: 200, body: { ended: true } }, transaction };
  });
}
