import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import { planVolume, type VolumeView } from './plan.ts';
import { type Hold, UNKNOWN_VOLUME, type VolumeState } from './state.ts';
import type { VolumeStep } from './step.ts';
import type { VolumeMetadata } from './volume-metadata.ts';

const REPLICATED = { id: 'vol_1', class: 'replicated', type: 'volume', sizeBytes: 100 } as const;
const PRIMARY: AssignedVolume = {
  ...REPLICATED,
  role: 'primary',
  epoch: 1,
  leaseMs: 1000,
  copiesTo: ['n2'],
};
const REPLICA: AssignedVolume = { ...REPLICATED, role: 'replica', epoch: 1 };
const GONE: AssignedVolume = { ...REPLICATED, role: 'gone', epoch: 1 };
const PLAIN: AssignedVolume = { ...REPLICATED, class: 'ephemeral', role: 'primary', epoch: 1 };
const BIND: AssignedVolume = { ...PLAIN, type: 'bind', hostPath: '/srv/a' };
const TMPFS: AssignedVolume = { ...PLAIN, type: 'tmpfs' };

function recorded(role: 'primary' | 'replica', epoch = 1, engine = 'btrfs'): VolumeMetadata {
  return { id: 'vol_1', epoch, role, engine };
}

const NOTHING: Hold = { kind: 'nothing' };
const MOUNTED: Hold = { kind: 'mounted', volume: 'v' };
const WRITING: Hold = { kind: 'writing', volume: 'v', epoch: 1, source: '/v/data-1', sender: 's' };

interface World extends Partial<Omit<VolumeView, 'state' | 'done' | 'leaseIsValid'>> {
  readonly order: AssignedVolume;
  readonly record?: VolumeState['record'];
  /** What is on disk before it is read. */
  readonly stored?: VolumeMetadata;
  readonly hold?: Hold;
  /** With a divergence that has been kept for 5 ms, and the epoch of the newest copy. */
  readonly copyEpoch?: number;
  /** Valid until this step is done; absent: as long as the pass. */
  readonly leaseUntil?: VolumeStep['kind'];
  readonly lease?: boolean;
}

function held(step: VolumeStep, hold: Hold): Hold {
  switch (step.kind) {
    case 'mount':
      return hold.kind === 'writing' ? { ...hold, volume: 'new' } : { kind: 'mounted', volume: 'new' };
    case 'makeWritable':
      return { kind: 'writing', volume: 'v', epoch: step.epoch, source: `/v/data-${step.epoch}` };
    case 'send':
      return hold.kind === 'writing' ? { ...hold, sender: 's' } : hold;
    case 'seal':
      return { kind: 'sealed', volume: 'v', epoch: step.epoch, attempt: step.attempt, sender: 's' };
    case 'endSending': {
      if (hold.kind === 'sealed') return MOUNTED;
      if (hold.kind !== 'writing') return hold;
      const { sender: _ended, ...rest } = hold;
      return rest;
    }
    case 'demote':
      return { kind: 'mounted', volume: 'v' };
    case 'locate':
      return { kind: 'outside', epoch: step.epoch, source: step.hostPath ?? '' };
    case 'letGo':
    case 'fence':
    case 'close':
      return NOTHING;
    case 'remove':
      return { kind: 'removed' };
    default:
      return hold;
  }
}

/** All of a pass, each step taken as it should be. */
function pass(world: World): readonly VolumeStep[] {
  const { record = 'unread', stored, hold = NOTHING, lease = true, leaseUntil, copyEpoch, ...rest } = world;
  let state: VolumeState = {
    ...UNKNOWN_VOLUME,
    record,
    hold,
    ...(copyEpoch !== undefined && {
      copy: { epoch: copyEpoch, sequence: 1, takenAt: '' },
      diverged: [{ epoch: 0, path: '/v/diverged-0', keptMs: 5 }],
    }),
  };
  let leaseIsValid = lease;
  let { leaseIsHeld = false } = rest;
  const done = new Set<VolumeStep['kind']>();
  const steps: VolumeStep[] = [];
  while (steps.length < 20) {
    const view = { engines: ['btrfs', 'rsync'], plain: 'plain', isMounted: hold !== NOTHING, inUse: false };
    const step = planVolume({ ...view, ...rest, state, leaseIsValid, leaseIsHeld, done });
    if (step === undefined) return steps;
    steps.push(step);
    if (step.kind === 'refuse') return steps;
    const known = step.kind === 'recall' ? (stored ?? 'none') : state.record;
    const next = step.kind === 'remember' ? step.record : known;
    state = { ...state, record: next, hold: held(step, state.hold) };
    if (step.kind === 'holdLease') leaseIsHeld = true;
    if (step.kind === 'fence' || step.kind === 'releaseLease') leaseIsHeld = false;
    if (step.kind === leaseUntil) leaseIsValid = false;
    done.add(step.kind);
  }
  throw new Error(`no end: ${steps.map(({ kind }) => kind).join(' ')}`);
}

