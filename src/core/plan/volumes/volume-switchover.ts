import type { NodeName } from '../../model/ids.ts';
import type { VolumeRecord, VolumeReplica, VolumeSwitchover } from '../../model/volume.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';
import { isDown, seenAs, type VolumeFacts, type VolumeNode, volumeEvent } from './volume-facts.ts';

/** So long the other node has to fetch what is to run there: everything goes on meanwhile. */
export const PREPARING_MS = 300_000;
/** What mounts it has so long to end; the agent kills it well before. */
export const STOPPING_MS = 120_000;
/** While it cannot begin: what it waits for ends without a change of the volume. */
const BEGIN_AGAIN_MS = 2_000;

export interface SwitchoverPlan {
  readonly record: VolumeRecord;
  readonly events: readonly PlannedEvent[];
  /** The new primary is in `record`. */
  readonly switched: boolean;
  readonly recheckInMs?: number;
}

type TargetNode = Pick<VolumeNode, 'condition' | 'schedulable' | 'draining' | 'reserved'>;

/** Why the copy there cannot take over in a planned move; undefined: it can. */
export function whyNoTarget(
  copy: Pick<VolumeReplica, 'state' | 'misplaced'> | undefined,
  node: TargetNode | undefined,
): string | undefined {
  if (copy === undefined) return 'it keeps no copy of the volume';
  if (node?.condition !== 'ready') return 'it does not answer';
  if (node.draining === true) return 'it is being drained';
  if (!node.schedulable) return 'it is cordoned';
  if (copy.misplaced !== undefined) return copy.misplaced;
  if (node.reserved === true) return 'it runs a control plane';
  return copy.state === 'live' ? undefined : `its copy is ${copy.state}`;
}

/** A planned move of the primary, one step at a time; undefined: there is none, and none begins. */
export function planSwitchover(facts: VolumeFacts): SwitchoverPlan | undefined {
  const { switchover } = facts.record;
  return switchover === undefined ? begin(facts) : goOn(facts, switchover);
}

/** A node that is being drained gives its primaries away, as soon as a copy can take over and nothing is cut off by it. */
function begin(facts: VolumeFacts): SwitchoverPlan | undefined {
  const { record } = facts;
  const from = record.primaryNodeId;
  const node = from === undefined ? undefined : facts.node(from);
  if (from === undefined || record.class !== 'replicated' || node?.condition !== 'ready') return undefined;
  if (node.draining !== true) {
    if (record.switchoverFailed?.by !== 'drain') return undefined;
    const { switchoverFailed: _over, ...rest } = record;
    return { record: rest, events: [], switched: false };
  }
  if (record.switchoverFailed?.by === 'drain' || node.seals !== true) return undefined;
  if (record.phase !== 'Ready' || seenAs(facts, from, 'primary')?.state !== 'ready') return undefined;
  const again = { record, events: [], switched: false, recheckInMs: BEGIN_AGAIN_MS };
  if (facts.busy() !== undefined) return again;
  const to = targets(facts)[0];
  if (to === undefined) return again;
  const images = facts.node(to)?.prepares === true ? facts.images() : [];
  return { ...begun(record, { to, by: 'drain', since: facts.now, images }), switched: false };
}

/** The least loaded first; the name decides between equals, so the choice is always the same. */
function targets(facts: VolumeFacts): readonly NodeName[] {
  return facts.record.replicas
    .filter((copy) => whyNoTarget(copy, facts.node(copy.nodeId)) === undefined)
    .map(({ nodeId }) => ({ nodeId, load: facts.load(nodeId) }))
    .sort((a, b) => a.load - b.load || (a.nodeId < b.nodeId ? -1 : 1))
    .map(({ nodeId }) => nodeId)
    .filter((nodeId) => facts.unfit(nodeId) === undefined);
}

export function movingText(from: NodeName | undefined, to: NodeName, images: readonly string[]): string {
  const first = images.length === 0 ? '' : 'its image is fetched there, ';
  return `moves from ${from ?? ''} to ${to}: ${first}what mounts it stops, the last copy is made, and ${to} takes over`;
}

