import { Readable } from 'node:stream';
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
    measure: async () => ({ sizeBytes: 100, usedBytes: 100 * copies.usedShare }),
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
  await new Promise((resolve) => setTimeout(resolve, 50));
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
      await new Promise((resolve) => setTimeout(resolve, 100));
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
    let answers = 0;
    const sender: CopySender = senderOf(
      copies,
      async ({ target }) => (target === 'b' && (answers += 1) === 1 ? lost : OK),
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
