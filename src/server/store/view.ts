import { isRecord, messageOf } from '../../core/model/values.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { Stock } from '../../core/model/quota.ts';
import { RunningTimeout } from '../clock.ts';
import { Collection, type Stored } from './collection.ts';
import { derivedSnapshot, derivedSnapshotId } from './deployment-rows.ts';
import { globalKey, HOT_PREFIX, type HotKey, leadingId, parseHotKey, tenantKey } from './keys.ts';
import { type HeldPlace, type Loading, readFirst } from './first-reading.ts';
import type { Kv, KvChangeBatch, KvEntry, Watch } from './kv.ts';
import { LargeRecords } from './large-records.ts';
import { CODEC, decodeRecord, type GlobalRecords, type TenantRecords } from './records.ts';
import type { SharedStrings } from './shared-strings.ts';
import { UnreadRecord } from './unread-record.ts';
import { UnreadRecords } from './unread-records.ts';

type HotRecords = GlobalRecords & TenantRecords;
type HotKind = keyof HotRecords;

/** A hot record of one of these kinds changed; `after` is absent when it was deleted. The kind says what it is, and whose. */
export type ViewChange<Kind extends HotKind = HotKind> = {
  [K in Kind]: {
    readonly tenantId: K extends keyof TenantRecords ? TenantId : undefined;
    readonly kind: K;
    readonly id: string;
    readonly before?: Stored<HotRecords[K]>;
    readonly after?: Stored<HotRecords[K]>;
  };
}[Kind];

export type ViewListener = (change: ViewChange) => void;

export interface ViewOptions {
  readonly onProblem: (problem: string) => void;
  /** Called while the store is read for the first time, with the bytes read so far; what it throws ends the reading. */
  readonly onPage?: (bytes: number) => Promise<void> | void;
}

interface PutOptions {
  /** The store was set back: an older revision replaces a newer one. */
  readonly isSetBack?: boolean;
  readonly loading?: Loading;
}

/** Records that are not stored under their tenant, and count for it all the same. */
const OF_TENANTS: ReadonlySet<string> = new Set<keyof GlobalRecords>(['tokens', 'sessions']);
/** Kinds whose key is a name, and whose records have an id that is asked for too. */
const BY_TYPED_ID: ReadonlySet<string> = new Set<keyof TenantRecords>(['deployments']);

