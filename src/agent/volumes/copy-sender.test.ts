import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CopyLink, OutgoingCopy, SendOutcome } from './copy-link.ts';
import { CopySender } from './copy-sender.ts';
import {
  type Copy,
  type CopyName,
  copyText,
  isSameCopy,
  type OpenVolume,
  type SnapshotCopies,
} from './volume-engine.ts';

const OK: SendOutcome = { ok: true };

/** A volume in memory that changes before every look. */
class Changing implements SnapshotCopies {
  kept: Copy[];
  usedShare = 0.1;
  constructor(kept: readonly CopyName[] = []) {
    this.kept = kept.map((name) => ({ ...name, takenAt: '' }));
  }
  async take(epoch: number): Promise<Copy> {
    const newest = this.kept.at(-1);
    const sequence = newest?.epoch === epoch ? newest.sequence + 1 : 1;
    const copy = { epoch, sequence, takenAt: '' };
    this.kept.push(copy);
    return copy;
  }
  async list(): Promise<readonly Copy[]> {
    return [...this.kept];
  }
  async send(): ReturnType<SnapshotCopies['send']> {
    return { stream: Readable.from(['x']), stop: () => {} };
  }
  async drop(copy: CopyName): Promise<void> {
    this.kept = this.kept.filter((one) => !isSameCopy(one, copy));
  }
  reclaimed = 0;
  async reclaim(): Promise<void> {
    this.reclaimed += 1;
  }
  async demote(): Promise<void> {}
  async receive(): Promise<void> {}
  async discard(): Promise<void> {}
  async diverged(): Promise<readonly []> {
    return [];
  }
}

/** As an engine that keeps the last two moments, and cannot send what became of another. */
class TwoKept extends Changing {
  readonly keepsTwo = true;
  /** Copies of which something went while they were read. */
  readonly torn: string[] = [];
  prepareMs = 0;
  override async take(epoch: number): Promise<Copy> {
    const copy = await super.take(epoch);
    this.kept = this.kept.slice(-2);
    return copy;
  }
  override async send(copy?: CopyName, parent?: CopyName): ReturnType<SnapshotCopies['send']> {
    const [older, newest] = this.kept.length === 1 ? [undefined, this.kept[0]] : this.kept;
    if (copy === undefined || !isSameCopy(copy, newest)) throw new Error('only the newest copy can be sent');
    if (parent !== undefined && !isSameCopy(parent, older)) throw new Error('the parent is not kept');
    if (this.prepareMs > 0) await pause(this.prepareMs);
    if (!this.kept.some((one) => isSameCopy(one, copy))) this.torn.push(copyText(copy));
    return super.send();
  }
}

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const POLL = { timeout: 10_000 };
const NOWHERE: CopyLink['fetch'] = () => {
  throw new Error('nothing is fetched here');
};

/** Its own link, and no end of its own. */
function senderOf(
  copies: Changing,
  send: CopyLink['send'],
  onChange: () => void = () => {},
  warn: (message: string) => void = () => {},
): CopySender {
  const volume = {
    measure: async () => {
      await pause(1);
      return { sizeBytes: 100, usedBytes: 100 * copies.usedShare };
    },
  } as unknown as OpenVolume;
  const options = { volumeId: 'vol_1', engine: 'btrfs', epoch: 2, volume, copies, intervalMs: 1, onChange };
  return new CopySender({ ...options, link: { send, fetch: NOWHERE }, log: { ...log, warn } });
}

/** Runs until the link has been asked so often; answers what it was asked. */
async function sent(
  copies: Changing,
  answer: (count: number, copy: OutgoingCopy) => SendOutcome | Promise<SendOutcome>,
  times: number,
): Promise<{ readonly parents: readonly (string | undefined)[]; readonly sender: CopySender }> {
  const parents: (string | undefined)[] = [];
  const done = Promise.withResolvers<void>();
  const sender = senderOf(copies, async (copy) => {
    const { parent, parentEpoch = 0 } = copy.header;
    parents.push(parent === undefined ? undefined : copyText({ epoch: parentEpoch, sequence: parent }));
    if (parents.length === times) done.resolve();
    return answer(parents.length, copy);
  });
  sender.setTargets(['b']);
  await done.promise;
  await pause(50);
  await sender.end();
  return { parents, sender };
}

