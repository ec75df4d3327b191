import { messageOf, optional } from '../../core/model/values.ts';
import type {
  AssignedVolume,
  VolumeMeasurement,
  VolumeObservation,
} from '../../core/protocol/agent-protocol.ts';
import { type BackOff, backOffMs } from '../back-off.ts';
import { BindNotAllowedError } from '../containers/bind-roots.ts';
import { CopyRoom } from './copy-room.ts';
import { DivergenceAges } from './divergence-ages.ts';
import { type DivergenceRow, divergenceRows } from './divergence-rows.ts';
import { fence } from './fence.ts';
import { machineMs } from './lease-file.ts';
import type { MountState } from './mount-state.ts';
import { mountAt } from './mounts.ts';
import { planVolume } from './plan.ts';
import { ProgramError, run } from './program.ts';
import { type LeaseState, mountStateOf, observationOf, receiverOf } from './report.ts';
import { type VolumeProblem, metadataOf, senderOf, UNKNOWN_VOLUME, volumeOf } from './state.ts';
import type { VolumeStep } from './step.ts';
import {
  type Change,
  type LaneState,
  released,
  inspectCopies,
  Refusal,
  takeStep,
  type VolumeTools,
} from './steps.ts';
import type { OpenVolume, VolumePlace } from './volume-engine.ts';

/** Less than the control plane waits for an answer. */
const SYNC_TIMEOUT_MS = 8_000;
const BACK_OFF: BackOff = { baseMs: 1_000, capMs: 30_000 };

