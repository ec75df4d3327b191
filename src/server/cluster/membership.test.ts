import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { systemClock } from '../clock.ts';
import { StoreFormat } from '../store/format.ts';
import { globalKey } from '../store/keys.ts';
import type { Kv, LeaseId } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import { type ControlPlaneRecord, encodeRecord } from '../store/records.ts';
import { Membership } from './membership.ts';

const record = (version: string): ControlPlaneRecord => ({
  nodeName: version,
  startedAt: '',
  version,
  url: 'http://x',
  agentUrl: 'http://x',
});
const FAR = { key: globalKey('control-planes', 'cp_far'), value: encodeRecord(record('7.0.0')) };

let joined: Membership | undefined;
afterEach(() => joined?.leave());

/** A store, and how many of the leases that it gave out it has still. */
function leasing(): { readonly kv: Kv; readonly held: () => Promise<number> } {
  const memory = createMemoryKv();
  const given: LeaseId[] = [];
  const grantLease = async (ttlMs: number): Promise<LeaseId> => {
    const lease = await memory.grantLease(ttlMs);
    given.push(lease);
    return lease;
  };
  const held = async (): Promise<number> => {
    const alive = await Promise.all(given.map((lease) => memory.keepAlive(lease)));
    return alive.filter((is) => is).length;
  };
  return { kv: { ...memory, grantLease }, held };
}

function member(
  kv: Kv,
  onRefused: (error: Error) => void,
  onLost: () => Promise<void> = async () => undefined,
  lostMs?: number,
): Membership {
  joined = new Membership({
    kv,
    id: 'cp_1',
    record: record('0.1.0'),
    format: new StoreFormat('0.1.0'),
    leaseMs: 400,
    clock: systemClock,
    sees: async () => true,
    onLost,
    ...(lostMs !== undefined && { lostMs }),
    onRefused,
    log: () => undefined,
  });
  return joined;
}

it('that lost its lease and may not join again says so once, and leaves no lease behind', async () => {
  const { kv, held } = leasing();
  let tell: (error: Error) => void = () => undefined;
  const refused = new Promise<Error>((resolve) => (tell = resolve));
  const membership = member(kv, (error) => tell(error));
  await membership.join();
  await kv.commit({ puts: [FAR] });
  await kv.revokeLease(membership.lease ?? expect.fail('it has no lease'));
  expect((await refused).message).toMatch('control_plane_too_far: the control plane on 7.0.0');
  expect(await held()).toBe(0);
});

it('that may not join leaves no lease behind', async () => {
  const { kv, held } = leasing();
  await kv.commit({ puts: [FAR] });
  await expect(member(kv, () => undefined).join()).rejects.toThrow('control_plane_too_far');
  expect(await held()).toBe(0);
});

it('that lost its lease is back when what has to come before is done, and not earlier', async () => {
  const { kv } = leasing();
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const membership = member(
    kv,
    () => undefined,
    () => {
      begun.resolve();
      return done.promise;
    },
  );
  await membership.join();
  const key = globalKey('control-planes', 'cp_1');
  expect(await kv.get(key)).toBeDefined();
  await kv.revokeLease(membership.lease ?? expect.fail('it has no lease'));
  await begun.promise;
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect([await kv.get(key), membership.certain, membership.isRejoining]).toEqual([undefined, false, true]);
  done.resolve();
  await eventually(
    'it is back',
    () => kv.get(key),
    (entry) => entry !== undefined,
  );
  await eventually(
    'it is certain',
    () => membership.certain,
    (is) => is,
  );
  expect(membership.isRejoining).toBe(false);
});

it('is back although what has to come before that never ends', async () => {
  const { kv } = leasing();
  const never = () => new Promise<void>(() => undefined);
  const membership = member(kv, () => undefined, never, 50);
  await membership.join();
  await kv.revokeLease(membership.lease ?? expect.fail('it has no lease'));
  await eventually(
    'it has joined again',
    () => [membership.lost, membership.certain, membership.isRejoining],
    ([lost, certain, rejoining]) => lost === 1 && certain === true && rejoining === false,
  );
});

it('leaves although what has to come before it is back never ends', async () => {
  const { kv } = leasing();
  const begun = Promise.withResolvers<void>();
  const membership = member(
    kv,
    () => undefined,
    () => {
      begun.resolve();
      return new Promise(() => undefined);
    },
  );
  await membership.join();
  await kv.revokeLease(membership.lease ?? expect.fail('it has no lease'));
  await begun.promise;
  await membership.leave();
  expect(await kv.get(globalKey('control-planes', 'cp_1'))).toBeUndefined();
});