describe('the sender of copies', () => {
  it('sends whole first, then from what was confirmed, and keeps no more than that', async () => {
    const copies = new Changing();
    const { parents, sender } = await sent(copies, () => OK, 3);
    expect(parents.slice(0, 3)).toEqual([undefined, '2.1', expect.stringMatching(/^2\./)]);
    expect(sender.state()).toMatchObject([{ nodeId: 'b', state: 'live' }]);
    expect(copies.kept.length).toBeLessThanOrEqual(3);
  });

  it('begins after a promotion with what it had received', async () => {
    const { parents } = await sent(new Changing([{ epoch: 1, sequence: 7 }]), () => OK, 1);
    expect(parents[0]).toBe('1.7');
  });

  it('takes what both have when the receiver lacks the parent', async () => {
    const before = [
      { epoch: 1, sequence: 5 },
      { epoch: 1, sequence: 7 },
    ];
    const missing = { ok: false, where: 'receiver', reason: 'parent_missing', message: '' } as const;
    const { parents } = await sent(
      new Changing(before),
      (count) => (count === 1 ? { ...missing, have: ['1.5', '0.9'] } : OK),
      2,
    );
    expect(parents.slice(0, 2)).toEqual(['1.7', '1.5']);
  });

  it('keeps what was there when it began until the receiver has said what it has', async () => {
    const before = [
      { epoch: 2, sequence: 5 },
      { epoch: 2, sequence: 7 },
    ];
    const missing = { ok: false, where: 'receiver', reason: 'parent_missing', message: '' } as const;
    const late = async (): Promise<SendOutcome> => {
      // Many rounds go by, each of which removes what nobody needs.
      await pause(100);
      return { ...missing, have: ['2.5'] };
    };
    const { parents } = await sent(new Changing(before), (count) => (count === 1 ? late() : OK), 2);
    expect(parents.slice(0, 2)).toEqual(['2.7', '2.5']);
  });

  it('falls back to a whole copy when a difference could not be used', async () => {
    const failed = { ok: false, where: 'receiver', reason: 'receive_failed', message: '' } as const;
    const { parents } = await sent(new Changing(), (count) => (count === 2 ? failed : OK), 3);
    expect(parents.slice(0, 3)).toEqual([undefined, '2.1', undefined]);
  });

  it('builds on what the receiver says it still has, although it could not take the copy in', async () => {
    const failed = {
      ok: false,
      where: 'receiver',
      reason: 'receive_failed',
      message: '',
      have: ['2.1'],
    } as const;
    const { parents } = await sent(new Changing(), (count) => (count === 2 ? failed : OK), 3);
    expect(parents.slice(0, 3)).toEqual([undefined, '2.1', '2.1']);
  });

  it('sends whole what the receiver could not build on, also on what it guessed at its start', async () => {
    const failed = { ok: false, where: 'receiver', reason: 'receive_failed', message: '' } as const;
    const before = [{ epoch: 1, sequence: 7 }];
    const { parents } = await sent(new Changing(before), (count) => (count === 1 ? failed : OK), 2);
    expect(parents.slice(0, 2)).toEqual(['1.7', undefined]);
  });

  it('keeps its parent while the receiver is busy with another copy', async () => {
    const busy = { ok: false, where: 'receiver', reason: 'receiving', message: '' } as const;
    const { parents } = await sent(new Changing(), (count) => (count === 2 ? busy : OK), 3);
    expect(parents.slice(0, 3)).toEqual([undefined, '2.1', '2.1']);
  });

  it('says that the receiver is busy, which is no failure however long it lasts', async () => {
    const busy = { ok: false, where: 'receiver', reason: 'receiving', message: 'another one' } as const;
    const { sender } = await sent(new Changing(), (count) => (count === 1 ? OK : busy), 5);
    expect(sender.state()).toMatchObject([{ state: 'live', problem: 'receiving: another one' }]);
  });

  it('keeps its parent when only the way failed, and says so after three times', async () => {
    const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
    const { parents, sender } = await sent(new Changing(), (count) => (count === 1 ? OK : lost), 4);
    expect(parents.slice(0, 4)).toEqual([undefined, '2.1', '2.1', '2.1']);
    expect(sender.state()).toMatchObject([{ state: 'failed', problem: 'connection_lost: cut' }]);
  });

  it('asks for room where nothing can be taken any more, and takes the next', async () => {
    const copies = new Changing();
    copies.usedShare = 0.95;
    const take = copies.take.bind(copies);
    let count = 0;
    copies.take = async (epoch) => {
      count += 1;
      if (count > 1 && copies.reclaimed === 0) throw new Error('No space left on device');
      return take(epoch);
    };
    const { parents } = await sent(copies, () => OK, 2);
    expect(parents.slice(0, 2)).toEqual([undefined, '2.1']);
    expect(copies.reclaimed).toBeGreaterThan(0);
  });

  it('says why nothing can be taken, beside what a target says, until it can', async () => {
    const copies = new Changing();
    const take = copies.take.bind(copies);
    let count = 0;
    let isShort = true;
    copies.take = async (epoch) => {
      count += 1;
      if (count > 1 && isShort) throw new Error('No space left on device');
      return take(epoch);
    };
    const told: (string | undefined)[] = [];
    const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
    const sender: CopySender = senderOf(
      copies,
      async ({ target }) => (target === 'b' && isShort ? lost : OK),
      () => told.push(sender.state()[1]?.problem),
    );
    const problems = (): unknown => sender.state().map(({ problem }) => problem);
    sender.setTargets(['b', 'c']);
    const short = 'take_failed: No space left on device';
    await expect.poll(problems, POLL).toEqual([`${short}; connection_lost: cut`, short]);
    isShort = false;
    await expect.poll(problems, POLL).toEqual([undefined, undefined]);
    await sender.end();
    expect([told.includes(short), told.at(-1)]).toEqual([true, undefined]);
  });

  it('brings what it took last to a target that has not got it, also while nothing can be taken', async () => {
    const copies = new Changing();
    const take = copies.take.bind(copies);
    let count = 0;
    copies.take = async (epoch) => {
      count += 1;
      if (count > 1) throw new Error('No space left on device');
      return take(epoch);
    };
    const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
    const { parents, sender } = await sent(copies, (answers) => (answers === 1 ? lost : OK), 2);
    expect(parents).toEqual([undefined, undefined]);
    expect(sender.state()).toMatchObject([{ state: 'live', sequence: 1 }]);
  });

  it('does not take what could not be dropped for what could not be taken', async () => {
    const copies = new Changing();
    copies.drop = () => Promise.reject(new Error('busy'));
    const warned = new Set<string>();
    const sender = senderOf(
      copies,
      async () => OK,
      () => {},
      (message) => warned.add(message),
    );
    sender.setTargets(['b']);
    await expect
      .poll(() => [...warned], POLL)
      .toEqual(['copies that nobody needs any more were not removed']);
    expect(sender.state()).toMatchObject([{ state: 'live' }]);
    expect(sender.state()[0]?.problem).toBeUndefined();
    await sender.end();
  });

  it('knows the age of a copy whose parent was given up, while a whole one is under way', async () => {
    const copies = new Changing();
    copies.usedShare = 0.95;
    const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
    const never = new Promise<SendOutcome>(() => {});
    const { parents, sender } = await sent(
      copies,
      (count) => (count === 1 ? OK : count === 2 ? lost : never),
      3,
    );
    expect(parents).toEqual([undefined, '2.1', undefined]);
    expect(sender.state()).toMatchObject([{ state: 'live', sequence: 1 }]);
    const ageMs = (): number => sender.state()[0]?.ageMs ?? 0;
    const before = ageMs();
    expect(before).toBeGreaterThan(0);
    await expect.poll(ageMs, POLL).toBeGreaterThan(before);
  });

  it('calls no copy live of which it does not know how old it is', async () => {
    const before = [{ epoch: 1, sequence: 7 }];
    const refused = {
      ok: false,
      where: 'receiver',
      reason: 'receive_failed',
      message: '',
      have: ['1.7'],
    } as const;
    const { sender } = await sent(new Changing(before), () => refused, 1);
    expect(sender.state()).toMatchObject([{ state: 'syncing', sequence: 7 }]);
  });

  it('gives up parents of copies that lag when the volume is nearly full', async () => {
    const copies = new Changing();
    copies.usedShare = 0.95;
    const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
    await sent(copies, (count) => (count === 1 ? OK : lost), 2);
    expect(copies.kept.map(copyText)).not.toContain('2.1');
  });
});

