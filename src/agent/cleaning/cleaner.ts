import { messageOf } from '../../core/model/values.ts';
import type { NodeCleaning } from '../../core/protocol/agent-protocol.ts';
import type { Engine } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import {
  type CleaningCause,
  type CleaningView,
  forgotten,
  inUse,
  type Judgement,
  judgeImages,
  questionable,
} from './plan.ts';
import { conditionsOf, type Reading, readMachine, type Shortage } from './conditions.ts';
import { type Disk, readDisk } from './disk.ts';
import type { PulledImages } from './pulled-images.ts';

const LOOK_MS = 15_000;
const AGE_MS = 60 * 60_000;
/** After a round that could not make room: what is needed does not change from one look to the next. */
const REST_MS = 60_000;
const CALL = { deadlineMs: 30_000 };

export interface CleaningSettings {
  /** Of the engine's disk, in percent; absent: what is full stays so. */
  readonly disk?: { readonly from: number; readonly to: number };
  /** Absent: nothing goes for its age alone. */
  readonly unusedMs?: number;
  /** Absent: divergences of volumes stay until somebody removes them. */
  readonly divergedMs?: number;
}

export interface CleanerOptions {
  readonly engine: Pick<Engine, 'listImages' | 'list' | 'removeImage' | 'imageExists'>;
  readonly pulled: PulledImages;
  readonly settings: CleaningSettings;
  /** A folder on the engine's disk. */
  readonly rootDir: () => string;
  /** References of this node's orders, and of pulls under way, at this moment. */
  readonly wanted: () => ReadonlySet<string>;
  /** Which of these the control plane needs, with why. Undefined: it does not answer. */
  readonly ask: (images: readonly string[]) => Promise<ReadonlyMap<string, string> | undefined>;
  /** Removes divergences of volumes whose time is over, or says which. By itself that happens in the volumes' own time. */
  readonly divergences: (dryRun: boolean) => Promise<NonNullable<NodeCleaning['divergences']>>;
  readonly onRemoved: (removed: RemovedImage, cause: CleaningCause) => void;
  /** What the machine runs out of is other than before. */
  readonly onConditions: () => void;
  readonly log: Log;
}

export interface RemovedImage {
  readonly image: string;
  readonly bytes: number;
}

/** Keeps room on the engine's disk. One round at a time: looks, has it judged, asks the control plane, removes one after the other. */
export class Cleaner {
  readonly #options: CleanerOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<unknown> = Promise.resolve();
  #agedMs = performance.now();
  #saidFull = false;
  #restUntilMs = -Infinity;
  #looking = false;
  #conditions: readonly Shortage[] = [];

  constructor(options: CleanerOptions) {
    this.#options = options;
  }

  /** What keeps new work away from this machine, as of the last look. */
  get conditions(): readonly Shortage[] {
    return this.#conditions;
  }