/** `images`: those that the other node is to have first; none: nothing runs from the volume, or the agent there cannot fetch them so. */
export function begun(
  { switchoverFailed: _before, ...record }: VolumeRecord,
  { images, ...move }: Required<Pick<VolumeSwitchover, 'to' | 'by' | 'since' | 'images'>>,
): { readonly record: VolumeRecord; readonly events: readonly PlannedEvent[] } {
  const attempt = (record.switchovers ?? 0) + 1;
  const { primaryNodeId: from } = record;
  const first =
    images.length === 0 ? ({ step: 'stopping' } as const) : ({ step: 'preparing', images } as const);
  return {
    record: { ...record, switchovers: attempt, switchover: { attempt, ...move, ...first } },
    events: [
      volumeEvent(record, 'switchover', movingText(from, move.to, images), {
        from,
        to: move.to,
        by: move.by,
      }),
    ],
  };
}

function goOn(facts: VolumeFacts, switchover: VolumeSwitchover): SwitchoverPlan {
  const { record, nowMs } = facts;
  const { step, attempt } = switchover;
  // What it said is stored and cannot be taken back: it writes no more under this epoch, whatever becomes of it.
  const sealed =
    record.primaryNodeId === undefined ? undefined : seenAs(facts, record.primaryNodeId, 'primary')?.sealed;
  const isSealed = step === 'copying' && sealed?.attempt === attempt;
  const taker = isSealed ? takerOf(facts, switchover, sealed.on) : undefined;
  if (isSealed && taker !== undefined) return switched(facts, { ...switchover, to: taker }, sealed.sequence);
  // Nothing was stopped for it yet: a drain looks for another node.
  if (step === 'preparing' && switchover.by === 'drain' && whyUnable(facts, switchover) !== undefined)
    return { record: withoutMove(record), events: [], switched: false, recheckInMs: 1 };
  const why = whyGivenUp(facts, switchover);
  if (why !== undefined) return givenUp(facts, switchover, why);
  const leftMs = facts.stepSinceMs + boundMs(facts, step) - nowMs;
  const waits = { record, events: [], switched: false, recheckInMs: Math.max(1, leftMs) };
  if (step === 'preparing') return prepared(facts, switchover, waits);
  if (step === 'copying' || facts.users() > 0) return waits;
  return { ...waits, record: { ...record, switchover: { ...switchover, step: 'copying' } } };
}

/** Who has the last copy and takes over: as planned, or another one if that takes no new work by now. */
function takerOf(
  facts: VolumeFacts,
  switchover: VolumeSwitchover,
  on: readonly string[],
): NodeName | undefined {
  const { record } = facts;
  const holders = record.replicas
    .map(({ nodeId }) => nodeId)
    .filter((nodeId) => on.includes(nodeId) && facts.node(nodeId)?.condition === 'ready');
  const planned = holders.find((nodeId) => nodeId === switchover.to);
  if (whyUnable(facts, switchover) === undefined) return planned;
  const other = holders.find(
    (to) => whyUnable(facts, { ...switchover, to }) === undefined && facts.unfit(to) === undefined,
  );
  // With none the old primary can go on, unless it is gone.
  const from = record.primaryNodeId === undefined ? undefined : facts.node(record.primaryNodeId);
  return other ?? (isDown(from) ? planned : undefined);
}

/** What runs from the volume may have been changed meanwhile: then that is fetched, too. */
function prepared(facts: VolumeFacts, switchover: VolumeSwitchover, waits: SwitchoverPlan): SwitchoverPlan {
  const { record } = facts;
  const images = facts.images();
  const { images: asked = [], ...move } = switchover;
  if (images.join() !== asked.join())
    return { ...waits, record: { ...record, switchover: { ...switchover, images } } };
  if (missingOn(facts, switchover).length > 0) return waits;
  const isHeld = whyNotNow(facts, switchover) !== undefined;
  if (isHeld) return { ...waits, recheckInMs: Math.min(BEGIN_AGAIN_MS, waits.recheckInMs ?? BEGIN_AGAIN_MS) };
  return { ...waits, record: { ...record, switchover: { ...move, step: 'stopping' } } };
}

function missingOn(facts: VolumeFacts, { to, images = [] }: VolumeSwitchover): readonly string[] {
  const there = seenAs(facts, to, 'replica')?.prepared?.images ?? [];
  return images.filter((image) => !there.includes(image));
}

/** What has changed since it began. */
function whyNotNow(facts: VolumeFacts, { to }: VolumeSwitchover): string | undefined {
  const copy = facts.record.replicas.find(({ nodeId }) => nodeId === to);
  const unable = whyNoTarget(copy, facts.node(to));
  return unable === undefined ? facts.busy() : `${to}: ${unable}`;
}

