import { rm } from 'node:fs/promises';
import type {
  AssignedVolume,
  VolumeMeasurement,
  VolumeObservation,
} from '../../core/contract/agent-protocol.ts';
import { type BackOff, backOffMs } from '../back-off.ts';
import { BindNotAllowedError } from '../bind-roots.ts';
import { type Log, messageOf } from '../log.ts';
import type { CopyLink } from './copy-link.ts';
import { CopySender } from './copy-sender.ts';
import { fence } from './fence.ts';
import { type Measurement, ShrinkRefusedError } from './image.ts';
import { machineMs } from './lease-file.ts';
import type { Leases } from './leases.ts';
import type { MountState } from './mount-state.ts';
import { mountAt } from './mounts.ts';
import { ProgramError, run } from './program.ts';
import type { Copy, Diverged, OpenVolume, VolumeEngine, VolumePlace } from './volume-engine.ts';
import type { VolumeRecord, VolumeRecords } from './volume-record.ts';
import { ensureWatchdog } from './watchdog-process.ts';

/** Less than the control plane waits for an answer. */
const SYNC_TIMEOUT_MS = 8_000;
const BACK_OFF: BackOff = { baseMs: 1_000, capMs: 30_000 };

export interface VolumeTools {
  readonly dataDir: string;
  readonly records: VolumeRecords;
  readonly leases: Leases;
  /** For replicated volumes, best first. */
  readonly engines: readonly VolumeEngine[];
  readonly plain: VolumeEngine;
  readonly copyIntervalMs: number;
  readonly link: CopyLink;
  /** The path on the host, checked; fails when it is not allowed. */
  readonly bindSource: (hostPath: string) => Promise<string>;
  /** A container of this node has or will have it mounted. */
  readonly inUse: (volumeId: string) => boolean;
  readonly onChange: (volumeId: string) => void;
  readonly onGone: (volumeId: string) => void;
  readonly log: Log;
}

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** One volume on this node: brings it to what is ordered, one step after the other, as often as the order changes. */
export class KeptVolume {
  readonly place: VolumePlace;
  readonly #tools: VolumeTools;
  #order: AssignedVolume;
  #record: VolumeRecord | undefined;
  #open: OpenVolume | undefined;
  #source: string | undefined;
  #problem: Problem | undefined;
  #failures = 0;
  #measured: Measurement | undefined;
  /** A smaller size that was ordered and could not be had, with what was used then. */
  #refused: { readonly sizeBytes: number; readonly usedBytes: number; readonly message: string } | undefined;
  #copy: Copy | undefined;
  #diverged: readonly Diverged[] = [];
  #sender: CopySender | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #retry: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(order: AssignedVolume, tools: VolumeTools) {
    this.#order = order;
    this.#tools = tools;
    this.place = tools.records.place(order.id);
  }

  get order(): AssignedVolume {
    return this.#order;
  }

  /** The record is on disk before anything is done under it, so this is what the node acts under. */
  get epoch(): number {
    return Math.max(this.#record?.epoch ?? 0, this.#order.epoch);
  }

  get isLeased(): boolean {
    return this.#order.role === 'primary' && this.#order.leaseMs !== undefined;
  }

  take(order: AssignedVolume): void {
    // Messages may cross; the highest epoch counts.
    if (order.epoch < this.epoch) return;
    this.#order = order;
    this.wake();
  }

  wake(): void {
    if (this.#ended) return;
    clearTimeout(this.#retry);
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#again) {
        this.#again = false;
        this.wake();
      }
    });
  }

  /** The agent ends; the volume, its lease and its containers stay as they are. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#expiry);
    await this.#sender?.end();
    await this.#working;
  }

  mountState(): MountState {
    const { role, epoch } = this.#order;
    if (role !== 'primary') {
      return {
        kind: 'lost',
        reason: 'volume_not_primary',
        message: `this node is no longer the primary of ${this.place.id}`,
      };
    }
    if (this.isLeased && !this.#tools.leases.isValid(this.place.id)) {
      const had = this.#tools.leases.deadlineMs(this.place.id) !== undefined;
      const message = had
        ? `the lease of ${this.place.id} ran out: the control plane did not answer`
        : `waits for the lease of ${this.place.id}`;
      return { kind: had ? 'lost' : 'waits', reason: 'volume_not_ready', message };
    }
    if (this.#source !== undefined && this.#record?.epoch === epoch)
      return { kind: 'ready', source: this.#source };
    const { reason, message } = this.#problem ?? {
      reason: 'volume_not_ready',
      message: `volume ${this.place.id} is being prepared`,
    };
    return { kind: 'waits', reason, message };
  }

  async measure(): Promise<void> {
    if (await this.#hasLostMount())
      await this.#endWriters('the mount of a volume is gone: it is mounted anew');
    else this.#measured = await this.#open?.measure().catch(() => this.#measured);
  }

  /** What the primary holds at this moment: what containers wrote and no disk has yet is counted too. */
  async measureNow(): Promise<VolumeMeasurement> {
    const open = this.#open;
    if (this.#order.role !== 'primary' || open === undefined)
      throw new Refusal('volume_not_ready', `this node does not have the volume ${this.place.id} mounted`);
    await run('sync', ['--file-system', open.mount.mountPoint], SYNC_TIMEOUT_MS);
    this.#measured = await open.measure();
    return { ...this.#measured, epoch: this.epoch, shrinkable: open.shrinks };
  }

  /** The watchdog may have ended what had a new lease at that very moment: the lease alone does not say that the mount is there. */
  async #hasLostMount(): Promise<boolean> {
    const open = this.#open;
    if (open === undefined || this.#working !== undefined) return false;
    const mount = await mountAt(open.mount.mountPoint);
    return mount === undefined && this.#open === open && this.#working === undefined;
  }

  observation(): VolumeObservation {
    // Spoken of until it is really gone: the control plane forgets it when nobody speaks of it any more.
    const role = this.#order.role === 'gone' ? (this.#record?.role ?? 'replica') : this.#order.role;
    if (this.#order.role === 'gone') return { volumeId: this.place.id, role, ...this.#state('preparing') };
    const ready = role === 'primary' ? this.mountState().kind === 'ready' : this.#open !== undefined;
    const copies = this.#sender?.state();
    return {
      volumeId: this.place.id,
      role,
      ...this.#state(ready ? 'ready' : 'preparing'),
      ...this.#measured,
      ...(this.#open?.shrinks === true ? { shrinkable: true } : {}),
      ...this.#refusedShrink(ready),
      ...(role === 'replica' && this.#copy !== undefined ? { copy: this.#copy } : {}),
      ...(copies === undefined || copies.length === 0 ? {} : { copies }),
      ...(this.#diverged.length === 0 ? {} : { diverged: this.#diverged }),
    };
  }

  #refusedShrink(ready: boolean): Pick<VolumeObservation, 'problem'> {
    if (!ready || this.#problem !== undefined || this.#refused === undefined) return {};
    return { problem: problem('volume_shrink_refused', this.#refused.message) };
  }

  #state(state: 'ready' | 'preparing'): Pick<VolumeObservation, 'epoch' | 'state' | 'problem'> {
    const epoch = this.#record?.epoch ?? this.#order.epoch;
    if (this.#problem === undefined) return { epoch, state };
    return { epoch, state: state === 'ready' ? state : 'failed', problem: this.#problem };
  }

  /** For a stream of the present epoch: the volume as a copy, or why not. */
  receiving(engine: string, epoch: number): OpenVolume | Problem {
    if (this.#order.role !== 'replica')
      return problem('not_a_replica', 'this node keeps no copy of the volume');
    if (epoch !== this.epoch || this.#record?.epoch !== epoch) {
      return problem('epoch_stale', `the stream is of epoch ${epoch}, this node is at ${this.epoch}`);
    }
    if (this.#open === undefined || this.#record.engine === undefined) {
      return this.#problem ?? problem('volume_not_ready', 'the copy is being prepared');
    }
    if (this.#record.engine !== engine) {
      return problem(
        'engine_differs',
        `the copy is kept by ${this.#record.engine}, the stream is of ${engine}`,
      );
    }
    return this.#open;
  }

  async received(): Promise<void> {
    const copies = this.#open?.copies;
    if (copies === undefined) return;
    this.#copy = (await copies.list()).at(-1);
    this.#diverged = await copies.diverged();
    this.#tools.onChange(this.place.id);
  }

  async #work(): Promise<void> {
    try {
      await this.#bring(this.#order);
      this.#problem = undefined;
      this.#failures = 0;
      await this.measure();
    } catch (error) {
      this.#failures += 1;
      this.#problem = problemOf(error);
      const retryMs = backOffMs(this.#failures, BACK_OFF);
      const { reason, message } = this.#problem;
      this.#tools.log.warn('a volume is not as ordered', { volume: this.place.id, reason, problem: message });
      if (!this.#ended) this.#retry = setTimeout(() => this.wake(), retryMs);
    }
    this.#tools.onChange(this.place.id);
  }

  async #bring(order: AssignedVolume): Promise<void> {
    this.#record ??= await this.#tools.records.read(this.place.id);
    if (this.#record !== undefined && this.#record.epoch > order.epoch) {
      throw new Refusal(
        'epoch_stale',
        `the order is of epoch ${order.epoch}, this node is at ${this.#record.epoch}`,
      );
    }
    if (order.role === 'gone') return await this.#remove();
    if (order.type === 'volume')
      return await (order.role === 'primary' ? this.#asPrimary(order) : this.#asReplica(order));
    await this.#remember(order, undefined);
    this.#source = order.type === 'bind' ? await this.#tools.bindSource(order.hostPath ?? '') : '';
  }

  async #remember({ epoch, role }: AssignedVolume, engine: VolumeEngine | undefined): Promise<void> {
    if (role === 'gone') return;
    const record: VolumeRecord = {
      id: this.place.id,
      epoch,
      role,
      ...(engine === undefined ? {} : { engine: engine.name }),
    };
    if (JSON.stringify(record) === JSON.stringify(this.#record)) return;
    await this.#tools.records.write(record);
    this.#record = record;
  }

  #engineFor(order: AssignedVolume): VolumeEngine {
    const { engines, plain } = this.#tools;
    const usable = order.class === 'replicated' ? engines : [plain];
    const kept = this.#record?.engine;
    const engine = kept === undefined ? usable[0] : usable.find(({ name }) => name === kept);
    if (engine !== undefined) return engine;
    const message =
      kept === undefined
        ? 'no engine for replicated volumes works here'
        : `its engine ${kept} does not work here`;
    throw new Refusal('volume_engine_absent', message);
  }

  async #asPrimary(order: AssignedVolume): Promise<void> {
    const { leases, log } = this.#tools;
    const engine = this.#engineFor(order);
    const changed = this.#record?.epoch !== order.epoch;
    // A copy until it is known to have become more: should that be cut off, it must not go on with nothing.
    const promoted = this.#record?.role === 'replica';
    await this.#remember(promoted ? { ...order, role: 'replica' } : order, engine);
    if (this.isLeased) {
      if (!leases.isValid(order.id)) return this.#forgetMount();
      await ensureWatchdog(this.#tools.dataDir);
    }
    if (changed) await this.#sender?.end();
    if (changed) this.#sender = undefined;
    const volume = await this.#opened(engine, order);
    if (this.isLeased) {
      const { mountPoint, device, source } = volume.mount;
      await leases.hold({ volumeId: order.id, mountPoint, device, source, image: volume.image });
      this.#watchLease();
    } else {
      // Nobody could take over any more: nothing needs to end it.
      clearTimeout(this.#expiry);
      await leases.release(order.id);
    }
    const first = this.#source === undefined;
    this.#source = await volume.writable(order.epoch, promoted);
    await this.#remember(order, engine);
    this.#diverged = (await volume.copies?.diverged()) ?? [];
    // Its lease may have run out meanwhile, and its mount with it.
    if (this.isLeased && !leases.isValid(order.id)) return this.#forgetMount();
    if (first) log.info('volume ready', { volume: order.id, epoch: order.epoch, engine: engine.name });
    this.#sendCopies(order, engine, volume);
  }

  /** Mounted, unless somebody took the mount away, and as large as ordered. */
  async #opened(engine: VolumeEngine, { sizeBytes }: AssignedVolume): Promise<OpenVolume> {
    const known = this.#open;
    const mounted = known !== undefined && (await mountAt(known.mount.mountPoint)) !== undefined;
    const volume = mounted ? known : await engine.open(this.place, sizeBytes);
    this.#open = volume;
    await this.#resize(volume, sizeBytes);
    return volume;
  }

  /** What cannot be made smaller stays as large as it is, and works; it is tried again when there is less in it. */
  async #resize(volume: OpenVolume, sizeBytes: number): Promise<void> {
    const refused = this.#refused;
    if (refused?.sizeBytes === sizeBytes && (await volume.measure()).usedBytes >= refused.usedBytes) return;
    try {
      await volume.resize(sizeBytes);
      this.#refused = undefined;
    } catch (error) {
      if (!(error instanceof ShrinkRefusedError)) throw error;
      const { message, usedBytes } = error;
      this.#refused = { sizeBytes, usedBytes, message };
      this.#tools.log.warn('a volume could not be made smaller', { volume: this.place.id, problem: message });
    }
  }

  #forgetMount(): void {
    this.#source = undefined;
    this.#open = undefined;
  }

  #sendCopies(order: AssignedVolume, engine: VolumeEngine, volume: OpenVolume): void {
    const { copyIntervalMs, link, log, onChange } = this.#tools;
    const { copies } = volume;
    const targets = order.copiesTo ?? [];
    if (copies === undefined || (targets.length === 0 && this.#sender === undefined)) return;
    this.#sender ??= new CopySender({
      volumeId: order.id,
      engine: engine.name,
      epoch: order.epoch,
      volume,
      copies,
      intervalMs: Math.max(copyIntervalMs, engine.leastIntervalMs),
      link,
      log,
      onChange: () => onChange(order.id),
    });
    this.#sender.setTargets(targets);
  }

  async #asReplica(order: AssignedVolume): Promise<void> {
    const engine = this.#engineFor(order);
    this.#source = undefined;
    await this.#remember(order, engine);
    await this.#sender?.end();
    this.#sender = undefined;
    // Written here under an earlier epoch: those containers end first, then what they wrote is kept aside.
    const held = this.#tools.leases.held(order.id);
    clearTimeout(this.#expiry);
    if (held !== undefined) {
      await fence(held);
      await this.#tools.leases.release(order.id);
      this.#open = undefined;
    }
    const volume = await this.#opened(engine, order);
    await volume.copies?.demote();
    await this.received();
    const unsafe = await engine.cannotReceive?.();
    if (unsafe !== undefined) throw new Refusal('receive_unsafe', unsafe);
  }

  /** Later leases move the deadline; it is looked at again when it comes. */
  #watchLease(): void {
    const { leases } = this.#tools;
    clearTimeout(this.#expiry);
    const deadlineMs = leases.deadlineMs(this.place.id);
    if (deadlineMs === undefined) return;
    this.#expiry = setTimeout(
      () => {
        if (leases.isValid(this.place.id)) this.#watchLease();
        else void this.#endWriters('the lease of a volume ran out: its writers are ended');
      },
      Math.max(0, deadlineMs - machineMs()) + 1,
    );
  }

  /** What the watchdog does too, should this process not come to it. */
  async #endWriters(why: string): Promise<void> {
    const { leases, log, onChange } = this.#tools;
    const held = leases.held(this.place.id);
    this.#forgetMount();
    const sender = this.#sender;
    this.#sender = undefined;
    log.warn(why, { volume: this.place.id });
    onChange(this.place.id);
    try {
      await sender?.end();
      if (held !== undefined) await fence(held);
    } catch (error) {
      log.warn('the writers of a volume could not be ended', {
        volume: this.place.id,
        problem: messageOf(error),
      });
    }
    this.wake();
  }

  async #remove(): Promise<void> {
    const { leases, inUse, onGone, plain, engines, log } = this.#tools;
    await this.#sender?.end();
    this.#sender = undefined;
    this.#source = undefined;
    if (inUse(this.place.id)) throw new Refusal('volume_in_use', 'a container still has the volume');
    const engine = [plain, ...engines].find(({ name }) => name === this.#record?.engine);
    if (engine !== undefined && !(await engine.close(this.place))) {
      throw new Refusal('volume_in_use', 'a container still has the volume');
    }
    this.#open = undefined;
    clearTimeout(this.#expiry);
    this.#ended = true;
    await leases.release(this.place.id);
    await rm(this.place.folder, { recursive: true, force: true });
    this.#record = undefined;
    log.info('volume removed', { volume: this.place.id });
    onGone(this.place.id);
  }
}

class Refusal extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

function problem(reason: string, message: string): Problem {
  return { reason, message };
}

function problemOf(error: unknown): Problem {
  const message = messageOf(error);
  if (error instanceof Refusal) return { reason: error.reason, message };
  if (error instanceof BindNotAllowedError) return { reason: 'bind_not_allowed', message };
  if (/no space left|ENOSPC/i.test(message)) return { reason: 'no_space_on_node', message };
  return { reason: error instanceof ProgramError ? 'volume_program_failed' : 'volume_failed', message };
}
