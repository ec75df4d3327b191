import type { Logger } from 'pino';
import { CREDENTIAL_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import type { TokenRecord } from '../../../core/model/tenant.ts';
import type { AccessDependencies } from '../../access/authenticate.ts';
import { steadyMs } from '../../access/steady-time.ts';
import { hashSecret, mintToken } from '../../access/token.ts';
import { idOf } from '../../store/record-ids.ts';
import { Transaction } from '../../store/transaction.ts';
import type { AgentSession } from './session.ts';

/** Renewed when a third of it is over, so that there is time for machines that are off. */
const RENEWED_AT = 2 / 3;
/** An end that lies further ahead than a lifetime was written under a clock that went wrong. */
const TOO_FAR = 1.1;
const MAX_ATTEMPTS = 8;

/** An agent that could not write one down, or did not say so, is given another. */
const GIVEN_AGAIN_MS = 600_000;

interface Given {
  readonly number: number;
  readonly atMs: number;
  readonly nextHash: string;
}

export interface NodeCredentialsOptions {
  readonly access: AccessDependencies;
  readonly lifetimeMs: number;
  readonly log: Logger;
}

/**
 * Tokens of nodes end, and are renewed in the session, whose agent has proven the node's key. The id stays and the secret changes: the
 * next one counts beside the old one until the agent has it on its disk, says so or comes with it; then the old one is worth nothing.
 */
export class NodeCredentials {
  readonly #options: NodeCredentialsOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #given = new WeakMap<AgentSession, Given>();
  readonly #giving = new WeakSet<AgentSession>();

  constructor(options: NodeCredentialsOptions, sessions: () => Iterable<AgentSession>) {
    this.#options = options;
    const everyMs = Math.min(600_000, Math.ceil(options.lifetimeMs / 20));
    this.#timer = setInterval(() => {
      for (const session of sessions()) this.#renew(session);
    }, everyMs).unref();
  }

  /** A session that was opened with the next secret has it; any other one is given one when it is due, or again. */
  opened(session: AgentSession): void {
    if (session.identity.usesNext === true) this.#guarded(session, () => this.#replace(session));
    else this.#renew(session);
  }

  /** The agent has it on its disk. */
  kept(session: AgentSession, number: number): void {
    const given = this.#given.get(session);
    if (given?.number !== number) return;
    this.#guarded(session, () => this.#replace(session, given.nextHash));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #renew(session: AgentSession): void {
    this.#guarded(session, () => this.#give(session));
  }

  #guarded(session: AgentSession, step: () => Promise<void>): void {
    step().catch((error: unknown) =>
      this.#options.log.warn({ err: error, node: session.identity.node }, 'the credential was not renewed'),
    );
  }

  #isDue({ expiresAt }: TokenRecord): boolean {
    const { access, lifetimeMs } = this.#options;
    if (expiresAt === undefined) return true;
    const leftMs = Date.parse(expiresAt) - steadyMs(access.clock);
    return leftMs < lifetimeMs * RENEWED_AT || leftMs > lifetimeMs * TOO_FAR;
  }

  async #give(session: AgentSession): Promise<void> {
    const { store, tokenKey } = this.#options.access;
    const { tenantId, tokenId, node } = session.identity;
    const features = store.forTenant(tenantId).get('nodes', idOf('nodes', node))?.record.features;
    const stored = store.getGlobal('tokens', tokenId);
    if (features?.includes(CREDENTIAL_FEATURE) !== true || stored?.record.kind !== 'node') return;
    if (stored.record.revokedAt !== undefined || !this.#isDue(stored.record)) return;
    const before = this.#given.get(session);
    const atMs = this.#options.access.clock.monotonicMs();
    const isOpen = before !== undefined && before.nextHash === stored.record.nextHash;
    if (isOpen && atMs - before.atMs < GIVEN_AGAIN_MS) return;
    const number = (before?.number ?? 0) + 1;
    const { token, secret } = mintToken('node', stored.id);
    const nextHash = hashSecret(tokenKey, secret);
    const transaction = new Transaction(tenantId)
      .expectGlobal('tokens', stored.id, stored)
      .putGlobal('tokens', stored.id, { ...stored.record, nextHash });
    // One at a time: a second one would replace the first before the agent has confirmed it.
    if (this.#giving.has(session)) return;
    this.#giving.add(session);
    const committed = await store.commit(transaction).finally(() => this.#giving.delete(session));
    // Another process was first: its session is the newer one.
    if (!committed.ok) return;
    this.#given.set(session, { number, atMs, nextHash });
    session.send({ type: 'credential', number, token });
  }

  async #replace(session: AgentSession, given?: string): Promise<void> {
    const { access, lifetimeMs, log } = this.#options;
    const { tenantId, tokenId, node } = session.identity;
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
      const stored = access.store.getGlobal('tokens', tokenId);
      if (stored === undefined || stored.record.revokedAt !== undefined) return;
      const { nextHash, ...record } = stored.record;
      if (nextHash === undefined || (given !== undefined && nextHash !== given)) return;
      const expiresAt = new Date(steadyMs(access.clock) + lifetimeMs).toISOString();
      const transaction = new Transaction(tenantId)
        .expectGlobal('tokens', stored.id, stored)
        .putGlobal('tokens', stored.id, { ...record, hash: nextHash, expiresAt });
      if (!(await access.store.commit(transaction)).ok) continue;
      log.info({ tenantId, node, expiresAt }, 'the credential of a node was renewed');
      return;
    }
  }
}
