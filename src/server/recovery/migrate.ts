import type { Config } from '../config.ts';
import { holdStore, isEmptyStore, placeName, readWhole, writeWhole } from '../store/whole-store.ts';
import { type Contents, ContentsDigest, contentsOf, digestOf } from './digest.ts';
import { RecoveryError } from './failure.ts';
import { raisedHead } from './raised.ts';
import { storePlace } from './store-place.ts';
import { requireSame } from './verify.ts';
import type { KvEntry } from '../store/kv.ts';

async function* counted(
  pages: AsyncIterable<readonly KvEntry[]>,
  digest: ContentsDigest,
): AsyncGenerator<readonly KvEntry[]> {
  for await (const page of pages) {
    digest.add(page);
    yield page;
  }
}

/** Copies a store that no control plane serves into an empty one of the other kind, and proves that both hold the same. */
export async function migrateStore(from: Config, to: Config): Promise<Contents> {
  const [source, target] = [storePlace(from), storePlace(to)];
  if (from.store.kind === to.store.kind)
    throw new RecoveryError(
      'usage',
      `both stores are ${from.store.kind}; a migration is between the two kinds`,
    );
  if (!(await isEmptyStore(target)))
    throw new RecoveryError(
      'notEmpty',
      `there is a store already: ${placeName(target)}. Move it away, or name another data folder or prefix; nothing was changed.`,
    );
  // Before it is held, which would make an empty one where there is none.
  await (await readWhole(source)).close();
  const release = await holdStore(source);
  try {
    const store = await readWhole(source);
    const digest = new ContentsDigest();
    const head = raisedHead(store.revision, Date.now());
    const unserved = `nothing is served from ${placeName(target)}: run the migration once more, it starts over`;
    try {
      // Before the target is one that a control plane would start on.
      await writeWhole(target, head, counted(store.pages(), digest), async (there) => {
        const written = digest.result();
        requireSame(written, await digestOf(there), placeName(target), unserved);
        // Whoever wrote to the source meanwhile would have lost it.
        const still = await contentsOf(source);
        requireSame(written, still, `${placeName(source)} was changed meanwhile and`, unserved);
      });
    } finally {
      await store.close();
    }
    return digest.result();
  } finally {
    await release();
  }
}
