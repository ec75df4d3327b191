import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import type { KeptDivergence } from './divergence-ages.ts';
import { metadataOf, senderOf, type VolumeState, volumeOf } from './state.ts';
import type { VolumeStep } from './step.ts';
import type { VolumeMetadata } from './volume-metadata.ts';

export interface VolumeView {
  readonly order: AssignedVolume;
  readonly state: VolumeState;
  /** Names of those that keep replicated volumes here, best first, and of the one for all others. */
  readonly engines: readonly string[];
  readonly plain: string;
  readonly leaseIsValid: boolean;
  /** It is in the file of the watchdog, perhaps since an earlier agent: containers of this node may write it. */
  readonly leaseIsHeld: boolean;
  /** The mount that `state` speaks of is there. */
  readonly isMounted: boolean;
  /** A container of this node has it mounted, or will have. */
  readonly inUse: boolean;
  /** How long divergences are kept here; absent: until somebody removes them. */
  readonly keepDivergedMs?: number;
  /** What was done in this pass; each kind of step is taken once, but for the record. */
  readonly done: ReadonlySet<VolumeStep['kind']>;
}

export function isLeased({ role, leaseMs }: AssignedVolume): boolean {
  return role === 'primary' && leaseMs !== undefined;
}

/** The next step towards what is ordered; undefined: it is as ordered. Pure: every safeguard of the bytes is decided here. */
export function planVolume(view: VolumeView): VolumeStep | undefined {
  const { order, state } = view;
  if (state.hold.kind === 'removed') return undefined;
  if (state.record === 'unread') return { kind: 'recall', leased: order.class === 'replicated' };
  const known = metadataOf(state)?.epoch ?? 0;
  if (known > order.epoch)
    return refuse('epoch_stale', `the order is of epoch ${order.epoch}, this node is at ${known}`);
  if (order.role === 'gone') return planRemoval(view);
  if (order.type !== 'volume') return planOutside(view, order.role);
  const usable = order.class === 'replicated' ? view.engines : [view.plain];
  const kept = metadataOf(state)?.engine;
  const engine = kept === undefined ? usable[0] : usable.find((name) => name === kept);
  if (engine === undefined) {
    const why = kept === undefined ? 'no engine for replicated volumes works here' : undefined;
    return refuse('volume_engine_absent', why ?? `its engine ${kept} does not work here`);
  }
  return order.role === 'primary' ? planPrimary(view, engine) : planReplica(view, engine);
}

/**
 * Held still, so that another node can take over without loss. The lease goes back before the last copy is taken: with the entry in
 * the watchdog's file its mount goes, and what might still have it.
 */
function planSealed(view: VolumeView, engine: string, attempt: number): VolumeStep | undefined {
  const { order, state, inUse, leaseIsHeld } = view;
  const { epoch } = order;
  if (metadataOf(state)?.role === 'replica')
    return refuse('volume_not_ready', 'the volume was never written here under this epoch');
  if (inUse) return refuse('volume_in_use', 'a container still has the volume');
  const { hold } = state;
  const isSealed = hold.kind === 'sealed' && hold.attempt === attempt && hold.epoch === epoch;
  return (
    remember(view, { role: 'primary', epoch, engine }) ??
    (isSealed ? undefined : endSending(state)) ??
    (leaseIsHeld ? { kind: 'fence' } : undefined) ??
    mounted(view, engine) ??
    once(view, { kind: 'seal', engine, epoch, attempt, targets: order.copiesTo ?? [] })
  );
}

function planPrimary(view: VolumeView, engine: string): VolumeStep | undefined {
  const { order, state, leaseIsValid } = view;
  if (order.seal !== undefined) return planSealed(view, engine, order.seal);
  const { epoch, sizeBytes } = order;
  const leased = isLeased(order);
  // A copy until it is known to have become more: should that be cut off, it must not go on with nothing.
  const wasReplica = metadataOf(state)?.role === 'replica';
  const isReady = view.done.has('makeWritable');
  const role = wasReplica && !isReady ? 'replica' : 'primary';
  const remembered = remember(view, { role, epoch, engine });
  if (remembered !== undefined) return remembered;
  // Checked before each step: it may run out at any time, and the mount goes with it.
  if (leased && !leaseIsValid) return state.hold.kind === 'nothing' ? undefined : { kind: 'letGo' };
  // A lease that came meanwhile begins another pass.
  if (view.done.has('letGo')) return undefined;
  const { hold } = state;
  const sentUnder = hold.kind === 'writing' && hold.sender !== undefined ? hold.epoch : epoch;
  return (
    // It goes on here after all.
    (hold.kind === 'sealed' ? endSending(state) : undefined) ??
    (leased ? once(view, { kind: 'ensureWatchdog' }) : undefined) ??
    (sentUnder === epoch ? undefined : { kind: 'endSending' }) ??
    mounted(view, engine) ??
    once(view, { kind: 'resize', sizeBytes }) ??
    // Without a lease no other node could take over any more: nothing needs to end it.
    once(view, leased ? { kind: 'holdLease' } : { kind: 'releaseLease' }) ??
    once(view, { kind: 'makeWritable', engine, epoch, mustExist: wasReplica }) ??
    once(view, { kind: 'lookAside' }) ??
    once(view, { kind: 'send', engine, epoch, targets: order.copiesTo ?? [] }) ??
    discard(view)
  );
}

