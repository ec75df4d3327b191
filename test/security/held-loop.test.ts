import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect } from 'vitest';
import type { LeaseRepeat } from '../../src/core/protocol/agent-protocol.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { FENCED_MS, primary, PromotionStage, replica, SPAN_MS } from '../support/harness/promotion-stage.ts';
import { createVolume, type VolumeAgent, volumeOnce } from '../support/agents/volume-agent.ts';

const EVERY_MS = 50;

let stage: PromotionStage;

beforeAll(async () => {
  stage = await PromotionStage.start();
});
afterAll(() => stage.close());

class Asker {
  readonly #words = new BigInt64Array(new SharedArrayBuffer(16));
  readonly #worker: Worker;

  constructor(repeat: LeaseRepeat) {
    this.#worker = new Worker(new URL('../support/agents/lease-asker.ts', import.meta.url), {
      workerData: { repeat, everyMs: EVERY_MS, shared: this.#words.buffer },
      execArgv: [],
    });
  }

  get count(): number {
    return Number(Atomics.load(this.#words, 0));
  }

  get lastNs(): bigint {
    return Atomics.load(this.#words, 1);
  }

  end(): Promise<number> {
    return this.#worker.terminate();
  }
}

/** A primary with a copy, and where its leases are repeated. */
async function leased(
  slug: string,
): Promise<{ one: VolumeAgent; id: string; repeat: LeaseRepeat; call: Parameters<typeof volumeOnce>[0] }> {
  const tenant = await stage.plane.tenant(slug);
  const one = await stage.node(tenant, `${slug}-1`);
  const two = await stage.node(tenant, `${slug}-2`);
  const id = await createVolume(tenant.call, 'data', { nodeId: `${slug}-1`, replicas: 1 });
  await one.assignment(({ volumes }) => volumes?.[0]?.copiesTo?.length === 1);
  await two.assignment(({ volumes }) => volumes?.[0]?.id === id);
  one.volumes = [primary(id, 1, [{ nodeId: `${slug}-2`, state: 'live', sequence: 5, ageMs: 100 }])];
  two.volumes = [replica(id, 1, 5)];
  await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
  // The thread is started with the first volume: the first lease may come before it.
  const { repeat } = await eventually(
    () => one.lease(one.report()),
    (lease) => lease.repeat !== undefined,
  );
  if (repeat === undefined) throw new Error('leases are not repeated anywhere');
  return { one, id, repeat, call: tenant.call };
}

attack('anybody', 'an event loop that is held for longer than a lease lasts', async () => {
  const { one, repeat, call, id } = await leased('held');
  const asker = new Asker(repeat);
  try {
    await eventually(
      async () => asker.count,
      (count) => count > 0,
    );
    const before = asker.count;
    // Nothing of the control plane runs in this time: it is in this very process.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SPAN_MS * 2);
    const lastAgoMs = Number(process.hrtime.bigint() - asker.lastNs) / 1e6;
    expect(asker.count - before).toBeGreaterThan(3);
    expect(lastAgoMs).toBeLessThan(SPAN_MS);
    one.report();
    expect(await volumeOnce(call, id, ({ phase }) => phase === 'Ready')).toMatchObject({ epoch: 1 });
  } finally {
    await asker.end();
  }
});

attack('a node that lost its session', 'leases from the thread after its place was given away', async () => {
  const { one, repeat, call, id } = await leased('lost');
  const asker = new Asker(repeat);
  try {
    await eventually(
      async () => asker.count,
      (count) => count > 0,
    );
    one.die();
    await volumeOnce(call, id, ({ epoch }) => epoch === 2);
    const promotedNs = process.hrtime.bigint();
    const count = asker.count;
    // It asks on: a dozen times more, and none is answered.
    await new Promise((resolve) => setTimeout(resolve, 12 * EVERY_MS));
    expect(asker.count).toBe(count);
    expect(Number(promotedNs - asker.lastNs) / 1e6).toBeGreaterThanOrEqual(FENCED_MS - 20);
  } finally {
    await asker.end();
  }
});
