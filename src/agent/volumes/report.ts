import type { AssignedVolume, VolumeObservation } from '../../core/protocol/agent-protocol.ts';
import type { MountState } from './mount-state.ts';
import { isLeased } from './plan.ts';
import { type VolumeProblem, metadataOf, senderOf, volumeOf } from './state.ts';
import type { LaneState } from './steps.ts';
import type { OpenVolume } from './volume-engine.ts';

/** `none`: there never was one. */
export type LeaseState = 'valid' | 'over' | 'none';

/** What containers are given, or why they wait; `lost` ends them. */
export function mountStateOf(order: AssignedVolume, state: LaneState, lease: LeaseState): MountState {
  const { id, role, epoch } = order;
  if (role !== 'primary') {
    const message = `this node is no longer the primary of ${id}`;
    return { kind: 'lost', reason: 'volume_not_primary', message };
  }
  if (order.role === 'primary' && order.seal !== undefined) {
    return { kind: 'waits', reason: 'volume_not_ready', message: `volume ${id} moves to another node` };
  }
  if (isLeased(order) && lease !== 'valid') {
    const reason = 'volume_not_ready';
    return lease === 'over'
      ? { kind: 'lost', reason, message: `the lease of ${id} ran out: the control plane did not answer` }
      : { kind: 'waits', reason, message: `waits for the lease of ${id}` };
  }
  const { hold } = state;
  if ((hold.kind === 'writing' || hold.kind === 'outside') && hold.epoch === epoch)
    return { kind: 'ready', source: hold.source };
  const preparing = problem('volume_not_ready', `volume ${id} is being prepared`);
  return { kind: 'waits', ...(state.trouble?.problem ?? preparing) };
}

export function observationOf(order: AssignedVolume, state: LaneState, lease: LeaseState): VolumeObservation {
  const record = metadataOf(state);
  // Reported until it is really gone: the control plane forgets it when no node reports it.
  if (order.role === 'gone')
    return { volumeId: order.id, role: record?.role ?? 'replica', ...progress(order, state, false) };
  const { role } = order;
  const volume = volumeOf(state);
  const isReady =
    role === 'primary' ? mountStateOf(order, state, lease).kind === 'ready' : volume !== undefined;
  const copies = senderOf(state)?.state() ?? [];
  const sealed = sealedOf(order, state);
  return {
    volumeId: order.id,
    role,
    ...progress(order, state, isReady),
    ...state.measured,
    ...(volume?.shrinks === true ? { shrinkable: true } : {}),
    ...(role === 'replica' && state.copy !== undefined ? { copy: state.copy } : {}),
    ...(copies.length === 0 ? {} : { copies }),
    ...(sealed && { sealed }),
    ...(state.diverged.length === 0
      ? {}
      : { diverged: state.diverged.map(({ epoch, path }) => ({ epoch, path })) }),
  };
}

function sealedOf(order: AssignedVolume, { hold }: LaneState): VolumeObservation['sealed'] {
  if (hold.kind !== 'sealed' || order.role !== 'primary' || order.seal !== hold.attempt) return undefined;
  const newest = hold.epoch === order.epoch ? hold.sender.newest() : undefined;
  return newest && { attempt: hold.attempt, ...newest };
}

function progress(
  order: AssignedVolume,
  state: LaneState,
  isReady: boolean,
): Pick<VolumeObservation, 'epoch' | 'state' | 'problem'> {
  const epoch = metadataOf(state)?.epoch ?? order.epoch;
  const { trouble, tooSmall } = state;
  if (trouble !== undefined) return { epoch, state: isReady ? 'ready' : 'failed', problem: trouble.problem };
  if (!isReady) return { epoch, state: 'preparing' };
  const refused = tooSmall && { problem: problem('volume_shrink_refused', tooSmall.message) };
  return { epoch, state: 'ready', ...refused };
}

/** For a stream of the present epoch: the volume as a copy, or why not. */
export function receiverOf(
  order: AssignedVolume,
  state: LaneState,
  engine: string,
  epoch: number,
): OpenVolume | VolumeProblem {
  if (order.role !== 'replica') return problem('not_a_replica', 'this node keeps no copy of the volume');
  const record = metadataOf(state);
  const present = Math.max(record?.epoch ?? 0, order.epoch);
  if (epoch !== present || record?.epoch !== epoch)
    return problem('epoch_stale', `the stream is of epoch ${epoch}, this node is at ${present}`);
  const volume = volumeOf(state);
  if (volume === undefined || record.engine === undefined)
    return state.trouble?.problem ?? problem('volume_not_ready', 'the copy is being prepared');
  if (record.engine === engine) return volume;
  return problem('engine_differs', `the copy is kept by ${record.engine}, the stream is of ${engine}`);
}

function problem(reason: string, message: string): VolumeProblem {
  return { reason, message };
}
