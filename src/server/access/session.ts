import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { redacted } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { SessionRecord } from '../../core/model/session.ts';
import type { Stored } from '../store/collection.ts';
import { Transaction } from '../store/transaction.ts';
import { type AccessDependencies, principalOf, usable } from './authenticate.ts';
import type { Principal } from './principal.ts';

export interface SessionSettings {
  readonly idleMs: number;
  readonly lifetimeMs: number;
  /** Where there are several: told by the ids of sessions. */
  readonly cell?: string;
  /** The browser reaches the control plane by https only. */
  readonly secure: boolean;
}

/** As a proxy that ends TLS says it; a client that claims it without one gets a cookie that its browser does not send back. */
export function cameByHttps(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** The cookie of a request that came by https is for https alone. */
export function settingsFor(
  settings: SessionSettings,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): SessionSettings {
  return settings.secure || !cameByHttps(headers) ? settings : { ...settings, secure: true };
}

/** A use is written down when the last one on record is older than this part of the idle time. */
const TOUCH_PARTS = 6;
const ID = /^[A-Za-z0-9_-]{43}(?:\.[a-z][a-z0-9]{0,7})?$/;

function keyed(tokenKey: Buffer, purpose: string, id: string): Buffer {
  return createHmac('sha256', tokenKey).update(`${purpose}:${id}`).digest();
}

export function newSessionId(cell?: string): string {
  const id = randomBytes(32).toString('base64url');
  return cell === undefined ? id : `${id}.${cell}`;
}

export function sessionKey(tokenKey: Buffer, id: string): string {
  return keyed(tokenKey, 'session', id).toString('hex');
}

/** Derived from the id, which no script and no other site can read: proves that a write comes from our own page. */
export function csrfToken(tokenKey: Buffer, id: string): string {
  return keyed(tokenKey, 'csrf', id).toString('base64url');
}

/** The prefix makes a browser refuse the cookie from anybody but this very host, over TLS. */
export function cookieName({ secure }: SessionSettings): string {
  return secure ? '__Host-berth_session' : 'berth_session';
}

export function sessionCookie(settings: SessionSettings, value: string): string {
  const ends = value === '' ? '; Max-Age=0' : '';
  const secure = settings.secure ? '; Secure' : '';
  return `${cookieName(settings)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${ends}`;
}

/** Undefined when there is none, or more than one: the second is foreign. */
export function sessionIdOf(settings: SessionSettings, header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const prefix = `${cookieName(settings)}=`;
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  const value = values[0]?.slice(prefix.length);
  return values.length === 1 && value !== undefined && ID.test(value) ? value : undefined;
}

export interface LiveSession {
  readonly id: string;
  readonly stored: Stored<SessionRecord>;
  readonly principal: Principal;
}

function isOver({ lastUsedAt, expiresAt }: SessionRecord, nowMs: number, idleMs: number): boolean {
  return Date.parse(expiresAt) <= nowMs || Date.parse(lastUsedAt) + idleMs <= nowMs;
}

/** The session's token is checked every time: revoking it ends its sessions. */
export function findSession(
  { store, tokenKey, clock }: Pick<AccessDependencies, 'store' | 'tokenKey' | 'clock'>,
  settings: SessionSettings,
  id: string,
): LiveSession | undefined {
  const stored = store.getGlobal('sessions', sessionKey(tokenKey, id));
  if (stored === undefined || isOver(stored.record, clock.now().getTime(), settings.idleMs)) return undefined;
  const token = store.getGlobal('tokens', stored.record.tokenId)?.record;
  if (token === undefined || !usable(token, clock)) return undefined;
  return { id, stored, principal: principalOf(token) };
}

/** Not awaited: a use that could not be stored only ends the session earlier. */
export function touchSession(
  { store, clock }: AccessDependencies,
  settings: SessionSettings,
  { stored }: LiveSession,
): void {
  const now = clock.now();
  if (now.getTime() - Date.parse(stored.record.lastUsedAt) < settings.idleMs / TOUCH_PARTS) return;
  const transaction = new Transaction(stored.record.tenantId)
    .expectGlobal('sessions', stored.id, stored)
    .putGlobal('sessions', stored.id, { ...stored.record, lastUsedAt: now.toISOString() });
  store.commit(transaction).catch(() => undefined);
}

export function sessionEndedRejection(): Rejection {
  return reject('unauthenticated', {
    field: 'Authorization',
    received: '(absent)',
    why: 'The session has ended: sign in again.',
  });
}

/** SameSite keeps the cookie from other sites; this holds also where a browser is lenient or a page on a sibling host is not ours. */
export function csrfRejection(
  tokenKey: Buffer,
  { id }: LiveSession,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Rejection | undefined {
  const site = headers['sec-fetch-site'];
  const sent = headers['x-csrf-token'];
  const foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  const expected = Buffer.from(csrfToken(tokenKey, id));
  const actual = Buffer.from(typeof sent === 'string' ? sent : '');
  if (!foreign && actual.length === expected.length && timingSafeEqual(actual, expected)) return undefined;
  return reject('csrf_token_invalid', {
    field: 'X-CSRF-Token',
    received: redacted(sent),
    why: foreign
      ? 'The request comes from a page of another site.'
      : 'A write with the cookie of a session carries the token that GET /api/v1/session answers.',
  });
}
