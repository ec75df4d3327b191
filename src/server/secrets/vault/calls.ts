import { setTimeout as delay } from 'node:timers/promises';
import { failure, type SecretFailure } from '../port.ts';
import { isTransient, isUpgrading } from './answers.ts';
import type { VaultAnswer, VaultCall, VaultHttp } from './http.ts';
import type { HeldToken, VaultSession } from './session.ts';

/** Pauses before the repetitions of a call that is safe to repeat. */
const RETRY_PAUSES_MS = [50, 200] as const;
const UPGRADE_PAUSE_MS = 50;

export type ReachedCall = Omit<VaultCall, 'token'>;

export interface VaultCalls {
  /** One call with the session's token. */
  send(call: ReachedCall): Promise<VaultAnswer | SecretFailure>;
  /** Repeated when a failure may be passing. */
  read(path: string): Promise<VaultAnswer | SecretFailure>;
  /** Never repeated, except after answers that say that nothing was applied. */
  write(call: ReachedCall): Promise<VaultAnswer | SecretFailure>;
  /** The session's token as the server sees it now. */
  liveToken(): Promise<HeldToken | SecretFailure>;
}

const TOKEN_REFUSED = failure('denied', 'the secrets store does not accept the configured token (403)');

export function createVaultCalls(http: VaultHttp, session: VaultSession, timeoutMs: number): VaultCalls {
  /** A dead token is replaced once. A 403 is certainly not applied, so writes may repeat after it. */
  async function send(call: ReachedCall): Promise<VaultAnswer | SecretFailure> {
    const held = await session.token();
    if (!held.ok) return held;
    const answer = await http.send({ ...call, token: held.token });
    if (!answer.reached || answer.status !== 403 || !(await session.isDead(held.token))) return answer;
    const next = await session.token();
    if (!next.ok) return next;
    if (next.token === held.token) return TOKEN_REFUSED;
    return http.send({ ...call, token: next.token });
  }

  return {
    send,

    read: async (path) => {
      for (const pauseMs of RETRY_PAUSES_MS) {
        const answer = await send({ method: 'GET', path });
        if ('ok' in answer ? answer.reason !== 'unavailable' : !isTransient(answer)) return answer;
        await delay(pauseMs);
      }
      return send({ method: 'GET', path });
    },

    write: async (call) => {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const answer = await send(call);
        if ('ok' in answer || !isUpgrading(answer) || performance.now() > deadline) return answer;
        await delay(UPGRADE_PAUSE_MS);
      }
    },

    liveToken: async () => {
      const held = await session.token();
      if (!held.ok || !(await session.isDead(held.token))) return held;
      const next = await session.token();
      if (!next.ok || next.token !== held.token) return next;
      return TOKEN_REFUSED;
    },
  };
}
