import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { StorePlace } from '../store/whole-store.ts';

/** Where the control plane of this configuration has its records. */
export function storePlace({ store, dataDir }: Pick<Config, 'store' | 'dataDir'>): StorePlace {
  return { config: store, dir: join(dataDir, 'store'), readFile: (path) => readFileSync(path, 'utf8') };
}
