import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { Measurements } from './measurements.ts';

const SHOP = 'shop' as TenantId;
const OWNERS: Readonly<Record<string, string>> = { i1: 'web', i2: 'web', i3: 'api' };

const REPORT = fc.record({
  node: fc.constantFrom('n1', 'n2'),
  /** Absent: its session ended. */
  usage: fc.option(
    fc.array(
      fc.record({
        instanceId: fc.constantFrom('i1', 'i2', 'i3', 'foreign'),
        cpuPercent: fc.double({ min: 0, max: 400, noNaN: true }),
        memoryBytes: fc.integer({ min: 0, max: 2 ** 40 }),
      }),
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
      const expected = new Map<string, { containers: number; cpu: number; memoryBytes: number }>();
      for (const node of ['n1', 'n2'])
        for (const [id, { cpuPercent, memoryBytes }] of measurements.here(SHOP, node)) {
          const sum = expected.get(OWNERS[id] ?? '') ?? { containers: 0, cpu: 0, memoryBytes: 0 };
          expected.set(OWNERS[id] ?? '', {
            containers: sum.containers + 1,
            cpu: sum.cpu + Math.round(cpuPercent * 100),
            memoryBytes: sum.memoryBytes + memoryBytes,
          });
        }
      const kept = measurements.usage().get(SHOP);
      expect(new Map(kept?.byOwner)).toEqual(expected);
      const total = [...expected.values()].reduce((sum, { containers }) => sum + containers, 0);
      expect(kept?.sum.containers ?? 0).toBe(total);
    }),
  );
});