/** `remember` with role and epoch, `makeWritable` with what it must find. */
function words(steps: readonly VolumeStep[]): string {
  return steps
    .map((step) => {
      switch (step.kind) {
        case 'remember':
          return `remember:${step.record.role}.${step.record.epoch}`;
        case 'makeWritable':
          return `makeWritable:${step.mustExist ? 'kept' : 'any'}.${step.epoch}`;
        case 'refuse':
          return `refuse:${step.reason}`;
        default:
          return step.kind;
      }
    })
    .join(' ');
}

const AGAIN = 'ensureWatchdog resize holdLease makeWritable:any.1 lookAside send';
const AS_COPY = 'resize demote checkReceiving';

const SEAL: AssignedVolume = { ...REPLICATED, role: 'primary', epoch: 1, copiesTo: ['n2'], seal: 3 };
const SEALED: Hold = { kind: 'sealed', volume: 'v', epoch: 1, attempt: 3, sender: 's' };

const ROWS: readonly (readonly [string, World, string])[] = [
  [
    'the first order, with a lease',
    { order: PRIMARY },
    'recall remember:primary.1 ensureWatchdog mount resize holdLease makeWritable:any.1 lookAside send',
  ],
  ['the first order, before the first lease', { order: PRIMARY, lease: false }, 'recall remember:primary.1'],
  [
    'of one node: nothing to hold, and what an earlier class held is released',
    { order: PLAIN },
    'recall remember:primary.1 mount resize releaseLease makeWritable:any.1 lookAside send',
  ],
  [
    'held still: the lease goes back, with its mount, before the last copy is taken',
    { order: SEAL, record: recorded('primary'), hold: WRITING, leaseIsHeld: true },
    'endSending fence mount seal',
  ],
  [
    'held still, after a restart of the agent in the middle',
    { order: SEAL, stored: recorded('primary'), leaseIsHeld: true },
    'recall fence mount seal',
  ],
  ['held still already', { order: SEAL, record: recorded('primary'), hold: SEALED }, 'seal'],
  [
    'held still for another move: the copy is taken again',
    { order: SEAL, record: recorded('primary'), hold: { ...SEALED, attempt: 2 } },
    'endSending seal',
  ],
  [
    'not held still while a container has it',
    { order: SEAL, record: recorded('primary'), hold: WRITING, leaseIsHeld: true, inUse: true },
    'refuse:volume_in_use',
  ],
  [
    'not held still where it was never written',
    { order: SEAL, record: recorded('replica'), hold: MOUNTED },
    'refuse:volume_not_ready',
  ],
  [
    'goes on where it was held still, with a lease',
    { order: PRIMARY, record: recorded('primary'), hold: SEALED },
    `endSending ${AGAIN}`,
  ],
  [
    'does not go on without a lease',
    { order: PRIMARY, record: recorded('primary'), hold: SEALED, lease: false },
    'letGo',
  ],
  [
    'becomes a copy after it was held still',
    { order: { ...REPLICA, epoch: 2 }, record: recorded('primary'), hold: SEALED },
    'remember:replica.2 endSending resize demote checkReceiving',
  ],
  ['a later pass', { order: PRIMARY, record: recorded('primary'), hold: WRITING }, AGAIN],
  [
    'a restart of the agent while it wrote',
    { order: PRIMARY, stored: recorded('primary'), leaseIsHeld: true },
    'recall ensureWatchdog mount resize holdLease makeWritable:any.1 lookAside send',
  ],
  [
    'a restart of the agent whose lease ran out meanwhile',
    { order: PRIMARY, stored: recorded('primary'), leaseIsHeld: true, lease: false },
    'recall',
  ],
  [
    'the mount is missing',
    { order: PRIMARY, record: recorded('primary'), hold: WRITING, isMounted: false },
    'ensureWatchdog mount resize holdLease makeWritable:any.1 lookAside send',
  ],
  [
    'the lease is lost',
    { order: PRIMARY, record: recorded('primary'), hold: WRITING, lease: false },
    'letGo',
  ],
  ['nothing more to let go', { order: PRIMARY, record: recorded('primary'), lease: false }, ''],
  [
    'the lease runs out while it is mounted',
    { order: PRIMARY, record: recorded('primary'), leaseUntil: 'mount' },
    'ensureWatchdog mount letGo',
  ],
  [
    'the lease runs out while it is made writable: no copies of it are sent',
    { order: PRIMARY, record: recorded('primary'), leaseUntil: 'makeWritable' },
    'ensureWatchdog mount resize holdLease makeWritable:any.1 letGo',
  ],
  [
    'a higher epoch of the same primary: copies of the old one end first',
    { order: { ...PRIMARY, epoch: 2 }, record: recorded('primary'), hold: WRITING },
    'remember:primary.2 ensureWatchdog endSending resize holdLease makeWritable:any.2 lookAside send',
  ],
  [
    'promotion: a copy until it is known to have become more',
    { order: { ...PRIMARY, epoch: 2 }, record: recorded('replica'), hold: MOUNTED },
    'remember:replica.2 ensureWatchdog resize holdLease makeWritable:kept.2 remember:primary.2 lookAside send',
  ],
  [
    'promotion without a lease yet',
    { order: { ...PRIMARY, epoch: 2 }, record: recorded('replica'), hold: MOUNTED, lease: false },
    'remember:replica.2 letGo',
  ],
  [
    'promotion that a crash cut off',
    { order: { ...PRIMARY, epoch: 2 }, stored: recorded('replica', 2) },
    'recall ensureWatchdog mount resize holdLease makeWritable:kept.2 remember:primary.2 lookAside send',
  ],
  [
    'promotion of a volume that needs no lease any more',
    {
      order: { ...PLAIN, class: 'replicated', epoch: 2 },
      record: recorded('replica'),
      hold: MOUNTED,
    },
    'remember:replica.2 resize releaseLease makeWritable:kept.2 remember:primary.2 lookAside send',
  ],
  ['a copy', { order: REPLICA }, `recall remember:replica.1 mount ${AS_COPY}`],
  ['a copy, later', { order: REPLICA, record: recorded('replica'), hold: MOUNTED }, AS_COPY],
  [
    'a copy whose mount is missing',
    { order: REPLICA, record: recorded('replica'), hold: MOUNTED, isMounted: false },
    `mount ${AS_COPY}`,
  ],
  [
    'a copy after a restart of the agent',
    { order: REPLICA, stored: recorded('replica') },
    `recall mount ${AS_COPY}`,
  ],
  [
    'another is the primary: its writers end before anything is mounted, what they wrote is kept aside',
    {
      order: { ...REPLICA, epoch: 2 },
      record: recorded('primary'),
      hold: WRITING,
      leaseIsHeld: true,
      lease: false,
    },
    `remember:replica.2 endSending fence mount ${AS_COPY}`,
  ],
  [
    'the same after a restart: an earlier agent held it',
    { order: { ...REPLICA, epoch: 2 }, stored: recorded('primary'), leaseIsHeld: true },
    `recall remember:replica.2 fence mount ${AS_COPY}`,
  ],
  [
    'the same where the lease had run out already',
    { order: { ...REPLICA, epoch: 2 }, record: recorded('primary') },
    `remember:replica.2 mount ${AS_COPY}`,
  ],
  [
    'an order of an epoch that is over',
    { order: PRIMARY, stored: recorded('replica', 2) },
    'recall refuse:epoch_stale',
  ],
  ['the same as gone', { order: GONE, record: recorded('primary', 2) }, 'refuse:epoch_stale'],
  ['no engine', { order: PRIMARY, record: 'none', engines: [] }, 'refuse:volume_engine_absent'],
  [
    'its engine does not work here any more',
    { order: PRIMARY, record: recorded('primary', 1, 'zfs') },
    'refuse:volume_engine_absent',
  ],
  [
    'gone, while a container has it',
    { order: GONE, record: recorded('primary'), hold: WRITING, inUse: true },
    'endSending refuse:volume_in_use',
  ],
  ['gone', { order: GONE, record: recorded('primary'), hold: WRITING }, 'endSending close remove'],
  ['gone after a restart', { order: GONE, stored: recorded('replica') }, 'recall close remove'],
  ['gone, never kept', { order: GONE }, 'recall remove'],
  [
    'gone, of an engine that does not work any more',
    { order: GONE, record: recorded('replica', 1, 'zfs') },
    'remove',
  ],
  ['gone already', { order: GONE, record: 'none', hold: { kind: 'removed' } }, ''],
  ['a folder of the host', { order: BIND }, 'recall remember:primary.1 locate'],
  [
    'a folder of the host, later',
    {
      order: BIND,
      record: { id: 'vol_1', epoch: 1, role: 'primary' },
      hold: { kind: 'outside', epoch: 1, source: '/srv/a' },
    },
    'locate',
  ],
  [
    'divergences whose time is over, of a copy that is whole',
    { order: REPLICA, record: recorded('replica'), hold: MOUNTED, copyEpoch: 1, keepDivergedMs: 5 },
    `${AS_COPY} discard`,
  ],
  [
    'divergences, of a copy without the present bytes',
    { order: REPLICA, record: recorded('replica'), hold: MOUNTED, copyEpoch: 0, keepDivergedMs: 5 },
    AS_COPY,
  ],
  [
    'divergences whose time is not over',
    { order: REPLICA, record: recorded('replica'), hold: MOUNTED, copyEpoch: 1, keepDivergedMs: 6 },
    AS_COPY,
  ],
  [
    'divergences that are kept for ever',
    { order: REPLICA, record: recorded('replica'), hold: MOUNTED, copyEpoch: 1 },
    AS_COPY,
  ],
  [
    'divergences whose time is over, of a primary that writes',
    { order: PRIMARY, record: recorded('primary'), hold: WRITING, copyEpoch: 0, keepDivergedMs: 5 },
    `${AGAIN} discard`,
  ],
  [
    'divergences of a volume that is held still',
    { order: SEAL, record: recorded('primary'), hold: SEALED, copyEpoch: 1, keepDivergedMs: 5 },
    'seal',
  ],
  ['memory', { order: TMPFS, record: 'none' }, 'remember:primary.1 locate'],
];

