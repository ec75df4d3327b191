import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { Measurements, noUsage, type UsageSum } from './measurements.ts';

const SHOP = 'shop' as TenantId;
const OWNERS: Readonly<Record<string, string>> = { i1: 'web', i2: 'web', i3: 'api' };

const RATE = fc.integer({ min: 0, max: 2 ** 30 });
const MEASURED = {
  instanceId: fc.constantFrom('i1', 'i2', 'i3', 'foreign'),
  cpuPercent: fc.double({ min: 0, max: 400, noNaN: true }),
  memoryBytes: fc.integer({ min: 0, max: 2 ** 40 }),
};

const REPORT = fc.record({
  node: fc.constantFrom('n1', 'n2'),
  /** Absent: its session ended. */
  usage: fc.option(
    fc.array(
      // As agents of two versions say it.
      fc.oneof(
        fc.record(MEASURED),
        fc.record({ ...MEASURED, receivedBytesPerSecond: RATE, sentBytesPerSecond: RATE }),
      ),
    ),
    { nil: undefined },
  ),
  gone: fc.constantFrom(undefined, 'i1', 'i3'),
});

it('what is kept of workloads is what adding up all nodes gives', () => {
  fc.assert(
    fc.property(fc.array(REPORT, { maxLength: 20 }), (reports) => {
      const measurements = new Measurements(async () => []);
      for (const { node, usage, gone } of reports) {
        if (usage === undefined) measurements.forget(SHOP, node);
        else measurements.take(SHOP, node, usage, (id) => (id === gone ? undefined : OWNERS[id]));
      }
      const expected = new Map<string, UsageSum>();
      for (const node of ['n1', 'n2'])
        for (const [id, one] of measurements.here(SHOP, node)) {
          const sum = expected.get(OWNERS[id] ?? '') ?? noUsage();
          expected.set(OWNERS[id] ?? '', {
            containers: sum.containers + 1,
            cpu: sum.cpu + Math.round(one.cpuPercent * 100),
            memoryBytes: sum.memoryBytes + one.memoryBytes,
            networked: sum.networked + (one.receivedBytesPerSecond === undefined ? 0 : 1),
            receivedPerSecond: sum.receivedPerSecond + (one.receivedBytesPerSecond ?? 0),
            sentPerSecond: sum.sentPerSecond + (one.sentBytesPerSecond ?? 0),
          });
        }
      const kept = measurements.usage().get(SHOP);
      expect(new Map(kept?.byOwner)).toEqual(expected);
      const total = [...expected.values()].reduce((sum, { containers }) => sum + containers, 0);
      expect(kept?.sum.containers ?? 0).toBe(total);
      const ofNodes = [...measurements.nodes()].reduce((sum, one) => sum + one.sum.containers, 0);
      expect(ofNodes).toBe(total);
    }),
  );
});

afterEach(() => {
  vi.useRealTimers();
});

it('a measurement that is not repeated is none after a few rounds, of a container as of a node', () => {
  vi.useFakeTimers();
  const measurements = new Measurements(async () => [], 15_000);
  const take = (...ids: readonly string[]): void =>
    measurements.take(
      SHOP,
      'n1',
      ids.map((instanceId) => ({ instanceId, cpuPercent: 1, memoryBytes: 1 })),
      (id) => OWNERS[id],
    );
  take('i1', 'i3');
  vi.advanceTimersByTime(30_000);
  take('i1');
  measurements.forgetSilent();
  expect(measurements.usage().get(SHOP)?.sum.containers).toBe(2);
  vi.advanceTimersByTime(30_000);
  take('i1');
  expect([...(measurements.usage().get(SHOP)?.byOwner.keys() ?? [])]).toEqual(['web']);
  vi.advanceTimersByTime(46_000);
  measurements.forgetSilent();
  expect(measurements.usage().size).toBe(0);
  expect(measurements.here(SHOP, 'n1').size).toBe(0);
});
