import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { CredentialRecord, MintPolicy } from '../../core/model/credential.ts';
import { type SecretPath, secretPathText } from '../../core/model/secret-path.ts';
import type { SecretPolicy } from '../../core/model/secret-limits.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import { UNKNOWN } from '../../core/secrets/credentials.ts';
import { pruned } from '../../core/secrets/rotation.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { EmbeddedSecrets } from './embedded/store.ts';
import { mintKeys } from './generate.ts';
import type { SecretConflict, SecretFailure, SecretsStore, SecretValues } from './port.ts';
import { Turns } from './turns.ts';

/** Another writer came between: decide again. */
export interface SecretMoved {
  readonly ok: false;
  readonly reason: 'moved';
  readonly message: string;
}

export type WriteRefusal = SecretMoved | SecretConflict | SecretFailure;

export interface CredentialWrite {
  readonly path: SecretPath;
  readonly values: SecretValues;
  /** The newest version when the decision was made; 0: there was no document. */
  readonly expectedVersion: number;
  /** What the decision was made from. */
  readonly stored: Stored<CredentialRecord> | undefined;
  /** The record once the request is accepted. */
  readonly settle: (record: CredentialRecord, version: number) => CredentialRecord;
}

export interface PlannedWrites {
  /** Versions by path, of what is in the store, or will be with the commit. */
  readonly versions: ReadonlyMap<string, number>;
  /** Into the transaction of the request: material of our own store, and the records. */
  readonly include: (transaction: Transaction) => void;
}

export function credentialId({ namespace, label }: SecretPath): string {
  return idOf('credentials', namespace, label);
}

export function credentialOf(tenant: TenantStore, path: SecretPath): Stored<CredentialRecord> | undefined {
  return tenant.get('credentials', credentialId(path));
}

interface Written {
  readonly expected: number;
  readonly version: number;
  readonly values: SecretValues;
  /** The record with the mark that was put there before. */
  readonly marked: Stored<CredentialRecord>;
}

/** What one request has put into the remote store and is not accepted yet, and the turns it holds. */
interface Request {
  readonly by: string;
  readonly written: Map<string, Written>;
  readonly minted: Map<string, SecretValue>;
  readonly release: Map<string, () => void>;
}

/** How long a request waits for another control plane that writes the same document, before it takes the mark over. */
const FOREIGN_MARK_MS = 10_000;
const LOOK_MS = 100;
/** Times that a write without an answer is sent again: with check-and-set it is applied once. */
const RESENT = 2;

/**
 * New versions of documents for requests that may still be refused. Our own store shares the commit of the request. A remote
 * one does not, so a mark is committed before it is written; what a request wrote and was not accepted is never delivered.
 */
export class CredentialWrites {
  readonly #store: SecretsStore;
  /** Is the process that left a mark still running? */
  readonly #isAlive: (process: string) => boolean;
  readonly #process: string;
  readonly #turns = new Turns();
  readonly #requests = new WeakMap<object, Request>();

  constructor(
    store: SecretsStore,
    process: string = randomUUID(),
    isAlive: (process: string) => boolean = () => false,
  ) {
    this.#store = store;
    this.#process = process;
    this.#isAlive = isAlive;
  }