describe('the plan of a volume', () => {
  it.each(ROWS)('%s', (_case, world, expected) => {
    expect(words(pass(world))).toBe(expected);
  });

  it('takes the engine by which it is kept, else the best', () => {
    const mounts = (world: World): unknown => pass(world).find(({ kind }) => kind === 'mount');
    expect(mounts({ order: REPLICA })).toMatchObject({ engine: 'btrfs' });
    expect(mounts({ order: REPLICA, stored: recorded('replica', 1, 'rsync') })).toMatchObject({
      engine: 'rsync',
    });
    expect(mounts({ order: PLAIN })).toMatchObject({ engine: 'plain' });
  });
});

const worlds = fc.record({
  order: fc
    .record({
      base: fc.constantFrom(PRIMARY, REPLICA, GONE, PLAIN, BIND, TMPFS),
      epoch: fc.integer({ min: 1, max: 3 }),
    })
    .map(({ base, epoch }) => ({ ...base, epoch })),
  record: fc.constantFrom<VolumeState['record'][]>(
    'unread',
    'none',
    recorded('primary'),
    recorded('primary', 2),
    recorded('replica'),
    recorded('replica', 2, 'rsync'),
    recorded('primary', 1, 'plain'),
  ),
  hold: fc.constantFrom(NOTHING, MOUNTED, WRITING),
  lease: fc.boolean(),
  leaseUntil: fc.constantFrom<VolumeStep['kind'][]>('recall', 'remember', 'mount', 'holdLease', 'lookAside'),
  leaseIsHeld: fc.boolean(),
  isMounted: fc.boolean(),
  inUse: fc.boolean(),
});

