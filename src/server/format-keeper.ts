import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../core/model/values.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { StoreFormat } from './store/format.ts';
import type { Kv } from './store/kv.ts';
import { StoreFormatError } from './store/record-codec.ts';
import type { StoreView } from './store/view.ts';

/** After a failure, and of a control plane that left: its record goes with its lease. */
const AGAIN_MS = 5_000;

interface Kept {
  readonly kv: Kv;
  readonly view: StoreView;
  readonly format: StoreFormat;
  readonly cluster: Cluster;
  readonly log: Logger;
}

/** Raises the format of the store once every control plane reads the next one, then has the records of earlier formats written again. */
export class FormatKeeper {
  /** Resolves when this process can work with the store no more, e.g. since another one raised the format beyond what it reads. */
  readonly outdated: Promise<Error>;
  readonly #kept: Kept;
  readonly #stopping = new AbortController();
  #unsubscribe: (() => void) | undefined;
  #tell: (error: Error) => void = () => undefined;
  #wake = (): void => undefined;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.outdated = new Promise((resolve) => (this.#tell = resolve));
  }

  start(): void {
    const { view, format } = this.#kept;
    this.#unsubscribe = view.onChange((change) => {
      if (change.kind === 'control-planes') this.#wake();
      if (change.kind !== 'store-format' || change.after === undefined) return;
      this.#wake();
      try {
        format.take(change.after.record);
      } catch (error) {
        this.#tell(error instanceof Error ? error : new Error(messageOf(error)));
      }
    });
    void this.#run();
  }

  /** Others found out. */
  refused(error: Error): void {
    this.#tell(error);
  }

  stop(): void {
    this.#stopping.abort();
    this.#unsubscribe?.();
    this.#wake();
  }

  async #run(): Promise<void> {
    const { log, format } = this.#kept;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (this.#wake = resolve));
      try {
        await this.#raise(signal);
        if (format.active === format.newest) return;
        log.info(
          { format: format.active, newest: format.newest },
          'the store keeps its format until every control plane reads the next one',
        );
        await changed;
      } catch (error) {
        if (error instanceof StoreFormatError) return this.#tell(error);
        log.warn({ problem: messageOf(error) }, 'the format of the store could not be raised yet');
        await pause(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #raise(signal: AbortSignal): Promise<void> {
    const { kv, cluster, format, log } = this.#kept;
    if (await cluster.raiseFormat())
      log.info(
        { format: format.active },
        'the store has a new format; earlier releases refuse it from now on',
      );
    const records = await format.rewrite(kv, signal);
    if (records > 0)
      log.info({ format: format.active, records }, 'records of earlier formats were rewritten');
  }
}
