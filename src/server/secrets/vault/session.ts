import { messageOf } from '../../../core/model/values.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import { failure, type SecretFailure } from '../port.ts';
import { count, failureOf, isNamespaceMissing, isSuccess, member, text } from './answers.ts';
import type { VaultAnswer, VaultHttp } from './http.ts';

/** Asked again while the process runs: what was put in place of an old credential is taken up. Throws when it cannot be read. */
export type CredentialSource = () => SecretValue;

export type VaultAuth =
  | { readonly kind: 'token'; readonly token: CredentialSource }
  | {
      readonly kind: 'approle';
      readonly roleId: string;
      readonly secretId: CredentialSource;
      /** Mount of the auth method; default `approle`. */
      readonly mount?: string;
    };

export type HeldToken = { readonly ok: true; readonly token: SecretValue };

export interface VaultSession {
  token(): Promise<HeldToken | SecretFailure>;
  /** After a 403: is the token dead (then the next `token()` offers another if there is one), or does the policy refuse? */
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
/** A credential put in place while the process runs is used within this time. */
const REREAD_MS = 1_000;
/** Longest delay a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Keeps one token alive: logs in when first needed, renews at two thirds of its life, logs in again when it is dead. `warn` receives
 * once when a token is going to end and nothing here can prolong it.
 */
export function createVaultSession(
  http: VaultHttp,
  auth: VaultAuth,
  warn: (message: string) => void = () => undefined,
): VaultSession {
  const source = auth.kind === 'token' ? auth.token : auth.secretId;
  let credential: SecretValue | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let grant: Grant | undefined;
  let pending: Promise<HeldToken | SecretFailure> | undefined;
  let held: { readonly failed: SecretFailure; readonly until: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let warned: SecretValue | undefined;
  let closed = false;

  function isLive(candidate: Grant | undefined): candidate is Grant {
    return (
      candidate !== undefined && (candidate.ttlMs === 0 || performance.now() < candidate.at + candidate.ttlMs)
    );
  }

  /** What cannot be read now leaves the credential that was read last. True: there is another one. */
  function reread(): boolean {
    readAt = performance.now();
    const before = credential?.reveal();
    try {
      credential = source();
    } catch (error) {
      if (credential === undefined) throw error;
      return false;
    }
    if (before === undefined || credential.reveal() === before) return false;
    held = undefined;
    if (auth.kind === 'token') grant = undefined;
    return true;
  }

  async function acquire(): Promise<HeldToken | SecretFailure> {
    const got = await logInOrLookUp();
    if ('reason' in got) {
      const holdMs = got.reason === 'denied' ? REFUSED_HOLD_MS : UNREACHED_HOLD_MS;
      held = { failed: got, until: performance.now() + holdMs };
      return got;
    }
    adopt(got);
    return { ok: true, token: got.token };
  }

  function logInOrLookUp(): Promise<Grant | SecretFailure> | SecretFailure {
    if (credential === undefined)
      return failure('denied', 'the credential of the secrets store is not there');
    return auth.kind === 'token' ? lookUp(credential) : logIn(auth, credential);
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

  async function logIn(
    role: Extract<VaultAuth, { kind: 'approle' }>,
    secretId: SecretValue,
  ): Promise<Grant | SecretFailure> {
    const answer = await http.send({
      method: 'POST',
      path: `auth/${(role.mount ?? 'approle').split('/').map(encodeURIComponent).join('/')}/login`,
      body: { role_id: role.roleId, secret_id: secretId.reveal() },
    });
    const granted = grantOf(answer);
    if (granted !== undefined) return granted;
    if (answer.reached && (answer.status === 400 || answer.status === 403)) {
      return failure('denied', `the AppRole login was refused (${answer.status})`);
    }
    if (answer.reached && answer.status === 404 && !isNamespaceMissing(answer))
      return failure(
        'unusable',
        `the secrets store has no AppRole at auth/${role.mount ?? 'approle'} (404); secrets.vault.appRoleMount and secrets.vault.namespace say where it is`,
      );
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

  /** Said once for each token, at a time when a third of its life is left. */
  function warnOfEnd({ token, ttlMs, at }: Grant, why: string): void {
    if (warned?.reveal() === token.reveal()) return;
    warned = token;
    const leftMs = Math.max(0, at + ttlMs - performance.now());
    const end = new Date(Date.now() + leftMs).toISOString();
    warn(`the token of the secrets store ends at ${end}: ${why}`);
  }

  async function renew(): Promise<void> {
    if (closed) return;
    if (reread() && auth.kind === 'token') return void (await acquire());
    const current = grant;
    if (current === undefined) return;
    const answer = current.renewable
      ? await http.send({ method: 'POST', path: 'auth/token/renew-self', token: current.token, body: {} })
      : undefined;
    const renewed = answer && grantOf(answer);
    // Near its maximum life a token is renewed for less and less time; a new login comes before that runs out.
    if (renewed !== undefined && renewed.ttlMs >= current.ttlMs / 2) return adopt(renewed);
    if (auth.kind === 'approle') {
      const next = credential === undefined ? undefined : await logIn(auth, credential);
      if (next !== undefined && !('reason' in next)) return adopt(next);
      if (next?.reason === 'denied' || next?.reason === 'unusable')
        warnOfEnd(current, `${next.message}; put a new secret id into its file`);
    } else {
      if (!current.renewable || renewed !== undefined || isRefused(answer))
        warnOfEnd(current, 'it cannot be renewed; put a new one into its file');
      if (renewed !== undefined) return adopt(renewed);
    }
    if (isLive(current)) schedule(RENEW_RETRY_MS);
  }

  return {
    token: async () => {
      if (performance.now() - readAt >= REREAD_MS) {
        try {
          reread();
        } catch (error) {
          return failure('denied', messageOf(error));
        }
      }
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
      if (dead && grant?.token === token) {
        reread();
        if (auth.kind === 'approle') grant = undefined;
      }
      return dead;
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function isRefused(answer: VaultAnswer | undefined): boolean {
  return answer?.reached === true && answer.status >= 400 && answer.status < 500 && answer.status !== 429;
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