  run(signal: AbortSignal): void {
    this.wake();
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(this.#timer), { once: true });
  }

  /** Room was taken, or could not be had: look now rather than in a while. */
  wake(): void {
    void this.#look();
  }

  /** Because somebody asks. With `dryRun` nothing is removed. */
  async clean(dryRun: boolean): Promise<NodeCleaning> {
    const images = await this.#inTurn(() => this.#clean('asked', dryRun));
    // Not in turn: a volume may be busy for long, and room for images must not wait for it.
    const divergences = await this.#options.divergences(dryRun);
    return { ...images, ...(divergences.length > 0 && { divergences }) };
  }

  /** By itself; whatever fails is tried again. */
  async #look(): Promise<void> {
    const { settings, log } = this.#options;
    const nowMs = performance.now();
    if (this.#looking) return;
    this.#looking = true;
    try {
      const disk = await this.#disk();
      const isFull = settings.disk !== undefined && disk !== undefined && percent(disk) >= settings.disk.from;
      const isAged = settings.unusedMs !== undefined && nowMs - this.#agedMs >= AGE_MS;
      if (isFull && nowMs >= this.#restUntilMs) await this.#inTurn(() => this.#clean('disk', false));
      else if (isAged) {
        this.#agedMs = nowMs;
        await this.#inTurn(() => this.#clean('age', false));
      }
      await this.#judgeMachine();
    } catch (error) {
      log.warn('cleaning up failed', { reason: messageOf(error) });
    } finally {
      this.#looking = false;
    }
  }

  /** After a round, which may have made room. */
  async #judgeMachine(): Promise<void> {
    const disk = await this.#disk();
    const what = `the disk of the engine (${this.#options.rootDir()})`;
    const readings: readonly Reading[] = [
      ...(disk === undefined
        ? []
        : [
            {
              kind: 'disk',
              percent: percent(disk),
              freeBytes: disk.totalBytes - disk.usedBytes,
              what,
            } as const,
          ]),
      ...(await readMachine()),
    ];
    const before = JSON.stringify(this.#conditions);
    this.#conditions = conditionsOf(readings, this.#conditions);
    if (JSON.stringify(this.#conditions) === before) return;
    this.#options.log.warn('what this machine runs out of has changed', {
      conditions: this.#conditions.map(({ message }) => message).join('; '),
    });
    this.#options.onConditions();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#round.then(work, work);
    this.#round = turn.catch(() => undefined);
    return turn;
  }

  async #clean(cause: CleaningCause, dryRun: boolean): Promise<NodeCleaning> {
    const { pulled, ask, log } = this.#options;
    const before = await this.#disk();
    const view = await this.#view(cause);
    await pulled.used(inUse(view));
    const asked = questionable(view);
    const needed = asked.length === 0 ? new Map<string, string>() : await ask(asked);
    const judged = judgeImages({ ...view, needed });
    if (!dryRun) await pulled.forget(forgotten(judged));
    const removed = dryRun ? removals(judged) : await this.#remove(judged, cause);
    const after = dryRun ? before : await this.#disk();
    if (cause === 'disk') this.#checkRoom(after, removed.length);
    if (removed.length > 0 && !dryRun)
      log.info('images were removed', { cause, images: removed.length, bytes: total(removed) });
    return {
      ...(after && { disk: after }),
      removed,
      kept: judged.flatMap((one) =>
        one.verdict === 'keep' && one.reason !== 'gone'
          ? [{ image: one.image, bytes: one.bytes, reason: one.reason, message: one.message }]
          : [],
      ),
      others: view.images.filter(({ id }) => ![...view.pulled.values()].some((one) => one.id === id)).length,
    };
  }

  async #view(cause: CleaningCause): Promise<Omit<CleaningView, 'needed'>> {
    const { engine, pulled, settings, wanted } = this.#options;
    const [images, containers] = await Promise.all([
      engine.listImages(CALL),
      engine.list({ all: true }, CALL),
    ]);
    return {
      nowMs: Date.now(),
      cause,
      unusedMs: settings.unusedMs ?? Infinity,
      images,
      pulled: pulled.all,
      used: new Set(containers.map(({ imageId }) => imageId)),
      wanted: wanted(),
    };
  }

  async #remove(judged: readonly Judgement[], cause: CleaningCause): Promise<readonly RemovedImage[]> {
    const { engine, pulled, wanted, onRemoved, settings, log } = this.#options;
    const removed: RemovedImage[] = [];
    for (const { image, bytes } of removals(judged)) {
      const disk = cause === 'disk' ? await this.#disk() : undefined;
      if (disk !== undefined && settings.disk !== undefined && percent(disk) < settings.disk.to) break;
      // Ordered since the round began. A container that was made since keeps its image by itself: the engine refuses.
      if (wanted().has(image)) continue;
      try {
        await engine.removeImage(image, CALL);
      } catch (error) {
        // An answer that came too late is no refusal.
        const isThere = await engine.imageExists(image, CALL).catch(() => true);
        if (isThere) {
          log.warn('an image could not be removed', { image, reason: messageOf(error) });
          continue;
        }
      }
      removed.push({ image, bytes });
      onRemoved({ image, bytes }, cause);
      await pulled.forget([image]);
    }
    return removed;
  }

  #checkRoom(disk: Disk | undefined, removed: number): void {
    const { settings, log } = this.#options;
    if (disk === undefined || settings.disk === undefined || percent(disk) < settings.disk.from) {
      this.#saidFull = false;
      return;
    }
    this.#restUntilMs = performance.now() + REST_MS;
    if (this.#saidFull) return;
    this.#saidFull = true;
    log.warn('the disk of the engine is above --clean-disk, and nothing more may be removed', {
      folder: this.#options.rootDir(),
      percent: Math.round(percent(disk)),
      removed,
    });
  }

  /** Undefined: the engine's disk is not of this machine. */
  #disk(): Promise<Disk | undefined> {
    return readDisk(this.#options.rootDir());
  }
}

function percent({ usedBytes, totalBytes }: Disk): number {
  return totalBytes === 0 ? 0 : (100 * usedBytes) / totalBytes;
}

function removals(judged: readonly Judgement[]): readonly RemovedImage[] {
  return judged.flatMap((one) => (one.verdict === 'remove' ? [{ image: one.image, bytes: one.bytes }] : []));
}

function total(removed: readonly RemovedImage[]): number {
  return removed.reduce((sum, { bytes }) => sum + bytes, 0);
}
