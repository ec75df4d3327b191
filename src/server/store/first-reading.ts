import type { TenantId } from '../../core/model/ids.ts';
import type { Collection, Stored } from './collection.ts';
import { HOT_PREFIX, type HotKey, parseHotKey } from './keys.ts';
import type { Kv, KvEntry, RowPack } from './kv.ts';
import { PackedRow } from './packed-row.ts';
import { snapshotPages } from './pages.ts';
import { RecentPlaces } from './recent-places.ts';
import { SharedStrings } from './shared-strings.ts';
import type { UnreadRecords } from './unread-records.ts';

/** The records of one kind and one tenant, or of the platform. */
export interface Held extends Omit<HotKey, 'id'> {
  readonly collection: Collection<unknown>;
}

export type HeldPlace = HotKey & Held;

/** Of the first reading, of many records at once. */
export interface Loading {
  readonly strings: SharedStrings;
  readonly places: RecentPlaces<Held>;
  /** Nothing is held under any key yet. */
  readonly isNew: boolean;
  /** A stored snapshot of a spec was among them. */
  hasSnapshots: boolean;
}

/** What is read goes here. */
interface Target {
  readonly unread: UnreadRecords;
  collection(tenantId: TenantId | undefined, kind: string): Collection<unknown>;
  put(entry: KvEntry, loading: Loading): void;
  hold(place: HeldPlace, after: Stored<unknown>, loading: Loading): void;
  /** Nothing more is wanted. */
  isClosed(): boolean;
  /** After each page, with the bytes read so far. */
  onPage(bytes: number): Promise<void> | void;
}

/**
 * Takes in the whole store page by page, where nothing is held and nobody reads: the whole as text beside the records could be too much to hold.
 * Keys that are met are taken out of `gone`, which has those of an attempt that ended half-way. The answer is the revision of what was read;
 * undefined: it was ended.
 */
export async function readFirst(kv: Kv, target: Target, gone: Set<string>): Promise<number | undefined> {
  const isNew = gone.size === 0;
  let [revision, bytes] = [0, 0];
  const loading = {
    strings: new SharedStrings(),
    places: new RecentPlaces<Held>(),
    isNew,
    hasSnapshots: false,
  };
  const take = (entry: KvEntry): void => {
    if (!isNew) gone.delete(entry.key);
    target.put(entry, loading);
  };
  const pages = kv.readAhead?.(HOT_PREFIX) ?? kv.load?.(HOT_PREFIX) ?? snapshotPages(kv, HOT_PREFIX);
  for await (const page of pages) {
    if (target.isClosed()) return undefined;
    ({ revision } = page);
    if ('values' in page) {
      takePack(page, target, loading, take);
      bytes += page.bytes ?? page.values.length;
    } else {
      for (const entry of page.entries) {
        take(entry);
        bytes += entry.value.length;
      }
    }
    await target.onPage(bytes);
  }
  return revision;
}

/** What may stay text is held as it lies in the pack. */
function takePack(pack: RowPack, target: Target, loading: Loading, take: (entry: KvEntry) => void): void {
  const held = pack.beginnings.map((beginning) => {
    const key = parseHotKey(beginning);
    return key && { ...key, collection: target.collection(key.tenantId, key.kind) };
  });
  for (const row = new PackedRow(pack); row.next(); ) {
    const place = held[row.place];
    const after = place && loading.isNew ? target.unread.row(place.kind, row) : undefined;
    if (place !== undefined && after !== undefined) target.hold({ ...place, id: row.id }, after, loading);
    else take(row.entry());
  }
}
