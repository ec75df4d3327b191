import { describe, expect, it } from 'vitest';
import { tenantId } from '../../core/model/ids.ts';
import { globalKey, tenantKey } from '../store/keys.ts';
import type { KvEntry } from '../store/kv.ts';
import { decodeRecord, encodeRecord } from '../store/records.ts';
import { Mounting, raisedEntry, raisedHead } from './raised.ts';

const TENANT = tenantId('d326a2aa-1d89-40fe-b38a-35d59dfd16ee');

function entry(key: string, record: object): KvEntry {
  return { key, value: encodeRecord(record), createRevision: 3, modRevision: 7 };
}

function raised(key: string, record: object): object | undefined {
  const found = raisedEntry(entry(key, record), 40, 1_000);
  return found && { ...decodeRecord<object>(key, found.value), modRevision: found.modRevision };
}

describe('a restored record', () => {
  it('of a node is held, under sessions that nobody had', () => {
    const node = { name: 'n1', sessionEpoch: 12, schedulable: true };
    expect(raised(tenantKey(TENANT, 'nodes', 'n1'), node)).toEqual({
      name: 'n1',
      sessionEpoch: 1_000_012,
      schedulable: false,
      ordersHeld: { start: 'restore', revision: 40 },
      modRevision: 1_000,
    });
  });

  it.each([
    ['replicated', 1_000_005, 1_000],
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
      const found = raisedEntry(entry(key, { deployment, attempt: 2 }), 40, 1_000, mounting.owners());
      return decodeRecord<{ readonly attempt: number }>(key, found?.value ?? '').attempt;
    });
    expect(attempts).toEqual([1_002, 1_002, 2]);
  });

  it('of a browser session is none, and any other is as it was', () => {
    expect(raised(globalKey('sessions', 'abc'), {})).toBeUndefined();
    expect(raised(globalKey('tokens', 'tok'), { id: 'tok' })).toEqual({ id: 'tok', modRevision: 7 });
    expect(raised(`c/${TENANT}/events/e1`, { id: 'e1' })).toEqual({ id: 'e1', modRevision: 7 });
  });

  it('is of a revision above all that can have been given out', () => {
    const nowMs = Date.parse('2026-11-17T00:00:00Z');
    expect(raisedHead(500, nowMs)).toBe(nowMs * 100);
    // Under a clock that was set back.
    expect(raisedHead(nowMs * 100, 0)).toBe(nowMs * 100 + 1_000_000_000);
    expect(Number.isSafeInteger(raisedHead(nowMs * 100, nowMs * 2))).toBe(true);
  });
});
