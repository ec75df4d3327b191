import { describe, expect, it } from 'vitest';
import type { AssignedContainer, AssignedInstance, AssignedVolume } from './agent-protocol.ts';
import { frameReader } from '../schema/read-message.ts';
import { serverMessage } from './server-messages.ts';

const readServerMessage = frameReader(serverMessage);

const CONTAINER: AssignedContainer = {
  image: 'shop/web:1',
  environment: {},
  needsSecrets: false,
  ports: [],
  labels: {},
  mounts: [],
  alias: 'web',
};
const INSTANCE = { id: 'ins_1', deployment: 'web', specHash: 'h', secretsVersion: 0, attempt: 0 } as const;
const VOLUME = { id: 'vol_1', class: 'replicated', type: 'volume', epoch: 1, sizeBytes: 1 } as const;

function read(orders: { readonly instances?: readonly object[]; readonly volumes?: readonly object[] }) {
  const text = JSON.stringify({ type: 'assignment', epoch: 1, generation: 1, instances: [], ...orders });
  return readServerMessage(text);
}

describe('orders of an agent', () => {
  it.each<AssignedInstance>([
    { ...INSTANCE, wanted: 'run', container: CONTAINER },
    { ...INSTANCE, wanted: 'run', canary: true, container: CONTAINER },
    { ...INSTANCE, deployment: 'job.dump', once: { timeoutMs: 5 }, wanted: 'run', container: CONTAINER },
    { ...INSTANCE, wanted: 'stop' },
  ])('are read as they were sent: $wanted $once $canary', (order) => {
    expect(read({ instances: [order] })).toMatchObject({ instances: [order] });
  });

  it('that another version sends with more than they need are read without it', () => {
    const stop = { ...INSTANCE, wanted: 'stop' };
    const replica = { ...VOLUME, role: 'replica' };
    const orders = read({
      instances: [{ ...stop, once: { end: true }, container: CONTAINER }],
      volumes: [{ ...replica, leaseMs: 5, copiesTo: ['n2'] }],
    });
    expect(orders).toEqual({
      type: 'assignment',
      epoch: 1,
      generation: 1,
      instances: [stop],
      volumes: [replica],
    });
  });

  it('that cannot be are not written', () => {
    const instances: AssignedInstance[] = [];
    const volumes: AssignedVolume[] = [];
    // @ts-expect-error what runs is made from something
    instances.push({ ...INSTANCE, wanted: 'run' });
    // @ts-expect-error what stops is made from nothing
    instances.push({ ...INSTANCE, wanted: 'stop', container: CONTAINER });
    // @ts-expect-error nor is it run once
    instances.push({ ...INSTANCE, wanted: 'stop', once: {} });
    // @ts-expect-error a copy writes to nobody
    volumes.push({ ...VOLUME, role: 'replica', leaseMs: 5 });
    // @ts-expect-error nor is it copied
    volumes.push({ ...VOLUME, role: 'replica', copiesTo: [] });
    // @ts-expect-error what goes has no lease
    volumes.push({ ...VOLUME, role: 'gone', leaseMs: 5 });
    // @ts-expect-error nor copies
    volumes.push({ ...VOLUME, role: 'gone', copiesTo: [] });
    expect([instances.length, volumes.length]).toEqual([3, 4]);
  });
});
