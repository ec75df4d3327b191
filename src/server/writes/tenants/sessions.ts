import { tokenId } from '../../../core/model/ids.ts';
import type { SessionRecord } from '../../../core/model/session.ts';
import type { SESSION } from '../../../core/operations/session.ts';
import { newSessionId, sessionKey } from '../../access/session.ts';
import type { Stored } from '../../store/collection.ts';
import type { Store } from '../../store/store.ts';
import {
  acceptedOf,
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  type Silent,
} from '../admission.ts';

export interface SessionOpening {
  readonly tokenKey: Buffer;
  readonly lifetimeMs: number;
  readonly cell?: string;
}

/** Sessions are kept in memory by every control plane: one token must not fill it. */
const MAX_PER_TOKEN = 100;
/** More than one only if the limit was lower before; a commit has a bounded number of operations. */
const MAX_ENDED_AT_ONCE = 20;

/** The longest unused of a token that has as many as it may. */
function surplus(store: Store, tokenId: string): readonly Stored<SessionRecord>[] {
  const own = store.listGlobal('sessions').filter(({ record }) => record.tokenId === tokenId);
  if (own.length < MAX_PER_TOKEN) return [];
  return own
    .toSorted(
      (a, b) =>
        Date.parse(a.record.lastUsedAt) - Date.parse(b.record.lastUsedAt) || a.modRevision - b.modRevision,
    )
    .slice(0, Math.min(own.length - MAX_PER_TOKEN + 1, MAX_ENDED_AT_ONCE));
}

const stored = acceptedOf<Silent>();
const closed = acceptedOf<typeof SESSION.close>();

/** A session under a fresh id, never one that the browser brought along. The id goes into the cookie and nowhere else. */
export async function openSession(
  admission: Admission,
  { tokenKey, lifetimeMs, cell }: SessionOpening,
  caller: Caller,
): Promise<{ readonly id: string; readonly outcome: Outcome<Silent>; readonly record?: SessionRecord }> {
  const id = newSessionId(cell);
  const key = sessionKey(tokenKey, id);
  const principal = caller.principal;
  if (principal === undefined) throw new Error('a session is opened with a token');
  let record: SessionRecord | undefined;
  // The answer holds the session's CSRF token, so it is not kept for an Idempotency-Key to replay.
  const { idempotency: _unused, ...withoutReplay } = caller;
  const outcome = await commitAttempts(admission, withoutReplay, () => {
    const now = admission.clock.now();
    record = {
      tokenId: tokenId(principal.tokenId),
      tenantId: principal.tenantId,
      createdAt: now.toISOString(),
      lastUsedAt: now.toISOString(),
      expiresAt: new Date(now.getTime() + lifetimeMs).toISOString(),
    };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('sessions', key, undefined)
      .putGlobal('sessions', key, record);
    for (const ended of surplus(admission.store, principal.tokenId))
      transaction.expectGlobal('sessions', ended.id, ended).deleteGlobal('sessions', ended.id);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'session.opened', {
      kind: 'Token',
      name: principal.tokenId,
    });
    return { answer: stored(201, {}), transaction };
  });
  return { id, outcome, ...(record === undefined ? {} : { record }) };
}

/**
 * Ends the session of this id, if it is one of the caller's own token. One that is over already is no error: a client that signs out
 * wants it to be over.
 */
export async function closeSession(
  admission: Admission,
  tokenKey: Buffer,
  caller: Caller,
  id: string,
): Promise<Outcome<typeof SESSION.close>> {
  const key = sessionKey(tokenKey, id);
  return commitAttempts(admission, caller, () => {
    const stored = admission.store.getGlobal('sessions', key);
    if (stored === undefined || stored.record.tokenId !== caller.principal?.tokenId)
      return { answer: closed(200, { ended: false }) };
    const transaction = caller.tenant
      .transaction()
      .expectGlobal('sessions', key, stored)
      .deleteGlobal('sessions', key);
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'session.closed', {
      kind: 'Token',
      name: stored.record.tokenId,
    });
    return { answer: closed(200, { ended: true }), transaction };
  });
}
