import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SeenVolume } from '../../contract/volume-seen.ts';
import type { NodeName } from '../../model/ids.ts';
import { fencedAfterMs, isLeased, type VolumeRecord } from '../../model/volume.ts';
import { DEFAULT_REGIONS } from '../../scheduler/regions.ts';
import {
  binding,
  LEASE_MS,
  n,
  volumeFacts,
  volumeNode,
  volumeSample,
} from '../../../../test/support/samples/volume.ts';
import type { VolumeNode } from './volume-facts.ts';
import { planVolume } from './volumes.ts';

const NAMES = ['a', 'b', 'c', 'd'].map(n);
const GERMAN = { 'berth.io/country': 'DE' };
/** Shorter than a lease, so that failure alone does not prove that nobody writes. */
const FAILED_MS = 5000;
const LOST_MS = 60_000;

type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'report'; readonly node: number; readonly live: boolean; readonly diverged: boolean }
  | { readonly do: 'cut' | 'heal'; readonly node: number }
  | { readonly do: 'restart' }
  | { readonly do: 'copies'; readonly count: number }
  | { readonly do: 'bind'; readonly bound: boolean };

const node = fc.nat({ max: NAMES.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 20_000 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      node,
      live: fc.boolean(),
      diverged: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cut' as const, 'heal' as const), node }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copies' as const), count: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bind' as const), bound: fc.boolean() }) },
);

/** One volume, four nodes, a control plane that forgets when it restarts. */
class World {
  record: VolumeRecord = volumeSample({ copies: 2 });
  nowMs = 0;
  promotions = 0;
  readonly primaries = new Map<number, NodeName | undefined>();
  readonly #up = new Set<NodeName>(NAMES);
  readonly #heardMs = new Map<NodeName, number>(NAMES.map((name) => [name, 0]));
  readonly #seen = new Map<NodeName, SeenVolume>();
  /** When each node was last truly given a lease, whatever the control plane remembers of it. */
  readonly #leasedMs = new Map<NodeName, number>();
  #remembered = new Map<NodeName, number>();
  #startedMs = 0;
  #bound = false;
  #sequence = 0;

  #node(name: NodeName): VolumeNode {
    const silentMs = this.nowMs - (this.#heardMs.get(name) ?? 0);
    const condition = silentMs < FAILED_MS ? 'ready' : silentMs < LOST_MS ? 'failed' : 'lost';
    // Two nodes of four may hold what must stay in Germany.
    return volumeNode(name, { condition, labels: name < 'c' ? GERMAN : {} });
  }

  take(one: Step): void {
    switch (one.do) {
      case 'wait':
        this.nowMs += one.ms;
        break;
      case 'cut':
        this.#up.delete(NAMES[one.node] ?? n('a'));
        break;
      case 'heal':
        this.#up.add(NAMES[one.node] ?? n('a'));
        break;
      case 'report':
        this.#report(NAMES[one.node] ?? n('a'), one.live, one.diverged);
        break;
      case 'restart':
        this.#remembered = new Map();
        this.#startedMs = this.nowMs;
        break;
      case 'copies':
        this.record = { ...this.record, copies: one.count };
        break;
      case 'bind':
        this.#bound = one.bound;
    }
    this.#plan();
  }

  #report(name: NodeName, live: boolean, diverged: boolean): void {
    if (!this.#up.has(name)) return;
    const { record } = this;
    this.#heardMs.set(name, this.nowMs);
    const base = { volumeId: record.id, epoch: record.epoch, state: 'ready', measuredAt: '' } as const;
    this.#sequence += 1;
    if (record.primaryNodeId === name) {
      const copies = record.replicas.map(({ nodeId }) => ({
        nodeId,
        ...(live ? ({ state: 'live', ageMs: 500 } as const) : ({ state: 'syncing' } as const)),
      }));
      this.#seen.set(name, { ...base, role: 'primary', copies });
      if (isLeased(record)) {
        this.#leasedMs.set(name, this.nowMs);
        this.#remembered.set(name, this.nowMs);
      }
    } else if (record.replicas.some(({ nodeId }) => nodeId === name)) {
      const copy = { epoch: record.epoch, sequence: this.#sequence, takenAt: '' };
      const aside = diverged ? { diverged: [{ epoch: record.epoch - 1, path: '/d' }] } : {};
      this.#seen.set(name, { ...base, role: 'replica', copy, ...aside });
    } else if (record.leaving.includes(name))
      this.#seen.set(name, { ...base, role: 'replica', state: 'gone' });
  }

  #plan(): void {
    const before = this.record;
    const primary = before.primaryNodeId ?? n('');
    const leased = this.#remembered.get(primary) ?? this.#startedMs;
    const facts = volumeFacts({
      record: before,
      nodes: NAMES.map((name) => this.#node(name)),
      nowMs: this.nowMs,
      fencedAtMs: leased + fencedAfterMs(before),
      bindings: this.#bound ? [binding({ country: 'DE' })] : [],
      regions: DEFAULT_REGIONS,
    });
    const plan = planVolume({ ...facts, seen: (name) => this.#seen.get(name) });
    this.record = plan.record;
    for (const name of plan.forget) this.#seen.delete(name);
    this.#check(before, plan.promotes);
  }

  #check(before: VolumeRecord, promotes: boolean): void {
    const { record } = this;
    const law = (holds: boolean, what: string): void => {
      if (!holds) throw new Error(`${what}: ${JSON.stringify(before)} → ${JSON.stringify(record)}`);
    };
    const known = this.primaries.get(record.epoch);
    law(known === undefined || known === record.primaryNodeId, 'an epoch has one primary');
    this.primaries.set(record.epoch, record.primaryNodeId);
    const holders = [record.primaryNodeId, ...record.replicas.map(({ nodeId }) => nodeId)];
    law(new Set(holders).size === holders.length, 'each copy is on a node of its own');
    law(!record.leaving.some((name) => holders.includes(name)), 'nothing is removed that is kept');
    const held = [before.primaryNodeId, ...before.replicas.map(({ nodeId }) => nodeId)];
    const added = holders.filter((name) => !held.includes(name));
    law(!this.#bound || !added.some((name) => (name ?? '') >= 'c'), 'residency binds copies');
    law(!this.#bound || !promotes || (record.primaryNodeId ?? '') < 'c', 'residency binds promotion');
    for (const { nodeId, formerEpoch } of before.replicas) {
      const said = this.#seen.get(nodeId);
      const clean = said?.role === 'replica' && said.epoch === before.epoch && said.diverged === undefined;
      law(formerEpoch === undefined || clean || !record.leaving.includes(nodeId), 'own bytes are kept');
    }
    law(record.epoch === before.epoch + (promotes ? 1 : 0), 'an epoch begins with a promotion');
    if (!promotes) return;
    this.promotions += 1;
    const granted = this.#leasedMs.get(before.primaryNodeId ?? n(''));
    law(granted === undefined || this.nowMs > granted + LEASE_MS, 'promotion waits for the lease');
  }
}

describe('whatever happens to four nodes and their control plane', () => {
  it('an epoch has one primary, promotion waits for the lease, residency binds, and own bytes stay', () => {
    let promotions = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), (steps) => {
        const world = new World();
        for (const one of steps) world.take(one);
        promotions += world.promotions;
      }),
      { numRuns: 1000 },
    );
    // The property would hold of a planner that never promotes, too.
    expect(promotions).toBeGreaterThan(30);
    console.log(`1000 histories, ${promotions} promotions`);
  });
});