function typedId(stored: Stored<unknown>): string | undefined {
  const known = stored instanceof UnreadRecord ? stored.typedId : undefined;
  if (known !== undefined) return known;
  const { record } = stored;
  const id = isRecord(record) ? record['id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

type HotChange = HotKey & { readonly before?: Stored<unknown>; readonly after?: Stored<unknown> };

/** Whose deployment it is; undefined: it is none. */
function deploymentsOf({ tenantId, kind }: HotKey): TenantId | undefined {
  return kind === 'deployments' ? tenantId : undefined;
}

/** What may be held as text. */
const AS_TEXT: readonly (keyof TenantRecords)[] = ['deployments', 'deployment-status', 'rollouts', 'specs'];
const NONE: Stock = { records: 0, bytes: 0 };

const RELIST_DELAY_MS = 200;

/**
 * The hot part of the store in memory: snapshot, then watch, without a gap. Reads and decisions use it; it is a cache
 * that can be rebuilt at any time, and after a lost watch it is compared with a full list, so nothing is missed.
 */
export class StoreView {
  readonly #kv: Kv;
  readonly #options: ViewOptions;
  readonly #global = new Map<string, Collection<unknown>>();
  readonly #tenants = new Map<TenantId, Map<string, Collection<unknown>>>();
  readonly #listeners = new Set<ViewListener>();
  readonly #large = new LargeRecords();
  readonly #unread = new UnreadRecords(this.#large);
  readonly #ofTenants = new Map<string, Stock>();
  /** By key, snapshots of records that are being replaced or removed, until the whole commit is taken in. */
  readonly #left = new Map<string, Stored<unknown>>();
  readonly #derived = new Map<TenantId, Stock>();
  readonly #waiting: { revision: number; wake: () => void }[] = [];
  #watch: Watch | undefined;
  #revision = 0;
  #isLoaded = false;
  #isFollowing = false;
  #closed = false;

  /** Empty until `load` has succeeded. */
  constructor(kv: Kv, options: ViewOptions) {
    this.#kv = kv;
    this.#options = options;
  }

  static async open(kv: Kv, options: ViewOptions): Promise<StoreView> {
    const view = new StoreView(kv, options);
    await view.load();
    return view;
  }

  load(): Promise<void> {
    return this.#list();
  }

  /** Snapshot and diff against what is held, then watch from exactly that revision. */
  async #list(): Promise<void> {
    // First: nothing newer than the snapshot may come in between, so the snapshot is the truth whatever revisions it has.
    this.#watch?.close();
    this.#isFollowing = false;
    // Nothing is held at the start, when there is most to read: it is taken in page by page, and nothing is compared.
    if (!this.#isLoaded) return this.#first();
    const { entries, revision } = await this.#kv.range(HOT_PREFIX);
    if (this.#closed) return;
    // Of a store that was set back to an older state: its revisions say nothing about what is held.
    const isSetBack = revision < this.#revision;
    if (isSetBack)
      this.#options.onProblem(`the store was set back from revision ${this.#revision} to ${revision}`);
    const gone = new Set(this.#heldKeys());
    for (const entry of entries) {
      gone.delete(entry.key);
      this.#put(entry, { isSetBack });
    }
    for (const key of gone) this.#remove(key);
    this.#settle();
    if (isSetBack) this.#revision = revision;
    this.#follow(revision);
  }

  /** The view has no reader yet, so that it may be half of the store meanwhile. */
  async #first(): Promise<void> {
    // Of an attempt that ended half-way.
    const gone = new Set(this.#heldKeys());
    const revision = await readFirst(
      this.#kv,
      {
        unread: this.#unread,
        collection: (tenantId, kind) => this.#collection(tenantId, kind),
        put: (entry, loading) => this.#put(entry, { loading }),
        hold: (place, after, loading) => this.#hold(place, undefined, after, loading),
        isClosed: () => this.#closed,
        onPage: (bytes) => this.#options.onPage?.(bytes),
      },
      gone,
    );
    if (revision === undefined) return;
    for (const key of gone) this.#remove(key);
    this.#settle();
    this.#isLoaded = true;
    this.#follow(revision);
  }

  #follow(revision: number): void {
    this.#advance(revision);
    this.#isFollowing = true;
    this.#watch = this.#kv.watch(HOT_PREFIX, revision, {
      onBatch: (batch) => this.#apply(batch),
      onProgress: (reached) => this.#advance(reached),
      onLost: (reason) => {
        this.#options.onProblem(`the watch was lost (${reason}); listing again`);
        this.#relist();
      },
    });
  }

  #relist(): void {
    if (this.#closed) return;
    this.#list().catch((error: unknown) => {
      this.#options.onProblem(`listing the store failed: ${messageOf(error)}`);
      setTimeout(() => this.#relist(), RELIST_DELAY_MS).unref();
    });
  }

  #apply(batch: KvChangeBatch): void {
    for (const change of batch.changes) {
      if (change.entry) this.#put(change.entry);
      else this.#remove(change.key);
    }
    this.#settle();
    this.#advance(batch.revision);
  }

  #advance(revision: number): void {
    this.#revision = Math.max(revision, this.#revision);
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const waiter = this.#waiting[index];
      if (waiter && waiter.revision <= this.#revision) {
        this.#waiting.splice(index, 1);
        waiter.wake();
      }
    }
  }

  #collection(tenantId: TenantId | undefined, kind: string): Collection<unknown> {
    let kinds: Map<string, Collection<unknown>> | undefined = this.#global;
    if (tenantId !== undefined) {
      kinds = this.#tenants.get(tenantId);
      if (kinds === undefined) {
        kinds = new Map();
        this.#tenants.set(tenantId, kinds);
      }
    }
    let collection = kinds.get(kind);
    if (collection === undefined) {
      collection = new Collection(tenantId !== undefined && BY_TYPED_ID.has(kind) ? typedId : undefined);
      kinds.set(kind, collection);
    }
    return collection;
  }

  #heldKeys(): string[] {
    const keys: string[] = [];
    for (const [kind, collection] of this.#global)
      keys.push(...collection.ids().map((id) => globalKey(kind, id)));
    for (const [tenantId, kinds] of this.#tenants) {
      for (const [kind, collection] of kinds) {
        for (const id of collection.ids()) keys.push(tenantKey(tenantId, kind, id));
      }
    }
    return keys;
  }

  /** Where a key belongs; undefined: it is none of a record. */
  #place(fullKey: string, loading: Loading | undefined): HeldPlace | undefined {
    const known = loading?.places.find(fullKey);
    if (loading !== undefined && known !== undefined)
      return { ...known.value, id: loading.strings.ownId(fullKey.slice(known.beginning.length)) };
    const key = parseHotKey(fullKey);
    if (key === undefined) return undefined;
    const { tenantId, kind, id } = key;
    const collection = this.#collection(tenantId, kind);
    if (loading === undefined) return { tenantId, kind, id, collection };
    loading.places.note(fullKey.slice(0, fullKey.length - id.length), { tenantId, kind, collection });
    return { tenantId, kind, id: loading.strings.ownId(id), collection };
  }

  #put(entry: KvEntry, { isSetBack = false, loading }: PutOptions = {}): void {
    const key = this.#place(entry.key, loading);
    if (key === undefined) return;
    const { kind, id, collection } = key;
    const isNew = loading?.isNew === true;
    // In a large collection it costs as much to find nothing as to decode a record. A snapshot may be there as that of its deployment.
    const before = isNew && kind !== 'specs' ? undefined : collection.get(id);
    if (before !== undefined && before.modRevision >= entry.modRevision && !isSetBack) return;
    // Revisions say nothing then; the record that stands for it is listed before it.
    if (isSetBack && kind === 'specs' && this.#isDerived(key, entry.modRevision)) return;
    const after = this.#stored(key, entry, loading?.strings);
    if (loading !== undefined && kind === 'specs') loading.hasSnapshots = true;
    this.#hold(key, before, after, loading);
  }

  #hold(
    key: HeldPlace,
    before: Stored<unknown> | undefined,
    after: Stored<unknown>,
    loading: Loading | undefined,
  ): void {
    const { tenantId, kind, id, collection } = key;
    const deployments = deploymentsOf(key);
    if (deployments !== undefined && before !== undefined) this.#leave(deployments, id);
    if (before instanceof UnreadRecord) before.uncount();
    collection.set(after, before?.bytes);
    const isNew = loading?.isNew === true && !loading.hasSnapshots;
    const derived = deployments && this.#derive(deployments, id, isNew);
    if (tenantId === undefined && OF_TENANTS.has(kind)) {
      this.#count(kind, before, -1);
      this.#count(kind, after, 1);
    }
    try {
      this.#emit(
        before === undefined ? { tenantId, kind, id, after } : { tenantId, kind, id, before, after },
      );
      if (derived) this.#emit(derived);
    } catch (error) {
      // A text that cannot be read, found by the first who needs it: another reading finds it again instead of going on without.
      if (loading !== undefined) collection.delete(id);
      if (after instanceof UnreadRecord) after.uncount();
      throw error;
    }
  }

  #remove(fullKey: string): void {
    const key = parseHotKey(fullKey);
    if (key === undefined) return;
    // Of a relist: a key that the store does not have, for a record that stands for it.
    if (key.kind === 'specs' && this.#isDerived(key)) return;
    const deployments = deploymentsOf(key);
    if (deployments !== undefined) this.#leave(deployments, key.id);
    const before = this.#collection(key.tenantId, key.kind).delete(key.id);
    if (before === undefined) return;
    if (before instanceof UnreadRecord) before.uncount();
    if (key.tenantId === undefined && OF_TENANTS.has(key.kind)) this.#count(key.kind, before, -1);
    this.#emit({ ...key, before });
  }

  /** Whether a snapshot is what the record of its deployment says, as of this revision. */
  #isDerived({ tenantId, id }: HotKey, revision = 0): boolean {
    const stored = tenantId && this.tenant(tenantId, 'deployments').get(leadingId(id));
    return !!stored && stored.modRevision >= revision && derivedSnapshotId(stored) === id;
  }

  /** The snapshot that the record stands for, if any: in the view before anybody hears of the record. */
  #derive(tenantId: TenantId, id: string, isNew: boolean): HotChange | undefined {
    const stored = this.tenant(tenantId, 'deployments').get(id);
    const after = stored && derivedSnapshot(stored, this.#large.isLarge(stored.bytes ?? 0));
    if (after === undefined) return undefined;
    this.#countDerived(tenantId, stored, 1);
    const specs = this.tenant(tenantId, 'specs');
    const before = isNew ? undefined : specs.get(after.id);
    // Records are loaded in any order: a snapshot that was stored later stays.
    if (!this.#isLoaded && before !== undefined && before.modRevision > after.modRevision) return undefined;
    if (before instanceof UnreadRecord) before.uncount();
    specs.set(after, before?.bytes);
    return { tenantId, kind: 'specs', id: after.id, ...(before === undefined ? {} : { before }), after };
  }

  /** The commit that replaces or removes a record stores its snapshot; one that does not is of a tenant that is erased. */
  #leave(tenantId: TenantId, id: string): void {
    const stored = this.tenant(tenantId, 'deployments').get(id);
    const snapshot = stored && derivedSnapshotId(stored);
    if (snapshot === undefined) return;
    this.#countDerived(tenantId, stored, -1);
    const held = this.tenant(tenantId, 'specs').get(snapshot);
    if (held !== undefined && held.modRevision === stored?.modRevision)
      this.#left.set(tenantKey(tenantId, 'specs', held.id), held);
  }

  #countDerived(tenantId: TenantId, stored: Stored<DeploymentRecord> | undefined, sign: 1 | -1): void {
    const { records, bytes } = this.derived(tenantId);
    this.#derived.set(tenantId, {
      records: records + sign,
      bytes: bytes + sign * (stored?.bytes ?? 0),
    });
  }

  /** Records of deployments that stand for a version of the archive (`deployment-rows.ts`). */
  derived(tenantId: TenantId): Stock {
    return this.#derived.get(tenantId) ?? NONE;
  }

  #settle(): void {
    this.#unread.settled();
    // What is emptied is made anew, with each commit.
    if (this.#left.size === 0) return;
    for (const [key, left] of this.#left) if (this.stored(key) === left) this.#remove(key);
    this.#left.clear();
  }

  #stored(key: HotKey, entry: KvEntry, strings?: SharedStrings): Stored<unknown> {
    const { id } = key;
    const { value, modRevision, createRevision } = entry;
    const bytes = Buffer.byteLength(value);
    if (!this.#large.isLarge(bytes)) {
      // One of another format is read at once: a release that cannot read it must not start.
      const unread =
        strings !== undefined && CODEC.isCurrent(value) ? this.#unread.entry(key, entry, bytes) : undefined;
      if (unread !== undefined) return unread;
      const written = this.#unread.written(key, entry, bytes);
      if (written !== undefined) return written;
      const record: unknown = entry.record ?? decodeRecord(entry.key, value);
      if (entry.record === undefined) strings?.within(record);
      return { id, record, modRevision, createRevision, bytes };
    }
    const read = this.#large.hold(entry.key, value);
    return {
      id,
      get record() {
        return read();
      },
      modRevision,
      createRevision,
      bytes,
    };
  }

  #count(kind: string, stored: Stored<unknown> | undefined, sign: 1 | -1): void {
    const record = stored?.record;
    const tenantId = isRecord(record) ? record['tenantId'] : undefined;
    if (typeof tenantId !== 'string') return;
    const key = `${tenantId}/${kind}`;
    const { records, bytes } = this.#ofTenants.get(key) ?? NONE;
    this.#ofTenants.set(key, { records: records + sign, bytes: bytes + sign * (stored?.bytes ?? 0) });
  }

  /** What is held under a key of the store. */
  stored(fullKey: string): Stored<unknown> | undefined {
    const key = parseHotKey(fullKey);
    if (key === undefined) return undefined;
    const kinds = key.tenantId === undefined ? this.#global : this.#tenants.get(key.tenantId);
    return kinds?.get(key.kind)?.get(key.id);
  }

  /** What a tenant has of a kind, wherever it is stored; kept as records change. */
  stock(tenantId: TenantId, kind: keyof TenantRecords | 'tokens' | 'sessions'): Stock {
    if (OF_TENANTS.has(kind)) return this.#ofTenants.get(`${tenantId}/${kind}`) ?? NONE;
    const held = this.#tenants.get(tenantId)?.get(kind);
    return held === undefined ? NONE : { records: held.size, bytes: held.bytes };
  }

  /** Of what is held as text. */
  get textBytes(): number {
    return this.#unread.bytes;
  }

  /** Until nothing is held as text any more, but what is written meanwhile. */
  readTexts(): Promise<void> {
    return this.#unread.read(this.#texts());
  }

  /** Whether what the first reading brings may be held as text from now on. */
  keepTexts(keeps: boolean): void {
    this.#unread.keeps = keeps;
  }

  *#texts(): Generator<Stored<unknown>> {
    for (const kinds of this.#tenants.values())
      for (const kind of AS_TEXT) yield* kinds.get(kind)?.values() ?? [];
  }

  /** Of everything that is held for a tenant. */
  bytesOf(tenantId: TenantId): number {
    let bytes = 0;
    for (const held of this.#tenants.get(tenantId)?.values() ?? []) bytes += held.bytes;
    return bytes;
  }

  /** A key says what its record is: nothing else is written under it. */
  #emit(change: HotChange): void {
    for (const listener of this.#listeners) listener(change as ViewChange);
  }

  /** Everything up to this revision is in the view. */
  get revision(): number {
    return this.#revision;
  }

  /** False while the store is listed again, and after its watch was lost. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Everything before this revision is here, and it will be as soon as the store publishes it. */
  isNext(revision: number): boolean {
    return this.#isFollowing && revision === this.#revision + 1;
  }

  /** Read-your-writes: resolves when the view holds the given commit, or after `timeoutMs` with false. */
  async reached(revision: number, timeoutMs = 2000): Promise<boolean> {
    if (this.revision >= revision) return true;
    return new Promise((resolve) => {
      const timer = new RunningTimeout(() => {
        const index = this.#waiting.findIndex((waiter) => waiter.wake === wake);
        if (index !== -1) this.#waiting.splice(index, 1);
        resolve(false);
      }, timeoutMs);
      const wake = () => {
        timer.clear();
        resolve(true);
      };
      this.#waiting.push({ revision, wake });
    });
  }

  global<K extends keyof GlobalRecords>(kind: K): Collection<GlobalRecords[K]> {
    return this.#collection(undefined, kind) as Collection<GlobalRecords[K]>;
  }

  tenant<K extends keyof TenantRecords>(tenantId: TenantId, kind: K): Collection<TenantRecords[K]> {
    return this.#collection(tenantId, kind) as Collection<TenantRecords[K]>;
  }

  tenantIds(): readonly TenantId[] {
    return [...this.#tenants.keys()];
  }

  /** Those with a record of the kind; one that has none costs no collection. */
  tenantIdsWith(kind: keyof TenantRecords): readonly TenantId[] {
    const ids: TenantId[] = [];
    for (const [tenantId, kinds] of this.#tenants) if ((kinds.get(kind)?.size ?? 0) > 0) ids.push(tenantId);
    return ids;
  }

  onChange(listener: ViewListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
  }
}