  /** The same text for the same key in every attempt of a request, so that what was written can be taken up again. */
  mint(
    request: object,
    path: SecretPath,
    keys: ReadonlyMap<string, MintPolicy>,
    policy: SecretPolicy,
    inService: SecretValues,
  ): SecretValues {
    const { minted } = this.#request(request);
    const before = (key: string) => inService.get(key)?.reveal() ?? '';
    const id = (key: string) => JSON.stringify([secretPathText(path), key, keys.get(key), before(key)]);
    const missing = new Map([...keys].filter(([key]) => !minted.has(id(key))));
    for (const [key, value] of mintKeys(missing, policy, inService)) minted.set(id(key), value);
    return new Map(
      [...keys.keys()].flatMap((key) => {
        const value = minted.get(id(key));
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
  }

  /** The newest version that the request did not write itself in an earlier attempt. */
  newestBefore(request: object, path: SecretPath, newest: number): number {
    const written = this.#requests.get(request)?.written.get(secretPathText(path));
    return written !== undefined && written.version === newest ? written.expected : newest;
  }

  async plan(
    tenant: TenantStore,
    request: object,
    writes: readonly CredentialWrite[],
  ): Promise<PlannedWrites | WriteRefusal> {
    if (isEmbedded(this.#store)) return this.#planOwn(this.#store, tenant, writes);
    const ordered = writes.toSorted((a, b) => (secretPathText(a.path) < secretPathText(b.path) ? -1 : 1));
    const versions = new Map<string, number>();
    for (const write of ordered) {
      const version = await this.#writeRemote(tenant, request, write);
      if (typeof version !== 'number') return version;
      versions.set(secretPathText(write.path), version);
    }
    const state = this.#request(request);
    return { versions, include: (transaction) => settleAll(tenant, state, ordered, versions, transaction) };
  }

  async #planOwn(
    store: EmbeddedSecrets,
    tenant: TenantStore,
    writes: readonly CredentialWrite[],
  ): Promise<PlannedWrites | WriteRefusal> {
    const plan = await store.planWrites(tenant.tenantId, writes);
    if (!plan.ok) return plan;
    const versions = new Map(plan.written.map(({ path, version }) => [secretPathText(path), version]));
    return {
      versions,
      include: (transaction) => {
        transaction.include(plan.parts);
        for (const write of writes) {
          const { path, stored, settle } = write;
          const version = versions.get(secretPathText(path)) ?? 0;
          transaction
            .expect('credentials', credentialId(path), stored)
            .put('credentials', credentialId(path), settle(stored?.record ?? UNKNOWN, version));
        }
      },
    };
  }

  /** The document with all its versions: our own store's goes with the commit, a remote one is gone when this answers. */
  async planRemoval(
    tenant: TenantStore,
    path: SecretPath,
  ): Promise<Pick<PlannedWrites, 'include'> | SecretFailure> {
    const stored = credentialOf(tenant, path);
    const own = isEmbedded(this.#store) ? await this.#store.planRemoval(tenant.tenantId, path) : undefined;
    const outcome = own ?? (await this.#store.remove(tenant.tenantId, path));
    if (!outcome.ok) return outcome;
    return {
      include: (transaction) => {
        if (own?.ok) transaction.include(own.parts);
        transaction.expect('credentials', credentialId(path), stored);
        if (stored !== undefined) transaction.delete('credentials', credentialId(path));
      },
    };
  }

  #request(request: object): Request {
    const known = this.#requests.get(request);
    if (known !== undefined) return known;
    const made: Request = {
      by: `${this.#process}/${randomUUID()}`,
      written: new Map(),
      minted: new Map(),
      release: new Map(),
    };
    this.#requests.set(request, made);
    return made;
  }

  async #writeRemote(
    tenant: TenantStore,
    request: object,
    write: CredentialWrite,
  ): Promise<number | WriteRefusal> {
    const { path, stored, values, expectedVersion } = write;
    const state = this.#request(request);
    const text = secretPathText(path);
    if (!state.release.has(text)) {
      const turn = await this.#turns.take(`${tenant.tenantId}/${text}`);
      state.release.set(text, turn.release);
      if (turn.waited) return moved(text);
    }
    const earlier = state.written.get(text);
    if (earlier !== undefined && stored?.record.writing?.by !== state.by) {
      // Another control plane has taken the mark over, and puts the version aside.
      state.written.delete(text);
      return moved(text);
    }
    if (earlier?.expected === expectedVersion && sameValues(earlier.values, values)) return earlier.version;
    const waited = await this.#waitForMark(tenant, path, stored, state);
    if (waited !== undefined) return waited;
    const doubtful =
      stored?.record.writing?.expected === expectedVersion && stored.record.writing.by !== state.by;
    const mark = { expected: expectedVersion, by: state.by, ...(doubtful && { doubtful }) };
    const marked = await commitRecord(tenant, path, stored, withMark(stored?.record ?? UNKNOWN, mark));
    const own = marked ? credentialOf(tenant, path) : undefined;
    if (own?.record.writing?.by !== state.by) return moved(text);
    const outcome = await this.#send(tenant, write);
    if (typeof outcome === 'number') {
      state.written.set(text, { expected: expectedVersion, version: outcome, values, marked: own });
      return outcome;
    }
    await this.#unmark(tenant, path, state, outcome, doubtful);
    return outcome.reason === 'conflict' ? moved(text) : outcome;
  }

  /** A mark of another request is left over, unless another control plane is at it right now. */
  async #waitForMark(
    tenant: TenantStore,
    path: SecretPath,
    stored: Stored<CredentialRecord> | undefined,
    { by }: Request,
  ): Promise<SecretMoved | undefined> {
    const mark = stored?.record.writing;
    const [process = ''] = mark?.by.split('/', 1) ?? [];
    const isForeign =
      mark !== undefined && mark.by !== by && process !== this.#process && this.#isAlive(process);
    if (!isForeign) return undefined;
    for (let waited = 0; waited < FOREIGN_MARK_MS; waited += LOOK_MS) {
      await pause(LOOK_MS);
      if (credentialOf(tenant, path)?.record.writing?.by !== mark.by) return moved(secretPathText(path));
    }
    return undefined;
  }

  /** The version that this write made. Without an answer the store is asked what became of it; check-and-set decides the rest. */
  async #send(
    tenant: TenantStore,
    { path, values, expectedVersion }: CredentialWrite,
  ): Promise<number | WriteRefusal> {
    let unsure = false;
    for (let sent = 0; ; sent += 1) {
      const written = await this.#store.write(tenant.tenantId, path, values, { expectedVersion });
      if (written.ok) return written.version;
      const isOpen = written.reason === 'unavailable' || written.reason === 'conflict';
      if (!isOpen) return unsure ? unknown(path) : written;
      const found = await this.#store.read(tenant.tenantId, path, expectedVersion + 1);
      if (found.ok && sameValues(found.values, values)) return found.version;
      // Another writer's: with check-and-set this one cannot be applied any more.
      if (found.ok) return { ok: false, reason: 'conflict', message: written.message };
      // A conflict may be with ourselves: a call that was repeated on its way is refused the second time.
      if (written.reason === 'conflict')
        return unsure || found.reason !== 'missing' ? unknown(path) : written;
      if (found.reason !== 'missing' || sent >= RESENT) return written;
      unsure = true;
    }
  }

  /** A write that may still arrive keeps its mark; the next one finds it. */
  async #unmark(
    tenant: TenantStore,
    path: SecretPath,
    { by }: Request,
    outcome: WriteRefusal,
    doubtful: boolean,
  ): Promise<void> {
    if (outcome.reason === 'unavailable') return;
    const stored = credentialOf(tenant, path);
    if (stored?.record.writing?.by !== by) return;
    const { writing, ...record } = stored.record;
    const isTaken = outcome.reason === 'conflict' && doubtful;
    await commitRecord(tenant, path, stored, isTaken ? refusing(record, writing.expected + 1) : record);
  }

  /** There will be something to `finish`. */
  isOpen(request: object): boolean {
    return this.#requests.has(request);
  }

  /** At the end of a request, however it ended: what it wrote and was not accepted is put aside, and the next one goes on. */
  finish(tenant: TenantStore, request: object): Promise<void> | undefined {
    const state = this.#requests.get(request);
    if (state === undefined) return undefined;
    this.#requests.delete(request);
    return this.#finish(tenant, state);
  }

  async #finish(tenant: TenantStore, state: Request): Promise<void> {
    try {
      for (const [text, { version }] of state.written) {
        const [namespace = '', label = ''] = text.split('/');
        const path = { namespace, label };
        const stored = credentialOf(tenant, path);
        if (stored?.record.writing?.by !== state.by) continue;
        const { writing: _mark, ...record } = stored.record;
        await commitRecord(tenant, path, stored, refusing(record, version));
      }
    } finally {
      for (const release of state.release.values()) release();
    }
  }
}