function planReplica(view: VolumeView, engine: string): VolumeStep | undefined {
  const { order, state, leaseIsHeld } = view;
  const { epoch, sizeBytes } = order;
  return (
    remember(view, { role: 'replica', epoch, engine }) ??
    endSending(state) ??
    // Written here under an earlier epoch: those containers end first, then what they wrote is kept aside.
    (leaseIsHeld ? { kind: 'fence' } : undefined) ??
    mounted(view, engine) ??
    once(view, { kind: 'resize', sizeBytes }) ??
    once(view, { kind: 'demote' }) ??
    once(view, { kind: 'checkReceiving', engine }) ??
    discard(view)
  );
}

/**
 * What an earlier primary alone had written goes when its time is over, and only from a node that has the volume's present bytes whole: until
 * then it may be the best that is left.
 */
export function dueDivergences({
  order,
  state,
  keepDivergedMs = Infinity,
}: Pick<VolumeView, 'order' | 'state' | 'keepDivergedMs'>): readonly KeptDivergence[] {
  const { hold, copy } = state;
  const hasPresentBytes =
    order.role === 'primary'
      ? hold.kind === 'writing' && hold.epoch === order.epoch
      : order.role === 'replica' && copy?.epoch === order.epoch;
  return hasPresentBytes ? state.diverged.filter(({ keptMs }) => keptMs >= keepDivergedMs) : [];
}

function discard(view: VolumeView): VolumeStep | undefined {
  const divergences = dueDivergences(view);
  return divergences.length === 0 ? undefined : once(view, { kind: 'discard', divergences });
}

/** Folders of the host and memory: nothing is kept, so there is nothing to lose. */
function planOutside(view: VolumeView, role: VolumeMetadata['role']): VolumeStep | undefined {
  const { epoch, type, hostPath = '' } = view.order;
  return (
    remember(view, { role, epoch }) ??
    once(view, { kind: 'locate', epoch, hostPath: type === 'bind' ? hostPath : undefined })
  );
}

function planRemoval(view: VolumeView): VolumeStep {
  const { state, inUse, engines, plain } = view;
  const engine = [plain, ...engines].find((name) => name === metadataOf(state)?.engine);
  return (
    endSending(state) ??
    (inUse ? refuse('volume_in_use', 'a container still has the volume') : undefined) ??
    (engine === undefined ? undefined : once(view, { kind: 'close', engine })) ?? { kind: 'remove' }
  );
}

function refuse(reason: string, message: string): VolumeStep {
  return { kind: 'refuse', reason, message };
}

function once(view: VolumeView, step: VolumeStep): VolumeStep | undefined {
  return view.done.has(step.kind) ? undefined : step;
}

function endSending(state: VolumeState): VolumeStep | undefined {
  return senderOf(state) === undefined ? undefined : { kind: 'endSending' };
}

/** Remounted when the mount was removed from outside. */
function mounted(view: VolumeView, engine: string): VolumeStep | undefined {
  const isThere = volumeOf(view.state) !== undefined && (view.isMounted || view.done.has('mount'));
  return isThere ? undefined : { kind: 'mount', engine, sizeBytes: view.order.sizeBytes };
}

function remember(
  { order: { id }, state }: VolumeView,
  { role, epoch, engine }: Omit<VolumeMetadata, 'id'>,
): VolumeStep | undefined {
  const known = metadataOf(state);
  if (known?.epoch === epoch && known.role === role && known.engine === engine) return undefined;
  return { kind: 'remember', record: { id, epoch, role, ...(engine === undefined ? {} : { engine }) } };
}
