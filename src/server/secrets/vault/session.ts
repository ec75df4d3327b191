import { SecretValue } from '../../../core/model/secret-value.ts';
import { failure, type SecretFailure } from '../port.ts';
import { count, failureOf, isSuccess, member, text } from './answers.ts';
import type { VaultAnswer, VaultHttp } from './http.ts';

export type VaultAuth =
  | { readonly kind: 'token'; readonly token: SecretValue }
  | {
      readonly kind: 'approle';
      readonly roleId: string;
      readonly secretId: SecretValue;
      /** Mount of the auth method; default `approle`. */
      readonly mount?: string;
    };

export type HeldToken = { readonly ok: true; readonly token: SecretValue };

export interface VaultSession {
  token(): Promise<HeldToken | SecretFailure>;
  /** After a 403: is the token dead (then the next `token()` logs in anew), or does the policy refuse? */
  isDead(token: SecretValue): Promise<boolean>;
  close(): void;
}

interface Grant {
  readonly token: SecretValue;
  /** 0 = does not expire. */
  readonly ttlMs: number;
  readonly renewable: boolean;
  readonly at: number;
}

/** A refused login is not repeated at once: the store may lock out who fails too often. */
const REFUSED_HOLD_MS = 5_000;
const UNREACHED_HOLD_MS = 250;
const RENEW_RETRY_MS = 1_000;
const MIN_RENEW_MS = 100;
/** Longest delay a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Keeps one token alive: logs in when first needed, renews at two thirds of its life, logs in anew when it is dead. */
export function createVaultSession(http: VaultHttp, auth: VaultAuth): VaultSession {
  let grant: Grant | undefined;
  let pending: Promise<HeldToken | SecretFailure> | undefined;
  let held: { readonly failed: SecretFailure; readonly until: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function isLive(candidate: Grant | undefined): candidate is Grant {
    return (
      candidate !== undefined && (candidate.ttlMs === 0 || performance.now() < candidate.at + candidate.ttlMs)
    );
  }

  async function acquire(): Promise<HeldToken | SecretFailure> {
    const got = auth.kind === 'token' ? await lookUp(auth.token) : await logIn(auth);
    if ('reason' in got) {
      const holdMs = got.reason === 'denied' ? REFUSED_HOLD_MS : UNREACHED_HOLD_MS;
      held = { failed: got, until: performance.now() + holdMs };
      return got;
    }
    adopt(got);
    return { ok: true, token: got.token };
  }

  function adopt(next: Grant): void {
    grant = next;
    held = undefined;
    if (next.ttlMs > 0) schedule(Math.max(MIN_RENEW_MS, (next.ttlMs * 2) / 3));
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (closed) return;
    timer = setTimeout(() => void renew(), Math.min(delayMs, MAX_TIMER_MS));
    timer.unref();
  }

  async function logIn(role: Extract<VaultAuth, { kind: 'approle' }>): Promise<Grant | SecretFailure> {
    const answer = await http.send({
      method: 'POST',
      path: `auth/${encodeURIComponent(role.mount ?? 'approle')}/login`,
      body: { role_id: role.roleId, secret_id: role.secretId.reveal() },
    });
    const granted = grantOf(answer);
    if (granted !== undefined) return granted;
    if (answer.reached && (answer.status === 400 || answer.status === 403)) {
      return failure('denied', `the AppRole login was refused (${answer.status})`);
    }
    return failureOf(answer, 'AppRole login');
  }

  /** A token whose policy hides even itself may still be good; then nothing is known of its life. */
  async function lookUp(token: SecretValue): Promise<Grant | SecretFailure> {
    const answer = await http.send({ method: 'GET', path: 'auth/token/lookup-self', token });
    if (isSuccess(answer)) {
      const data = member(answer.json, 'data');
      const renewable = member(data, 'renewable') === true;
      return { token, ttlMs: count(data, 'ttl') * 1000, renewable, at: performance.now() };
    }
    if (answer.reached && answer.status === 403) {
      return { token, ttlMs: 0, renewable: false, at: performance.now() };
    }
    return failureOf(answer, 'token lookup');
  }

  async function renew(): Promise<void> {
    const current = grant;
    if (closed || current === undefined) return;
    const answer = current.renewable
      ? await http.send({ method: 'POST', path: 'auth/token/renew-self', token: current.token, body: {} })
      : undefined;
    const renewed = answer && grantOf(answer);
    // Near its maximum life a token is renewed for less and less time; a new login comes before that runs out.
    if (renewed !== undefined && renewed.ttlMs >= current.ttlMs / 2) return adopt(renewed);
    if (auth.kind === 'approle') {
      const next = await logIn(auth);
      if (!('reason' in next)) return adopt(next);
    } else if (renewed !== undefined) {
      return adopt(renewed);
    }
    if (isLive(current)) schedule(RENEW_RETRY_MS);
  }

  return {
    token: async () => {
      if (isLive(grant)) return { ok: true, token: grant.token };
      if (held !== undefined && performance.now() < held.until) return held.failed;
      // One login for all who wait.
      pending ??= acquire().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    isDead: async (token) => {
      const answer = await http.send({ method: 'GET', path: 'auth/token/lookup-self', token });
      const dead = answer.reached && answer.status === 403;
      if (dead && grant?.token === token && auth.kind === 'approle') grant = undefined;
      return dead;
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function grantOf(answer: VaultAnswer): Grant | undefined {
  if (!isSuccess(answer)) return undefined;
  const auth = member(answer.json, 'auth');
  const token = text(auth, 'client_token');
  if (token === '') return undefined;
  return {
    token: new SecretValue(token),
    ttlMs: count(auth, 'lease_duration') * 1000,
    renewable: member(auth, 'renewable') === true,
    at: performance.now(),
  };
}
