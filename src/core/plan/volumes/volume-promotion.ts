import type { VolumeRecord, VolumeReplica } from '../../model/volume.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';
import { isDown, isOpen, mayHold, seenAs, type VolumeFacts, volumeEvent } from './volume-facts.ts';

export type Promotion =
  /** The primary is down and a copy could take over, but not yet. */
  | { readonly wait: true; readonly why: string; readonly recheckInMs?: number }
  | { readonly wait: false; readonly record: VolumeRecord; readonly event: PlannedEvent };

interface Candidate {
  readonly copy: VolumeReplica;
  readonly sequence: number;
  readonly takenAt: string;
  readonly open: boolean;
}

/**
 * Complete, of this epoch, live according to the primary, on a node that answers and may hold it. One that takes no new work (cordoned, or being
 * drained) comes last, however new its copy: what mounts the volume could not start there.
 */
function candidatesOf(facts: VolumeFacts): readonly Candidate[] {
  return facts.record.replicas
    .flatMap((copy): readonly Candidate[] => {
      const node = facts.node(copy.nodeId);
      const said = seenAs(facts, copy.nodeId, 'replica');
      if (copy.state !== 'live' || node?.condition !== 'ready' || !mayHold(facts, node)) return [];
      if (said?.state !== 'ready' || said.copy?.epoch !== facts.record.epoch) return [];
      return [{ copy, sequence: said.copy.sequence, takenAt: said.copy.takenAt, open: isOpen(node) }];
    })
    .sort(
      (a, b) =>
        Number(b.open) - Number(a.open) ||
        b.sequence - a.sequence ||
        (a.copy.nodeId < b.copy.nodeId ? -1 : 1),
    );
}

/**
 * Everything written after the state that the copy was known to have, until the old primary was certainly fenced. Absent: the
 * control plane that the primary was connected to is gone, and with it the age of the copy.
 */
function lossBound(facts: VolumeFacts, { copy }: Candidate): number | undefined {
  const age = facts.copyAge(copy.nodeId);
  if (age === undefined) return undefined;
  return Math.ceil(Math.max(0, facts.fencedAtMs - (age.heardMs - age.ageMs)) / 1000);
}

/** Undefined: the primary is not down, or nothing can take its place. */
export function planPromotion(facts: VolumeFacts): Promotion | undefined {
  const { record, nowMs } = facts;
  const old = record.primaryNodeId;
  if (old === undefined || record.class !== 'replicated') return undefined;
  const node = facts.node(old);
  if (!isDown(node)) return undefined;
  const [chosen] = candidatesOf(facts);
  if (chosen === undefined) return undefined;
  const { nodeId } = chosen.copy;
  if (nowMs < facts.fencedAtMs) {
    const why = `${old} does not answer; ${nodeId} takes over when its lease has certainly ended`;
    return { wait: true, why, recheckInMs: facts.fencedAtMs - nowMs };
  }
  if (node?.condition === 'failed' && facts.braked()) {
    const why = `${old} does not answer, but too many nodes do not: nothing is promoted until some return`;
    return { wait: true, why };
  }
  const epoch = record.epoch + 1;
  const others = record.replicas
    .filter((copy) => copy.nodeId !== nodeId)
    .map((copy): VolumeReplica => ({ ...copy, state: copy.state === 'failed' ? 'failed' : 'syncing' }));
  const former: readonly VolumeReplica[] =
    node === undefined ? [] : [{ nodeId: old, state: 'failed', formerEpoch: record.epoch }];
  const lossBoundSeconds = lossBound(facts, chosen);
  const bound =
    lossBoundSeconds === undefined
      ? 'how much was written after it is not known, because the control plane that knew the age of the copy has ended since'
      : `what was written in the ${lossBoundSeconds} s before the old primary was fenced may be missing`;
  return {
    wait: false,
    record: {
      ...record,
      phase: 'Degraded',
      message: `${nodeId} takes over from ${old}`,
      epoch,
      leaseMs: facts.leaseMs,
      primaryNodeId: nodeId,
      replicas: [...others, ...former],
    },
    event: volumeEvent(
      record,
      'promoted',
      `${nodeId} is the primary instead of ${old}, with its copy of ${chosen.takenAt}; ${bound}`,
      {
        from: old,
        to: nodeId,
        epoch,
        copy: { sequence: chosen.sequence, takenAt: chosen.takenAt },
        lossBoundSeconds: lossBoundSeconds ?? null,
      },
    ),
  };
}
