import { describe, expect, it } from 'vitest';
import { tenantId } from '../../core/model/ids.ts';
import { globalKey, tenantKey } from '../store/keys.ts';
import type { KvEntry } from '../store/kv.ts';
import { decodeRecord, encodeRecord } from '../store/records.ts';
import { Mounting, raisedEntry, raisedHead } from './raised.ts';

const NOW_MS = Date.parse('2026-11-17T00:00:00Z');
const RAISE = { revision: 40, head: 1_000, nowMs: NOW_MS } as const;
const TENANT = tenantId('d326a2aa-1d89-40fe-b38a-35d59dfd16ee');

function entry(key: string, record: object): KvEntry {
  return { key, value: encodeRecord(record), createRevision: 3, modRevision: 7 };
}

function raised(key: string, record: object): object | undefined {
  const found = raisedEntry(entry(key, record), RAISE);
  return found && { ...decodeRecord<object>(key, found.value), modRevision: found.modRevision };
}

const COUNTED = [
  { kind: 'nodes', id: 'n1', field: 'sessionEpoch' },
  { kind: 'volumes', id: 'v1', field: 'epoch' },
  { kind: 'instances', id: 'db/i1', field: 'attempt' },
] as const;

/** The number of a record of one of them in a store that was restored at that time. */
function restored({ kind, id, field }: (typeof COUNTED)[number], stored: number, nowMs: number): number {
  const key = tenantKey(TENANT, kind, id);
  const record = { name: 'n1', class: 'replicated', deployment: 'db', [field]: stored };
  const mounting = new Set([`${TENANT}/db`]);
  const found = raisedEntry(entry(key, record), { ...RAISE, nowMs }, mounting);
  return decodeRecord<Readonly<Record<string, number>>>(key, found?.value ?? '')[field] ?? Number.NaN;
}

describe('a restored record', () => {
  it('of a node is held, under sessions that nobody had', () => {
    const node = { name: 'n1', sessionEpoch: 12, schedulable: true };
    expect(raised(tenantKey(TENANT, 'nodes', 'n1'), node)).toEqual({
      name: 'n1',
      sessionEpoch: NOW_MS,
      schedulable: false,
      ordersHeld: { start: 'restore', revision: 40 },
      modRevision: 1_000,
    });
  });

  it.each([
    ['replicated', NOW_MS, 1_000],
    ['ephemeral', 5, 7],
  ])('of a volume that is %s has epoch %i', (kind, epoch, modRevision) => {
    expect(raised(tenantKey(TENANT, 'volumes', 'v1'), { id: 'v1', class: kind, epoch: 5 })).toEqual({
      id: 'v1',
      class: kind,
      epoch,
      modRevision,
    });
  });

  it('of an instance that mounts a replicated volume makes another container', () => {
    const mounting = new Mounting();
    mounting.add(entry(tenantKey(TENANT, 'volume-claims', 'v1'), { writer: 'db', readers: ['reports'] }));
    mounting.add(entry(tenantKey(TENANT, 'volume-claims', 'v2'), { writer: 'web', readers: [] }));
    mounting.add(entry(tenantKey(TENANT, 'volumes', 'v1'), { class: 'replicated' }));
    mounting.add(entry(tenantKey(TENANT, 'volumes', 'v2'), { class: 'ephemeral' }));
    const attempts = ['db', 'reports', 'web'].map((deployment) => {
      const key = tenantKey(TENANT, 'instances', `${deployment}/i1`);
      const found = raisedEntry(entry(key, { deployment, attempt: 2 }), RAISE, mounting.owners());
      return decodeRecord<{ readonly attempt: number }>(key, found?.value ?? '').attempt;
    });
    expect(attempts).toEqual([NOW_MS, NOW_MS, 2]);
  });

  it('of a browser session is none, and any other is as it was', () => {
    expect(raised(globalKey('sessions', 'abc'), {})).toBeUndefined();
    expect(raised(globalKey('tokens', 'tok'), { id: 'tok' })).toEqual({ id: 'tok', modRevision: 7 });
    expect(raised(`c/${TENANT}/events/e1`, { id: 'e1' })).toEqual({ id: 'e1', modRevision: 7 });
  });

  it.each(COUNTED)('of the $kind has a number that nobody had, however often a backup is restored', (of) => {
    const first = restored(of, 1, NOW_MS);
    // Promotions, sessions and restarts under the store that was restored first, then the same backup once more.
    const later = NOW_MS + 60_000;
    expect(restored(of, 1, later)).toBeGreaterThan(first + 1_000);
    // A backup of that store, and then, however soon, the same one again, or the one before it.
    const second = restored(of, first + 3, later);
    expect(second).toBeGreaterThan(first + 3);
    expect(restored(of, first + 3, later + 20_000)).toBeGreaterThan(second + 1_000);
    expect(restored(of, 1, later + 20_000)).toBeGreaterThan(second + 1_000);
    // Names of copies and requests for them have room for 15 digits.
    expect(String(second).length).toBeLessThan(15);
  });

  it.each(COUNTED)('of the $kind has a higher number under a clock that was set back, too', (of) => {
    expect(restored(of, NOW_MS, 0)).toBeGreaterThanOrEqual(NOW_MS + 1_000);
  });

  it('is of a revision above all that can have been given out', () => {
    expect(raisedHead(500, NOW_MS)).toBe(NOW_MS * 100);
    // Under a clock that was set back.
    expect(raisedHead(NOW_MS * 100, 0)).toBe(NOW_MS * 100 + 1_000_000_000);
    expect(Number.isSafeInteger(raisedHead(NOW_MS * 100, NOW_MS * 2))).toBe(true);
    // The same backup of a store that was restored itself, restored once more soon after.
    const first = raisedHead(NOW_MS * 100, NOW_MS + 60_000);
    expect(raisedHead(NOW_MS * 100, NOW_MS + 120_000)).toBeGreaterThan(first + 1_000);
  });
});