describe('the sender of copies of an engine that keeps two', () => {
  const lost = { ok: false, where: 'way', reason: 'connection_lost', message: 'cut' } as const;
  /** `b` as told, `c` at once; until both were sent so many. Of each copy what it is the difference to. */
  const sentToBoth = async (
    copies: TwoKept,
    ofB: (count: number) => Promise<SendOutcome>,
    times: { readonly b: number; readonly c: number },
  ): Promise<Record<string, readonly (number | undefined)[]>> => {
    const parents: Record<'b' | 'c', (number | undefined)[]> = { b: [], c: [] };
    const sender = senderOf(copies, async ({ target, header }) => {
      const list = parents[target === 'b' ? 'b' : 'c'];
      list.push(header.parent);
      return target === 'b' ? await ofB(list.length) : OK;
    });
    sender.setTargets(times.c === 0 ? ['b'] : ['b', 'c']);
    await expect.poll(() => parents.b.length >= times.b && parents.c.length >= times.c, POLL).toBe(true);
    await sender.end();
    expect(copies.torn).toEqual([]);
    return { b: parents.b.slice(0, Math.max(1, times.b)), c: parents.c.slice(0, times.c) };
  };
  const slowly = async (): Promise<SendOutcome> => {
    // Some rounds.
    await pause(100);
    return OK;
  };

  it('sends one whole copy, however long each takes', async () => {
    const { b } = await sentToBoth(new TwoKept(), slowly, { b: 4, c: 0 });
    expect(b).toEqual([undefined, 1, 2, 3]);
  });

  it('sends no more than one whole copy to the slower of two', async () => {
    const { b = [], c = [] } = await sentToBoth(new TwoKept(), slowly, { b: 4, c: 4 });
    expect([...b.slice(1), ...c.slice(1)]).not.toContain(undefined);
  });

  it('keeps nobody from copies for a target that is sent one for ever', async () => {
    const never = (): Promise<SendOutcome> => new Promise(() => {});
    const { b, c = [] } = await sentToBoth(new TwoKept(), never, { b: 1, c: 12 });
    expect(b).toEqual([undefined]);
    expect(c.slice(1)).not.toContain(undefined);
  });

  it('keeps nobody from copies for a way that is dead', async () => {
    const dead = async (count: number): Promise<SendOutcome> => (count === 1 ? OK : lost);
    const { c = [] } = await sentToBoth(new TwoKept(), dead, { b: 4, c: 12 });
    expect(c.slice(1)).not.toContain(undefined);
  });

  it('goes on with a difference after a way that was dead for long, where nobody else waits', async () => {
    const dead = async (count: number): Promise<SendOutcome> => (count > 1 && count < 4 ? lost : OK);
    const { b } = await sentToBoth(new TwoKept(), dead, { b: 5, c: 0 });
    expect(b).toEqual([undefined, 1, 1, 1, 2]);
  });

  it('also where the volume is nearly full: the copies have none of its room', async () => {
    const copies = new TwoKept();
    copies.usedShare = 0.95;
    const once = async (count: number): Promise<SendOutcome> => (count === 2 ? lost : OK);
    const { b } = await sentToBoth(copies, once, { b: 4, c: 0 });
    expect(b).toEqual([undefined, 1, 1, 2]);
  });

  it('takes nothing in place of what is being read for another, however long that takes', async () => {
    const copies = new TwoKept();
    const send = copies.send.bind(copies);
    // The first one takes longer than a target is waited for.
    copies.send = async (...asked) => {
      copies.prepareMs = copies.prepareMs === 0 ? 400 : 1;
      return send(...asked);
    };
    await sentToBoth(copies, async () => OK, { b: 2, c: 3 });
  });
});

it.each<readonly [string, (sender: CopySender) => unknown]>([
  ['its sender ended', (sender) => sender.end()],
  ['its target went', (sender) => sender.setTargets(['c'])],
])('sends nothing any more that was being read when %s', async (_when, happens) => {
  const copies = new Changing();
  const read = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const send = copies.send.bind(copies);
  copies.send = async () => {
    asked.resolve();
    await read.promise;
    return send();
  };
  const sentTo: string[] = [];
  const sender = senderOf(copies, async ({ target }) => {
    sentTo.push(target);
    return OK;
  });
  sender.setTargets(['b']);
  await asked.promise;
  await happens(sender);
  read.resolve();
  await pause(100);
  await sender.end();
  expect(sentTo).not.toContain('b');
});
