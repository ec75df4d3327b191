import { createHash } from 'node:crypto';
import { parseKey } from '../store/keys.ts';
import type { KvEntry } from '../store/kv.ts';
import { readWhole, type StorePlace } from '../store/whole-store.ts';

/** What a store holds, in one line: how many records of which kind, and a digest of every key and value in key order. */
export interface Contents {
  readonly records: number;
  readonly sha256: string;
  readonly kinds: ReadonlyMap<string, number>;
}

/** Fed in key order. Revisions are not in it: two stores that hold the same have the same digest. */
export class ContentsDigest {
  readonly #hash = createHash('sha256');
  readonly #kinds = new Map<string, number>();
  #records = 0;

  add(entries: readonly KvEntry[]): void {
    for (const { key, value } of entries) {
      this.#hash.update(`${JSON.stringify([key, value])}\n`);
      const kind = parseKey(key)?.kind ?? 'other';
      this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
      this.#records += 1;
    }
  }

  result(): Contents {
    return { records: this.#records, sha256: this.#hash.copy().digest('hex'), kinds: this.#kinds };
  }
}

export async function digestOf(pages: AsyncIterable<readonly KvEntry[]>): Promise<Contents> {
  const digest = new ContentsDigest();
  for await (const page of pages) digest.add(page);
  return digest.result();
}

/** Of a store as it is now. */
export async function contentsOf(place: StorePlace): Promise<Contents> {
  const store = await readWhole(place);
  try {
    return await digestOf(store.pages());
  } finally {
    await store.close();
  }
}

const TOLD = ['tenants', 'deployments', 'jobs', 'nodes', 'volumes'] as const;

/** `1 node`, `2 nodes`. */
export function amount(count: number, things: string): string {
  return `${count} ${count === 1 ? things.slice(0, -1) : things}`;
}

/** For people. */
export function contentsText({ records, sha256, kinds }: Contents): string {
  const told = TOLD.map((kind) => amount(kinds.get(kind) ?? 0, kind)).join(', ');
  return `${amount(records, 'records')} (${told}), sha256 ${sha256}`;
}