function boundMs({ lastCopyMs }: VolumeFacts, step: VolumeSwitchover['step']): number {
  return { preparing: PREPARING_MS, stopping: STOPPING_MS, copying: lastCopyMs }[step];
}

function whyGivenUp(facts: VolumeFacts, switchover: VolumeSwitchover): string | undefined {
  const { to, by, step } = switchover;
  const { record, nowMs, stepSinceMs } = facts;
  const from = record.primaryNodeId;
  const node = from === undefined ? undefined : facts.node(from);
  if (isDown(node)) return `${from ?? 'its primary'} does not answer`;
  if (by === 'drain' && node?.draining !== true) return 'the drain was ended';
  const unable = whyUnable(facts, switchover);
  if (unable !== undefined) return `${to}: ${unable}`;
  if (nowMs - stepSinceMs < boundMs(facts, step)) return undefined;
  const seconds = Math.round(boundMs(facts, step) / 1000);
  if (step === 'preparing') return whyUnprepared(facts, switchover, seconds);
  if (step === 'stopping') return `what mounts it had not stopped after ${seconds} s`;
  const said = from === undefined ? undefined : seenAs(facts, from, 'primary');
  const trouble = said?.problem?.message ?? said?.copies?.find(({ nodeId }) => nodeId === to)?.problem;
  return `its last copy was not on ${to} after ${seconds} s${trouble === undefined ? '' : ` (${trouble})`}`;
}

/** Whatever its copy lacks is in the last one. */
function whyUnable(facts: VolumeFacts, { to }: VolumeSwitchover): string | undefined {
  const copy = facts.record.replicas.find(({ nodeId }) => nodeId === to);
  return whyNoTarget(copy && { ...copy, state: 'live' }, facts.node(to));
}

function whyUnprepared(facts: VolumeFacts, switchover: VolumeSwitchover, seconds: number): string {
  const missing = missingOn(facts, switchover);
  if (missing.length === 0) return whyNotNow(facts, switchover) ?? `it could not begin within ${seconds} s`;
  const trouble = seenAs(facts, switchover.to, 'replica')?.prepared?.problem;
  return `${switchover.to} did not have ${missing.join(', ')} after ${seconds} s${trouble === undefined ? '' : ` (${trouble})`}`;
}

function withoutMove({ switchover: _ended, ...record }: VolumeRecord): VolumeRecord {
  return record;
}

/** The order to hold still ends with it: the old primary gets a lease again and goes on. */
function givenUp(facts: VolumeFacts, { to, by }: VolumeSwitchover, why: string): SwitchoverPlan {
  const record = withoutMove(facts.record);
  const from = record.primaryNodeId;
  return {
    record: { ...record, switchoverFailed: { to, by, why, at: facts.now } },
    events: [
      volumeEvent(
        record,
        'switchover_failed',
        `stays on ${from ?? 'its primary'} and does not move to ${to}: ${why}`,
        {
          from,
          to,
          why,
        },
      ),
    ],
    switched: false,
  };
}

/** Nothing was written after the copy: the old primary has no lease, no mount and no writer since before it was taken. */
function switched(facts: VolumeFacts, { to, by }: VolumeSwitchover, sequence: number): SwitchoverPlan {
  const record = withoutMove(facts.record);
  const from = record.primaryNodeId;
  const epoch = record.epoch + 1;
  const others = record.replicas.filter(({ nodeId }) => nodeId !== to);
  const former: readonly VolumeReplica[] =
    from === undefined || facts.node(from) === undefined
      ? []
      : [{ nodeId: from, state: 'syncing', formerEpoch: record.epoch }];
  return {
    record: {
      ...record,
      phase: 'Degraded',
      message: `${to} takes over from ${from ?? ''}`,
      epoch,
      leaseMs: facts.leaseMs,
      primaryNodeId: to,
      replicas: [
        ...others.map(
          (copy): VolumeReplica => ({ ...copy, state: copy.state === 'failed' ? 'failed' : 'syncing' }),
        ),
        ...former,
      ],
    },
    events: [
      volumeEvent(
        record,
        'promoted',
        `${to} is the primary instead of ${from ?? ''}, as planned; nothing was written after its last copy`,
        { from, to, epoch, by, copy: { sequence }, lossBoundSeconds: 0 },
      ),
    ],
    switched: true,
  };
}
