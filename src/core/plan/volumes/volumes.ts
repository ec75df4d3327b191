import type { NodeName } from '../../model/ids.ts';
import { isKeptByNode, type VolumePhase, type VolumeRecord } from '../../model/volume.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';
import { candidates, planCopies } from './volume-copies.ts';
import { isDown, seenAs, type VolumeFacts, volumeEvent } from './volume-facts.ts';
import { planPromotion } from './volume-promotion.ts';
import { planSwitchover } from './volume-switchover.ts';

export interface VolumePlan {
  readonly record: VolumeRecord;
  /** Nothing is left of it anywhere. */
  readonly remove: boolean;
  /** The old primary must get no lease until this is stored. */
  readonly promotes: boolean;
  /** Nodes whose last observation of the volume is obsolete. */
  readonly forget: readonly NodeName[];
  readonly events: readonly PlannedEvent[];
  readonly recheckInMs?: number;
}

/** From what is wanted and what is seen to the next state of a volume. Level-triggered. */
export function planVolume(facts: VolumeFacts): VolumePlan {
  const { record: before, forget } = cleared(facts, facts.record);
  if (before.phase === 'Deleting') return planDeleting(before, forget);
  if (!isKeptByNode(before)) return settled(markMounted(facts, unkept(before)), [], forget);
  const move = planSwitchover({ ...facts, record: before });
  if (move?.switched === true) return settled(move.record, move.events, forget);
  const record = move?.record ?? before;
  const promotion = planPromotion({ ...facts, record });
  if (promotion?.wait === false) {
    const events = [...(move?.events ?? []), promotion.event];
    return { record: promotion.record, remove: false, promotes: true, forget, events };
  }
  const placed = placePrimary(facts, record);
  const copied = planCopies({ ...facts, record: placed }, placed);
  const phased = withPhase({ ...facts, record: copied.record }, promotion?.why);
  const events = [...(move?.events ?? []), ...copied.events, ...phaseEvents(record, phased)];
  const plan = settled(markMounted(facts, phased), events, forget);
  const recheckInMs = promotion?.recheckInMs ?? move?.recheckInMs;
  return recheckInMs === undefined ? plan : { ...plan, recheckInMs };
}

function settled(
  record: VolumeRecord,
  events: readonly PlannedEvent[],
  forget: readonly NodeName[],
): VolumePlan {
  return { record, remove: false, promotes: false, forget, events };
}

/** Nodes that have removed their bytes, or that no order can reach any more. */
function cleared(
  facts: VolumeFacts,
  record: VolumeRecord,
): { readonly record: VolumeRecord; readonly forget: readonly NodeName[] } {
  const done = record.leaving.filter(
    (name) => facts.node(name) === undefined || facts.seen(name)?.state === 'gone',
  );
  if (done.length === 0) return { record, forget: [] };
  const leaving = record.leaving.filter((name) => !done.includes(name));
  return { record: { ...record, leaving }, forget: done };
}

function planDeleting(record: VolumeRecord, forget: readonly NodeName[]): VolumePlan {
  if (record.leaving.length > 0) return settled(record, [], forget);
  const event = volumeEvent(record, 'deleted', 'deleted; no node keeps anything of it');
  return { record, remove: true, promotes: false, forget, events: [event] };
}

/** Memory is there whenever a container is; nothing provides object volumes yet. */
function unkept(record: VolumeRecord): VolumeRecord {
  if (record.class === 'object')
    return phase(record, 'Pending', 'no agent can provide volumes of the class object yet');
  return phase(record, 'Ready', undefined);
}

function phase(record: VolumeRecord, next: VolumePhase, message: string | undefined): VolumeRecord {
  if (record.phase === next && record.message === message) return record;
  const { message: _before, ...rest } = record;
  return { ...rest, phase: next, ...(message !== undefined && { message }) };
}

function placePrimary(facts: VolumeFacts, record: VolumeRecord): VolumeRecord {
  if (record.primaryNodeId !== undefined) return record;
  const needsEngine = record.class === 'replicated';
  const [chosen] = candidates(facts, (node) => !needsEngine || node.engines.length > 0);
  return chosen === undefined ? record : { ...record, primaryNodeId: chosen.name };
}

function withPhase(facts: VolumeFacts, promotionWaits: string | undefined): VolumeRecord {
  const { record } = facts;
  const primary = record.primaryNodeId;
  if (primary === undefined) {
    const what = record.class === 'replicated' ? ' with an engine for volumes' : '';
    return phase(record, 'Pending', `no ready node${what} can keep it`);
  }
  const node = facts.node(primary);
  if (isDown(node)) {
    if (promotionWaits !== undefined) return phase(record, record.phase, promotionWaits);
    const why = node === undefined ? 'is no longer enrolled' : 'does not answer';
    return phase(record, 'Degraded', `its primary ${primary} ${why}${whyNoCopy(record)}`);
  }
  // Nothing was ever heard of the node: there is no evidence for another phase.
  if (node?.condition === 'unknown' && record.phase !== 'Pending') return record;
  // It is held still, which is not to be taken for a fault.
  if (record.switchover !== undefined) return record;
  const said = seenAs(facts, primary, 'primary');
  if (said?.state === 'ready') return phase(record, 'Ready', undefined);
  const wasReady = record.phase === 'Ready' || record.phase === 'Degraded';
  if (said?.state === 'failed') {
    const message = `${primary}: ${said.problem?.message ?? 'the volume failed'}`;
    return phase(record, wasReady ? 'Degraded' : 'Materializing', message);
  }
  return wasReady ? record : phase(record, 'Materializing', `${primary} prepares it`);
}

function whyNoCopy({ class: kind, replicas }: VolumeRecord): string {
  if (kind !== 'replicated') return '';
  const kept = replicas
    .flatMap(({ nodeId, misplaced }) => (misplaced === undefined ? [] : `${nodeId}: ${misplaced}`))
    .join('; ');
  return `, and no live copy can take its place${kept === '' ? '' : ` (${kept})`}`;
}

function phaseEvents(before: VolumeRecord, after: VolumeRecord): readonly PlannedEvent[] {
  if (before.phase === after.phase) return [];
  const primary = { primaryNodeId: after.primaryNodeId, epoch: after.epoch };
  if (after.phase === 'Ready')
    return [volumeEvent(after, 'ready', `ready on ${after.primaryNodeId ?? 'every node'}`, primary)];
  if (after.phase === 'Degraded')
    return [volumeEvent(after, 'degraded', after.message ?? 'degraded', primary)];
  return [];
}

function markMounted(facts: VolumeFacts, record: VolumeRecord): VolumeRecord {
  if (facts.mounted === (record.unmountedSince === undefined)) return record;
  const { unmountedSince: _ended, ...rest } = record;
  return facts.mounted ? rest : { ...rest, unmountedSince: facts.now };
}
