import { rm } from 'node:fs/promises';
import { messageOf } from '../../core/model/values.ts';
import type { Log } from '../log.ts';
import type { CopyLink } from './copy-link.ts';
import { CopySender } from './copy-sender.ts';
import type { DivergenceAges, KeptDivergence } from './divergence-ages.ts';
import { fence } from './fence.ts';
import { ShrinkRefusedError } from './image.ts';
import type { Leases } from './leases.ts';
import { mountAt } from './mounts.ts';
import { type Hold, senderOf, type VolumeState, volumeOf } from './state.ts';
import type { StepOf, VolumeStep } from './step.ts';
import type { OpenVolume, SnapshotCopies, VolumeEngine, VolumePlace } from './volume-engine.ts';
import type { VolumeMetadataFiles } from './volume-metadata.ts';
import { ensureWatchdog } from './watchdog-process.ts';

export interface VolumeTools {
  readonly dataDir: string;
  readonly records: VolumeMetadataFiles;
  readonly leases: Leases;
  /** For replicated volumes, best first. */
  readonly engines: readonly VolumeEngine[];
  readonly plain: VolumeEngine;
  readonly copyIntervalMs: number;
  /** How long divergences are kept; absent: until somebody removes them. */
  readonly keepDivergedMs?: number;
  readonly link: CopyLink;
  /** The path on the host, checked; fails when it is not allowed. */
  readonly bindSource: (hostPath: string) => Promise<string>;
  /** A container of this node has or will have it mounted. */
  readonly inUse: (volumeId: string) => boolean;
  readonly onChange: (volumeId: string) => void;
  readonly onGone: (volumeId: string) => void;
  readonly onDiscarded: (volumeId: string, divergence: KeptDivergence) => void;
  readonly log: Log;
}

export type LaneState = VolumeState<OpenVolume, CopySender>;

/** Applied to the state as it is when the step is done: meanwhile the lease may have run out, and its mount have gone. */
export type Change = (now: LaneState) => LaneState;

export interface VolumeBench {
  readonly tools: VolumeTools;
  readonly place: VolumePlace;
  readonly state: LaneState;
  readonly ages: DivergenceAges;
  /** Ends the writers when the lease runs out. */
  readonly watchLease: () => void;
  readonly unwatchLease: () => void;
}

type Executor<Kind extends VolumeStep['kind']> = (step: StepOf<Kind>, bench: VolumeBench) => Promise<Change>;

export class Refusal extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The last copy is waited for: what was cut off is tried again soon. */
const LAST_COPY_AGAIN_MS = 250;

const unchanged: Change = (now) => now;

function held(hold: Hold<OpenVolume, CopySender>): Change {
  return (now) => ({ ...now, hold });
}

function mountedVolume({ state }: VolumeBench): OpenVolume {
  const volume = volumeOf(state);
  // It went with its lease: the pass starts over.
  if (volume === undefined) throw new Refusal('volume_not_ready', 'the mount of the volume is gone');
  return volume;
}

function engineNamed({ tools: { plain, engines } }: VolumeBench, name: string): VolumeEngine {
  const engine = [plain, ...engines].find((one) => one.name === name);
  if (engine === undefined)
    throw new Refusal('volume_engine_absent', `its engine ${name} does not work here`);
  return engine;
}

/** What a replica has, newest last, and what was kept aside. */
export async function inspectCopies(copies: SnapshotCopies, ages: DivergenceAges): Promise<Change> {
  const copy = (await copies.list()).at(-1);
  const diverged = await ages.of(await copies.diverged());
  return ({ copy: _before, ...now }) => ({ ...now, diverged, ...(copy === undefined ? {} : { copy }) });
}

/** A state without its sender: nothing is sent before it is prepared again. */
export function notSending(now: LaneState): LaneState {
  if (now.hold.kind === 'sealed') return { ...now, hold: { kind: 'mounted', volume: now.hold.volume } };
  if (now.hold.kind !== 'writing') return now;
  const { sender: _ended, ...hold } = now.hold;
  return { ...now, hold };
}