/** One volume on this node: looks, plans, takes one step after the other, and again as often as the order changes. */
export class VolumeLane {
  readonly place: VolumePlace;
  /** For copies of other nodes. */
  readonly room = new CopyRoom();
  readonly #ages: DivergenceAges;
  readonly #tools: VolumeTools;
  #order: AssignedVolume;
  #state: LaneState = UNKNOWN_VOLUME;
  #pass: Promise<void> | undefined;
  #again = false;
  #hasEnded = false;
  #retry: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(order: AssignedVolume, tools: VolumeTools) {
    this.#order = order;
    this.#tools = tools;
    this.place = tools.records.place(order.id);
    this.#ages = new DivergenceAges(this.place.folder, tools.log);
  }

  get order(): AssignedVolume {
    return this.#order;
  }

  /** The record is on disk before anything is done under it, so this is what the node acts under. */
  get #epoch(): number {
    return Math.max(metadataOf(this.#state)?.epoch ?? 0, this.#order.epoch);
  }

  get #lease(): LeaseState {
    const { leases } = this.#tools;
    if (leases.isValid(this.place.id)) return 'valid';
    return leases.deadlineMs(this.place.id) === undefined ? 'none' : 'over';
  }

  take(order: AssignedVolume): void {
    // Messages may cross; the highest epoch counts.
    if (order.epoch < this.#epoch) return;
    this.#order = order;
    this.wake();
  }

  wake(): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#retry);
    if (this.#pass !== undefined) {
      this.#again = true;
      return;
    }
    this.#pass = this.#work().finally(() => {
      this.#pass = undefined;
      if (this.#again) {
        this.#again = false;
        this.wake();
      }
    });
  }

  /** The agent ends; the volume, its lease and its containers stay as they are. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#expiry);
    await senderOf(this.#state)?.end();
    await this.#pass;
  }

  mountState(): MountState {
    return mountStateOf(this.#order, this.#state, this.#lease);
  }

  observation(): VolumeObservation {
    return observationOf(this.#order, this.#state, this.#lease);
  }

  /** What was kept aside, and what becomes of it. */
  divergences(): readonly DivergenceRow[] {
    const { keepDivergedMs } = this.#tools;
    return divergenceRows({
      order: this.#order,
      state: this.#state,
      ...optional('keepDivergedMs', keepDivergedMs),
    });
  }

  /** One more pass, to its end. */
  async passed(): Promise<void> {
    this.wake();
    while (this.#pass !== undefined) await this.#pass;
  }

  receiving(engine: string, epoch: number): OpenVolume | VolumeProblem {
    return receiverOf(this.#order, this.#state, engine, epoch);
  }

  async received(): Promise<void> {
    const copies = volumeOf(this.#state)?.copies;
    if (copies === undefined) return;
    this.#apply(await inspectCopies(copies, this.#ages));
    this.#tools.onChange(this.place.id);
  }

  async measure(): Promise<void> {
    if (await this.#hasLostMount()) {
      await this.#endWriters('the mount of a volume is gone: remounting it');
      return;
    }
    const measured = await volumeOf(this.#state)
      ?.measure()
      .catch(() => this.#state.measured);
    this.#apply(({ measured: _before, ...now }) => ({ ...now, ...(measured && { measured }) }));
  }

  /** What the primary holds at this moment: what containers wrote and no disk has yet is counted too. */
  async measureNow(): Promise<VolumeMeasurement> {
    const volume = volumeOf(this.#state);
    if (this.#order.role !== 'primary' || volume === undefined)
      throw new Refusal('volume_not_ready', `this node does not have the volume ${this.place.id} mounted`);
    await run('sync', ['--file-system', volume.mount.mountPoint], SYNC_TIMEOUT_MS);
    const measured = await volume.measure();
    this.#apply((now) => ({ ...now, measured }));
    return { ...measured, epoch: this.#epoch, shrinkable: volume.shrinks };
  }

  #apply(change: Change): void {
    this.#state = change(this.#state);
  }

  async #work(): Promise<void> {
    const { log, onChange, onGone } = this.#tools;
    try {
      await this.#bring(this.#order);
      this.#apply(({ trouble: _over, ...now }) => now);
      if (this.#state.hold.kind === 'removed') {
        this.#hasEnded = true;
        onGone(this.place.id);
      }
      await this.measure();
    } catch (error) {
      const problem = problemOf(error);
      const times = (this.#state.trouble?.times ?? 0) + 1;
      this.#apply((now) => ({ ...now, trouble: { problem, times } }));
      const { reason, message } = problem;
      log.warn('a volume is not as ordered', { volume: this.place.id, reason, problem: message });
      if (!this.#hasEnded) this.#retry = setTimeout(() => this.wake(), backOffMs(times, BACK_OFF));
    }
    onChange(this.place.id);
  }

  async #bring(order: AssignedVolume): Promise<void> {
    const tools = this.#tools;
    const { id } = this.place;
    const engines = tools.engines.map(({ name }) => name);
    const isMounted = await this.#isMounted();
    const done = new Set<VolumeStep['kind']>();
    for (;;) {
      const step = planVolume({
        order,
        state: this.#state,
        engines,
        plain: tools.plain.name,
        leaseIsValid: tools.leases.isValid(id),
        leaseIsHeld: tools.leases.held(id) !== undefined,
        isMounted,
        inUse: tools.inUse(id),
        ...optional('keepDivergedMs', tools.keepDivergedMs),
        done,
      });
      if (step === undefined) return;
      const change = await takeStep(step, {
        tools,
        place: this.place,
        state: this.#state,
        ages: this.#ages,
        watchLease: () => this.#watchLease(),
        unwatchLease: () => clearTimeout(this.#expiry),
      });
      this.#apply(change);
      done.add(step.kind);
    }
  }

  async #isMounted(): Promise<boolean> {
    const volume = volumeOf(this.#state);
    return volume !== undefined && (await mountAt(volume.mount.mountPoint)) !== undefined;
  }

  /** The watchdog may have ended what had a new lease at that very moment: the lease alone does not say that the mount is there. */
  async #hasLostMount(): Promise<boolean> {
    const volume = volumeOf(this.#state);
    if (volume === undefined || this.#pass !== undefined) return false;
    const isMounted = await this.#isMounted();
    return !isMounted && volumeOf(this.#state) === volume && this.#pass === undefined;
  }

  /** Later leases move the deadline; it is re-checked when it comes. */
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

  /** What the watchdog does too, should this process not come to it. Beside the lane: it waits for no step. */
  async #endWriters(why: string): Promise<void> {
    const { leases, log, onChange } = this.#tools;
    const { id } = this.place;
    const entry = leases.held(id);
    const sender = senderOf(this.#state);
    this.#apply(released);
    log.warn(why, { volume: id });
    onChange(id);
    try {
      await sender?.end();
      if (entry !== undefined) await fence(entry);
    } catch (error) {
      log.warn('the writers of a volume could not be ended', { volume: id, problem: messageOf(error) });
    }
    this.wake();
  }
}

function problemOf(error: unknown): VolumeProblem {
  const message = messageOf(error);
  if (error instanceof Refusal) return { reason: error.reason, message };
  if (error instanceof BindNotAllowedError) return { reason: 'bind_not_allowed', message };
  if (/no space left|ENOSPC/i.test(message)) return { reason: 'no_space_on_node', message };
  return { reason: error instanceof ProgramError ? 'volume_program_failed' : 'volume_failed', message };
}
