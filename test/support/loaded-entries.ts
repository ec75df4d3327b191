import type { KvEntry, RangeResult, RowPack } from '../../src/server/store/kv.ts';
import { PackedRow } from '../../src/server/store/packed-row.ts';

/** What a page of a load holds, whichever form it came in. */
export function entriesOf(page: RangeResult | RowPack): readonly KvEntry[] {
  if ('entries' in page) return page.entries;
  const entries: KvEntry[] = [];
  for (const row = new PackedRow(page); row.next(); ) entries.push(row.entry());
  return entries;
}