export function released(now: LaneState): LaneState {
  return { ...now, hold: { kind: 'nothing' } };
}

const EXECUTORS: { readonly [Kind in VolumeStep['kind']]: Executor<Kind> } = {
  recall: async ({ leased }, { tools, place }) => {
    if (leased) await tools.leases.recall();
    const record = (await tools.records.read(place.id)) ?? 'none';
    return (now) => ({ ...now, record });
  },

  refuse: ({ reason, message }) => Promise.reject(new Refusal(reason, message)),

  remember: async ({ record }, { tools }) => {
    await tools.records.write(record);
    return (now) => ({ ...now, record });
  },

  letGo: async (_step, { state }) => {
    await senderOf(state)?.end();
    return released;
  },

  ensureWatchdog: async (_step, { tools }) => {
    await ensureWatchdog(tools.dataDir);
    return unchanged;
  },

  endSending: async (_step, { state }) => {
    await senderOf(state)?.end();
    return notSending;
  },

  mount: async ({ engine, sizeBytes }, bench) => {
    const volume = await engineNamed(bench, engine).open(bench.place, sizeBytes);
    return (now) => ({
      ...now,
      hold: now.hold.kind === 'writing' ? { ...now.hold, volume } : { kind: 'mounted', volume },
    });
  },

  /** What cannot be made smaller stays as large as it is, and works; it is tried again when there is less in it. */
  resize: async ({ sizeBytes }, bench) => {
    const volume = mountedVolume(bench);
    const { tools, place, state } = bench;
    const before = state.tooSmall;
    if (before?.sizeBytes === sizeBytes && (await volume.measure()).usedBytes >= before.usedBytes)
      return unchanged;
    try {
      await volume.resize(sizeBytes);
      return ({ tooSmall: _before, ...now }) => now;
    } catch (error) {
      if (!(error instanceof ShrinkRefusedError)) throw error;
      const { message, usedBytes } = error;
      tools.log.warn('a volume could not be made smaller', { volume: place.id, problem: message });
      return (now) => ({ ...now, tooSmall: { sizeBytes, usedBytes, message } });
    }
  },

  holdLease: async (_step, bench) => {
    const { mount, image } = mountedVolume(bench);
    const { mountPoint, device, source } = mount;
    await bench.tools.leases.hold({ volumeId: bench.place.id, mountPoint, device, source, image });
    bench.watchLease();
    return unchanged;
  },

  releaseLease: async (_step, { tools, place, unwatchLease }) => {
    unwatchLease();
    await tools.leases.release(place.id);
    return unchanged;
  },

  makeWritable: async ({ engine, epoch, mustExist }, bench) => {
    const volume = mountedVolume(bench);
    const source = await volume.writable(epoch, mustExist);
    const { state, tools, place } = bench;
    if (state.hold.kind !== 'writing') tools.log.info('volume ready', { volume: place.id, epoch, engine });
    return (now) => {
      const sender = senderOf(now);
      return {
        ...now,
        hold: { kind: 'writing', volume, epoch, source, ...(sender === undefined ? {} : { sender }) },
      };
    };
  },

  lookAside: async (_step, bench) => {
    const diverged = await bench.ages.of((await mountedVolume(bench).copies?.diverged()) ?? []);
    return (now) => ({ ...now, diverged });
  },

  send: ({ engine, epoch, targets }, bench) => Promise.resolve(sending(bench, engine, epoch, targets)),

  seal: ({ engine, epoch, attempt, targets }, bench) => {
    const { hold } = bench.state;
    const volume = mountedVolume(bench);
    if (hold.kind === 'sealed') {
      hold.sender.setTargets(targets);
      return Promise.resolve(unchanged);
    }
    const sender = senderFor(bench, volume, engine, epoch, LAST_COPY_AGAIN_MS);
    if (sender === undefined)
      throw new Refusal('volume_engine_absent', 'the engine of the volume makes no copies');
    sender.setTargets(targets);
    return Promise.resolve(held({ kind: 'sealed', volume, epoch, attempt, sender }));
  },

  fence: async (_step, { tools: { leases }, place, unwatchLease }) => {
    unwatchLease();
    const entry = leases.held(place.id);
    if (entry !== undefined) await fence(entry);
    await leases.release(place.id);
    return released;
  },

  demote: async (_step, bench) => {
    const { copies } = mountedVolume(bench);
    await copies?.demote();
    const change = copies === undefined ? unchanged : await inspectCopies(copies, bench.ages);
    // Nothing writes it from here on.
    return (now) => {
      const volume = volumeOf(now);
      const hold: LaneState['hold'] = volume === undefined ? now.hold : { kind: 'mounted', volume };
      return change({ ...now, hold });
    };
  },

  checkReceiving: async ({ engine }, bench) => {
    const unsafe = await engineNamed(bench, engine).cannotReceive?.();
    if (unsafe !== undefined) throw new Refusal('receive_unsafe', unsafe);
    return unchanged;
  },

  /** One that cannot be removed stays, and with it the volume works: it is tried again. */
  discard: async ({ divergences }, bench) => {
    const { copies, mount } = mountedVolume(bench);
    const { tools, place } = bench;
    const gone = new Set<string>();
    for (const one of divergences) {
      const about = { volume: place.id, path: one.path };
      try {
        await copies?.discard(one);
        gone.add(one.path);
        tools.onDiscarded(place.id, one);
        tools.log.info('a divergence was kept for its time and is removed', about);
      } catch (error) {
        tools.log.warn('a divergence could not be removed', { ...about, problem: messageOf(error) });
        // It went with its lease: none of the others is there either.
        if ((await mountAt(mount.mountPoint)) === undefined) break;
      }
    }
    return (now) => ({ ...now, diverged: now.diverged.filter(({ path }) => !gone.has(path)) });
  },

  locate: async ({ epoch, hostPath }, { tools }) => {
    const source = hostPath === undefined ? '' : await tools.bindSource(hostPath);
    return held({ kind: 'outside', epoch, source });
  },

  close: async ({ engine }, bench) => {
    if (!(await engineNamed(bench, engine).close(bench.place)))
      throw new Refusal('volume_in_use', 'a container still has the volume');
    return released;
  },

  remove: async (_step, { tools: { leases, log }, place, unwatchLease }) => {
    unwatchLease();
    await leases.release(place.id);
    await rm(place.folder, { recursive: true, force: true });
    log.info('volume removed', { volume: place.id });
    return (now) => ({ ...now, record: 'none', hold: { kind: 'removed' } });
  },
};

