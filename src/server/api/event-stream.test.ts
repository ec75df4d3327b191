import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { createIds } from '../ids.ts';
import { Journal } from '../journal/journal.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store, type TenantStore } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { EventFeeds, type EventView } from './event-feed.ts';
import { eventStream } from './event-stream.ts';

const SHOP = 't1' as TenantId;
const ALL: EventView = { key: 'all', wants: () => true };
const clock = { now: () => new Date('2026-01-01T00:00:00Z'), monotonicMs: () => 0 };
const journal = new Journal(clock, createIds(clock));
let store: TenantStore;
let feeds: EventFeeds;

beforeEach(async () => {
  const kv = createMemoryKv();
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined })).forTenant(SHOP);
  feeds = new EventFeeds();
});

async function tell(...messages: readonly string[]): Promise<void> {
  const transaction = store.transaction();
  for (const message of messages)
    journal.event(transaction, SHOP, { kind: 'k', subject: { kind: 'Node', name: 'n' }, message });
  await store.commit(transaction);
}

/** A reader; `writes` has what it was told of by each write. */
function read({
  view = ALL,
  last = '',
  meanwhile,
}: {
  readonly view?: EventView;
  readonly last?: string;
  /** Between the head of the answer and the stream itself. */
  readonly meanwhile?: () => Promise<void>;
} = {}) {
  const writes: string[] = [];
  const leaving = new AbortController();
  let takes = true;
  let drain = (): void => undefined;
  const write = (piece: string | Uint8Array): boolean => {
    const text = typeof piece === 'string' ? piece : Buffer.from(piece).toString();
    const told = [...text.matchAll(/"message":"(\w+)"/g)].map(([, message]) => message);
    if (told.length > 0) writes.push(told.join(' '));
    return takes;
  };
  const sink = {
    write,
    writeShared: ({ bytes }: { readonly bytes: Uint8Array }) => write(bytes),
    drained: () =>
      new Promise<void>((resolve) => {
        if (takes) resolve();
        else drain = resolve;
      }),
    hold: () => true,
    signal: leaving.signal,
  };
  const opening = eventStream(
    { store, headers: { 'last-event-id': last }, charge: () => undefined },
    feeds,
    view,
  );
  const over = opening.then(async ({ stream }) => {
    await meanwhile?.();
    await stream(sink);
  });
  return {
    writes,
    over,
    begun: async () => (await opening).headers?.['last-event-id'] ?? '',
    leave: () => leaving.abort(),
    stall: () => {
      takes = false;
    },
    goOn: () => {
      takes = true;
      drain();
    },
  };
}

describe('a stream of events', () => {
  it('gets what a turn of the event loop brought in one write, after whoever changed it was answered', async () => {
    const reader = read();
    const other = read({ view: { key: 'even', wants: ({ message }) => message === 'b' } });
    await turn();
    await Promise.all([tell('a'), tell('b', 'c')]);
    expect(reader.writes).toEqual([]);
    await turn();
    expect(reader.writes).toEqual(['a b c']);
    expect(other.writes).toEqual(['b']);
    await tell('d');
    await turn();
    expect(reader.writes).toEqual(['a b c', 'd']);
    reader.leave();
    other.leave();
    await Promise.all([reader.over, other.over]);
  });

  it.each(['', 'event-0'])(
    'is told once of what is stored in the turn it begins in (after %j)',
    async (last) => {
      const first = read();
      await turn();
      await tell('a');
      const reader = read({ last });
      // Not yet handed to anybody, and read from the store by the second.
      expect(first.writes).toEqual([]);
      await turn();
      await tell('b');
      await turn();
      expect(first.writes).toEqual(['a', 'b']);
      expect(reader.writes).toEqual(last === '' ? ['b'] : ['a', 'b']);
      first.leave();
      reader.leave();
      await Promise.all([first.over, reader.over]);
    },
  );

  it('goes on from where it began if it is cut off before its first event', async () => {
    await tell('before');
    const reader = read();
    await turn();
    reader.leave();
    await reader.over;
    await tell('a', 'b');
    await tell('c');
    const resumed = read({ last: await reader.begun() });
    // Of a store that was put in the place of another: nothing is known of what it has had.
    const elsewhere = read({ last: '@4711' });
    await turn();
    expect(reader.writes).toEqual([]);
    expect(resumed.writes).toEqual(['a', 'b', 'c']);
    expect(elsewhere.writes).toEqual(['before', 'a', 'b', 'c']);
    resumed.leave();
    elsewhere.leave();
    await Promise.all([resumed.over, elsewhere.over]);
  });

  it('has what came after it was told where it begins', async () => {
    await tell('before');
    const reader = read({ meanwhile: () => tell('a') });
    await turn();
    await tell('b');
    await turn();
    expect(reader.writes).toEqual(['a', 'b']);
    reader.leave();
    await reader.over;
  });

  it('ends in order when the control plane does, with what came before, also if it was asked for in that moment', async () => {
    const reader = read();
    await turn();
    await tell('a');
    const late = read({ last: 'event-0' });
    feeds.close();
    await Promise.all([reader.over, late.over]);
    expect([reader.writes, late.writes]).toEqual([['a'], ['a']]);
    const later = read({ last: 'event-0' });
    await later.over;
    expect(later.writes).toEqual(['a']);
  });

  it('keeps the order for a reader that stalls, and nothing for one that is too far behind, which is ended', async () => {
    let asked = 0;
    const wants = (): boolean => {
      asked += 1;
      return true;
    };
    const reader = read();
    const late = read({ view: { key: 'late', wants } });
    await turn();
    reader.stall();
    late.stall();
    await tell('a');
    await turn();
    await tell('b');
    await turn();
    reader.goOn();
    await tell('c');
    await turn();
    await turn();
    expect(reader.writes.join(' ')).toBe('a b c');
    expect(late.writes).toEqual(['a']);
    await tell(...Array.from({ length: 10_000 }, () => 'x'));
    await turn();
    const before = asked;
    await tell('y');
    await turn();
    // It has left the feed, although its client has taken nothing yet.
    expect(asked).toBe(before);
    late.goOn();
    await late.over;
    expect(late.writes).toEqual(['a']);
    reader.leave();
    await reader.over;
  });
});
