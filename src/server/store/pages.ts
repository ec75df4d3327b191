import type { Kv, KvEntry, RangeResult } from './kv.ts';

/** Entries until their values reach `most` bytes, and whether more follow. */
export function cutAtBytes(
  entries: Iterable<KvEntry>,
  most: number,
): { readonly entries: KvEntry[]; readonly more: boolean } {
  const taken: KvEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (bytes >= most) return { entries: taken, more: true };
    taken.push(entry);
    bytes += entry.value.length;
  }
  return { entries: taken, more: false };
}

const PAGE_BYTES = 4 * 1024 * 1024;

/** Everything under a prefix as one snapshot, a few megabytes at a time. */
export async function* snapshotPages(kv: Pick<Kv, 'range'>, prefix: string): AsyncGenerator<RangeResult> {
  let after: string | undefined;
  let revision: number | undefined;
  for (;;) {
    const page = await kv.range(prefix, {
      bytes: PAGE_BYTES,
      ...(after === undefined ? {} : { after }),
      ...(revision === undefined ? {} : { revision }),
    });
    yield page;
    if (page.more !== true) return;
    ({ revision } = page);
    after = page.entries.at(-1)?.key;
  }
}

export async function sizeByPages(
  kv: Pick<Kv, 'range'>,
  prefix: string,
): Promise<{ readonly records: number; readonly bytes: number }> {
  let [records, bytes] = [0, 0];
  for await (const page of snapshotPages(kv, prefix)) {
    records += page.entries.length;
    for (const { value } of page.entries) bytes += Buffer.byteLength(value);
  }
  return { records, bytes };
}