function senderFor(
  { tools, place }: VolumeBench,
  volume: OpenVolume,
  engine: string,
  epoch: number,
  everyMs: number,
): CopySender | undefined {
  const { copies } = volume;
  if (copies === undefined) return undefined;
  const { link, log, onChange, engines } = tools;
  const leastMs = engines.find(({ name }) => name === engine)?.leastIntervalMs ?? 0;
  return new CopySender({
    volumeId: place.id,
    engine,
    epoch,
    volume,
    copies,
    intervalMs: Math.max(everyMs, leastMs),
    link,
    log,
    onChange: () => onChange(place.id),
  });
}

/** One sender for an epoch; what it sends to changes with the orders. */
function sending(bench: VolumeBench, engine: string, epoch: number, targets: readonly string[]): Change {
  const { hold } = bench.state;
  if (hold.kind !== 'writing' || (targets.length === 0 && hold.sender === undefined)) return unchanged;
  const sender = hold.sender ?? senderFor(bench, hold.volume, engine, epoch, bench.tools.copyIntervalMs);
  if (sender === undefined) return unchanged;
  sender.setTargets(targets);
  return (now) => (now.hold.kind === 'writing' ? { ...now, hold: { ...now.hold, sender } } : now);
}

export async function takeStep(step: VolumeStep, bench: VolumeBench): Promise<Change> {
  const executor = EXECUTORS[step.kind] as (step: VolumeStep, bench: VolumeBench) => Promise<Change>;
  return await executor(step, bench);
}
