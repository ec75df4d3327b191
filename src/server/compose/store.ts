import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { Logger } from 'pino';
import { alone } from '../cluster/alone.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { Clustered } from '../cluster/clustered.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { rootKeyPlace } from '../config-checks.ts';
import { MemoryBrake, processHeap } from '../memory-brake.ts';
import { requireHeap } from '../startup.ts';
import { DERIVED_ROWS_FORMAT } from '../store/deployment-rows.ts';
import { StoreFormat } from '../store/format.ts';
import { openKv } from '../store/open.ts';
import { Store } from '../store/store.ts';
import { timedKv } from '../store/timed-kv.ts';
import { StoreView } from '../store/view.ts';
import { VERSION } from '../version.ts';

/** The store with its view, which is empty until it is loaded, and the memory that holds it. */
export async function composeStore(
  config: Config,
  log: Logger,
  readFile: (path: string) => string,
  onCommit: Parameters<typeof timedKv>[1],
) {
  const opened = await openKv(config.store, join(config.dataDir, 'store'), readFile, { readAhead: true });
  const { live } = opened;
  /** The history, which a start does not read. */
  const verifyRest = (): void => {
    opened.verify().catch((error: unknown) => log.error({ problem: messageOf(error) }, 'store'));
  };
  const format = new StoreFormat(VERSION);
  const kv = format.writing(timedKv(opened.kv, onCommit));
  const heap = processHeap();
  const brake = new MemoryBrake(heap, config.limits.heapShare);
  const view: StoreView = new StoreView(kv, {
    onProblem: (problem) => log.warn({ problem }, 'store view'),
    onPage: (read) => requireHeap(kv, brake, view, read),
  });
  brake.follow(view);
  const store = new Store(kv, view, () => format.active >= DERIVED_ROWS_FORMAT);
  return { kv, live, verifyRest, format, heap, brake, view, store };
}

/** The one place that asks whether there may be other control planes. */
export function composeCluster(
  config: Config,
  log: Logger,
  {
    store,
    format,
    clock,
    tokenKey,
  }: {
    readonly store: Store;
    readonly format: StoreFormat;
    readonly clock: Clock;
    readonly tokenKey: Buffer;
  },
): Cluster {
  if (config.store.kind === 'sqlite') return alone(store, format);
  return new Clustered({
    store,
    format,
    clock,
    tokenKey,
    tokenKeyFile: config.tokenKeyFile,
    rootKeyPlace: rootKeyPlace(config.rootKey),
    leaseMs: config.timers.controlPlaneLeaseMs,
    log: (problem, details) => log.warn(details, problem),
    say: (news, details) => log.info(details, news),
  });
}
