import type { TenantId } from '../../core/model/ids.ts';
import type { Stock } from '../../core/model/quota.ts';
import { type Actor, FEWEST_VERSIONS, type Journal } from '../journal/journal.ts';
import { segmentsOf } from '../store/record-ids.ts';
import type { Stored } from '../store/collection.ts';
import type { Store, TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

/** What is read of a deployment at once, and the writes of a commit: one transaction of etcd. A write waits for this many commits. */
const AT_ONCE = 64;
const BYTES_AT_ONCE = 4 * 2 ** 20;
const WRITES = 120;
const COMMITS = 16;
/** Beside the versions of a deployment: its event and audit line; and the note of its number, which has two guards. */
const TOLD_WRITES = 2;
const FORGET_WRITES = 2;
/** Reads of the store for one write. */
const LOOKS = 1024;
/** More than these have nothing left to remove: they are re-examined. */
const NOTED = 50_000;
/** A name that is used again while its history goes makes a commit fail. */
const ATTEMPTS = 3;

const NOTHING: Stock = { records: 0, bytes: 0 };

interface Source {
  readonly id: string;
  /** The newest version that can go. */
  readonly newest: number;
  /** Of a deleted deployment; with its last version goes the note of its number. */
  readonly deleted?: Stored<{ readonly version: number }>;
}

interface Batch {
  readonly transaction: Transaction;
  writes: number;
  stock: Stock;
}

/** Removes the oldest history of a tenant: that of deleted deployments, then of living ones down to the fewest versions. */
export class ArchiveTrim {
  readonly #store: Store;
  readonly #journal: Journal;
  /** By tenant and deployment, the newest version that could go when none could. */
  readonly #nothingUpTo = new Map<string, number>();

  constructor(store: Store, journal: Journal) {
    this.#store = store;
    this.#journal = journal;
  }

  /** So much as is wanted, or what there is within bounds; nothing at all where that is less than the least. Answers what went. */
  async free(tenantId: TenantId, wanted: Stock, least: Stock, actor: Actor): Promise<Stock> {
    const tenant = this.#store.forTenant(tenantId);
    let went = NOTHING;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const batches = await this.#planned(tenant, less(wanted, went), actor);
      const all = batches.reduce((sum, { stock }) => plus(sum, stock), went);
      if (isMore(less(least, all))) return went;
      for (const { transaction, stock, writes } of batches)
        if (writes > 0 && (await tenant.commit(transaction)).ok) went = plus(went, stock);
      if (!isMore(less(least, went))) break;
    }
    return went;
  }

  async #planned(tenant: TenantStore, wanted: Stock, actor: Actor): Promise<readonly Batch[]> {
    const batches: Batch[] = [];
    let left = wanted;
    let looks = 0;
    for (const source of this.#sources(tenant)) {
      let after: string | undefined;
      do {
        if (!isMore(left) || looks >= LOOKS) return batches;
        looks += 1;
        const { ids, stock, isLast } = await oldest(tenant, source, left, after);
        let batch = batches.at(-1);
        if (batch === undefined || batch.writes + ids.length + TOLD_WRITES + FORGET_WRITES > WRITES) {
          if (batches.length >= COMMITS) return batches;
          batch = { transaction: this.#begun(tenant), writes: 0, stock: NOTHING };
          batches.push(batch);
        }
        this.#add(batch, tenant, source, { ids, stock, isLast }, actor);
        if (ids.length === 0 && after === undefined && source.deleted === undefined)
          this.#nothingUpTo.set(`${tenant.tenantId}/${source.id}`, source.newest);
        left = less(left, stock);
        after = isLast ? undefined : ids.at(-1);
      } while (after !== undefined);
    }
    return batches;
  }

  /** Of a tenant that is deleted meanwhile nothing is written any more. */
  #begun(tenant: TenantStore): Transaction {
    const { tenantId } = tenant;
    return tenant.transaction().expectGlobal('tenants', tenantId, this.#store.getGlobal('tenants', tenantId));
  }

  *#sources(tenant: TenantStore): Generator<Source> {
    const deployments = tenant.collection('deployments');
    const deleted = tenant.list('last-versions').filter(({ id }) => deployments.get(id) === undefined);
    for (const one of longestUnchanged(deleted))
      yield { id: one.id, newest: one.record.version, deleted: one };
    if (this.#nothingUpTo.size > NOTED) this.#nothingUpTo.clear();
    const newestOf = ({ version }: { readonly version: number }): number => version - FEWEST_VERSIONS;
    const living = deployments.list().filter(({ id, record }) => {
      const newest = newestOf(record);
      return newest > 0 && this.#nothingUpTo.get(`${tenant.tenantId}/${id}`) !== newest;
    });
    for (const { id, record } of longestUnchanged(living)) yield { id, newest: newestOf(record) };
  }

  #add(
    batch: Batch,
    tenant: TenantStore,
    { id, deleted }: Source,
    { ids, stock, isLast }: Oldest,
    actor: Actor,
  ): void {
    const { transaction } = batch;
    const isForgotten = isLast && deleted !== undefined && forget(tenant, deleted, transaction);
    if (isForgotten) batch.writes += FORGET_WRITES;
    const [first, last] = [ids.at(0), ids.at(-1)];
    if (first === undefined || last === undefined) return;
    for (const version of ids) transaction.deleteCold('archives', version);
    batch.writes += ids.length + TOLD_WRITES;
    batch.stock = plus(batch.stock, stock);
    const [name] = segmentsOf('deployments', id);
    const subject = { kind: 'Deployment', name } as const;
    const [from, to] = [versionOf(first), versionOf(last)];
    this.#journal.event(transaction, tenant.tenantId, {
      kind: 'archive.trimmed',
      subject,
      message: `archived versions ${from} to ${to} of ${deleted ? 'the deleted ' : ''}${name} removed: the tenant has as much history as its quota allows`,
      details: { from, to, versions: ids.length, deleted: deleted !== undefined },
    });
    this.#journal.audit(transaction, tenant.tenantId, actor, 'archive.trimmed', subject);
  }
}