function settleAll(
  tenant: TenantStore,
  { by, written }: Pick<Request, 'by' | 'written'>,
  writes: readonly CredentialWrite[],
  versions: ReadonlyMap<string, number>,
  transaction: Transaction,
): void {
  for (const { path, stored: before, settle } of writes) {
    const stored = credentialOf(tenant, path);
    const { writing, ...record } = stored?.record ?? UNKNOWN;
    const isOurs = writing?.by === by && isAsDecided(before?.record ?? UNKNOWN, record);
    transaction
      // Without our mark, or after another decision, the commit has to fail, also where the document was deleted meanwhile.
      .expect('credentials', credentialId(path), isOurs ? stored : written.get(secretPathText(path))?.marked)
      .put('credentials', credentialId(path), settle(record, versions.get(secretPathText(path)) ?? 0));
  }
}

/** Another request may have begun or moved a rotation while the store was written; a delivery changes nothing of this. */
function isAsDecided(before: CredentialRecord, now: CredentialRecord): boolean {
  const decided = ({ current, known, rotation }: CredentialRecord) =>
    JSON.stringify([current, known, rotation]);
  return decided(before) === decided(now);
}

function withMark(
  record: CredentialRecord,
  mark: NonNullable<CredentialRecord['writing']>,
): CredentialRecord {
  const { writing: before, ...rest } = record;
  // What the mark before guarded has been passed: it was written for a request that was not accepted.
  const passed = before !== undefined && before.expected < mark.expected;
  return { ...(passed ? refusing(rest, before.expected + 1) : rest), writing: mark };
}

function refusing(record: CredentialRecord, version: number): CredentialRecord {
  const refused = [...new Set([...(record.refused ?? []), version])];
  return pruned({ ...record, refused });
}

async function commitRecord(
  tenant: TenantStore,
  path: SecretPath,
  stored: Stored<CredentialRecord> | undefined,
  record: CredentialRecord,
): Promise<boolean> {
  const id = credentialId(path);
  const transaction = tenant.transaction().expect('credentials', id, stored);
  const isBlank = Object.keys(record).length === 2 && record.current === 0 && record.known === 0;
  if (isBlank) transaction.delete('credentials', id);
  else transaction.put('credentials', id, record);
  return (await tenant.commit(transaction)).ok;
}

/** The embedded store alone plans writes that somebody else commits. */
function isEmbedded(store: SecretsStore): store is EmbeddedSecrets {
  return 'planWrites' in store;
}

/** It may have been applied, or may still be. */
function unknown(path: SecretPath): SecretFailure {
  const message = `${secretPathText(path)}: the secrets store did not say what became of the write`;
  return { ok: false, reason: 'unavailable', message };
}

function moved(path: string): SecretMoved {
  return { ok: false, reason: 'moved', message: `${path} is being written` };
}

function sameValues(a: SecretValues, b: SecretValues): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key)?.reveal() === value.reveal());
}