describe('whatever was before', () => {
  it('nothing is written without a record, a mount and the lease on disk, nor removed under a container', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const steps = pass(world);
        const at = (kind: VolumeStep['kind']): number => steps.findIndex((step) => step.kind === kind);
        const { order, record, hold, leaseIsHeld, inUse } = world;
        const written = at('makeWritable');
        if (written >= 0) {
          expect(order.role).toBe('primary');
          const told = steps.slice(0, written).findLast((step) => step.kind === 'remember');
          const epoch = told?.record.epoch ?? (typeof record === 'string' ? 0 : record.epoch);
          expect(epoch).toBe(order.epoch);
          if (order.leaseMs !== undefined) expect(at('holdLease')).toBeLessThan(written);
          if (order.leaseMs !== undefined) expect(at('holdLease')).toBeGreaterThanOrEqual(0);
          if (hold.kind === 'nothing') expect(at('mount')).toBeGreaterThanOrEqual(0);
        }
        // Whoever wrote here ends before another's bytes are taken in.
        if (order.role === 'replica' && leaseIsHeld && at('demote') >= 0)
          expect(at('fence')).toBeGreaterThanOrEqual(0);
        if (inUse) expect(at('remove')).toBe(-1);
        if (order.role !== 'gone') expect(at('close')).toBe(-1);
        if (order.role !== 'primary') expect(at('send')).toBe(-1);
      }),
      { numRuns: 2000 },
    );
  });
});