interface Oldest {
  readonly ids: readonly string[];
  readonly stock: Stock;
  /** After them nothing of the deployment can go. */
  readonly isLast: boolean;
}

/** The next versions that can go, no more than wanted. */
async function oldest(
  tenant: TenantStore,
  { id, newest }: Source,
  wanted: Stock,
  after: string | undefined,
): Promise<Oldest> {
  const range = { limit: AT_ONCE, bytes: BYTES_AT_ONCE, ...(after === undefined ? {} : { after }) };
  const { entries } = await tenant.rangeColdText('archives', `${id}/`, range);
  const ids: string[] = [];
  let stock = NOTHING;
  for (const entry of entries) {
    if (versionOf(entry.id) > newest || !isMore(less(wanted, stock))) break;
    ids.push(entry.id);
    stock = plus(stock, { records: 1, bytes: Buffer.byteLength(entry.record) });
  }
  const last = ids.at(-1);
  return { ids, stock, isLast: last === undefined || versionOf(last) >= newest };
}

/** Without history the version numbers restart; while something of it still runs, they continue. */
function forget(
  tenant: TenantStore,
  deleted: NonNullable<Source['deleted']>,
  transaction: Transaction,
): boolean {
  if (tenant.collection('instances').listUnder(deleted.id).length > 0) return false;
  transaction
    .expect('deployments', deleted.id, undefined)
    .expect('last-versions', deleted.id, deleted)
    .delete('last-versions', deleted.id);
  return true;
}

function versionOf(id: string): number {
  return Number(segmentsOf('archives', id)[1]);
}

function plus(a: Stock, b: Stock): Stock {
  return { records: a.records + b.records, bytes: a.bytes + b.bytes };
}

function less(a: Stock, b: Stock): Stock {
  return { records: a.records - b.records, bytes: a.bytes - b.bytes };
}

function isMore({ records, bytes }: Stock): boolean {
  return records > 0 || bytes > 0;
}

/** In order; of very many only as many as are examined, because sorting all of them would block every other request. */
function longestUnchanged<T>(stored: readonly Stored<T>[]): readonly Stored<T>[] {
  const revisions = new Float64Array(stored.length);
  for (const [at, { modRevision }] of stored.entries()) revisions[at] = modRevision;
  revisions.sort();
  const last = revisions[Math.min(LOOKS, revisions.length) - 1] ?? 0;
  return stored
    .filter(({ modRevision }) => modRevision <= last)
    .toSorted((a, b) => a.modRevision - b.modRevision);
}
