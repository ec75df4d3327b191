import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { InstanceUsage } from '../../core/protocol/agent-protocol.ts';
import type { Engine } from '../engine/engine.ts';
import type { ObservedContainer } from './observed-container.ts';
import { UsageMeter } from './usage.ts';

const CONTAINERS = ['a', 'b'].map((id) => ({ id, instanceId: `ins_${id}` }) as unknown as ObservedContainer);

describe('the usage meter', () => {
  let nowMs: number;
  let rounds: (readonly InstanceUsage[])[];
  let meter: UsageMeter;
  const departure = new AbortController();

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    rounds = [];
    const engine = {
      // `a` uses half a core all the time; `b` cannot be read.
      statsOnce: async (id: string) => {
        if (id === 'b') throw new Error('gone');
        const network = { receivedBytes: nowMs * 2, sentBytes: nowMs };
        return { atMs: nowMs, cpuNs: nowMs * 5e5, memoryBytes: 7, memoryLimitBytes: 8, network };
      },
    } as unknown as Engine;
    meter = new UsageMeter(
      engine,
      () => CONTAINERS,
      (usage) => rounds.push(usage),
    );
    meter.run(departure.signal);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  it('measures between two samples, and leaves out what it cannot read', async () => {
    await pass(15_000);
    expect(rounds).toEqual([[]]);
    await pass(15_000);
    expect(rounds[1]).toEqual([
      {
        instanceId: 'ins_a',
        cpuPercent: 50,
        memoryBytes: 7,
        receivedBytesPerSecond: 2000,
        sentBytesPerSecond: 1000,
      },
    ]);
  });

  it('follows the interval that the control plane asks for, at once', async () => {
    await pass(1000);
    meter.every(500);
    await pass(500);
    await pass(500);
    expect(rounds).toHaveLength(2);
    meter.every(undefined);
    await pass(14_000);
    expect(rounds).toHaveLength(2);
    await pass(1000);
    expect(rounds).toHaveLength(3);
    departure.abort();
    await pass(60_000);
    expect(rounds).toHaveLength(3);
  });
});
