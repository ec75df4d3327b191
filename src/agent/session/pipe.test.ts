import { describe, expect, it } from 'vitest';
import { type Payload, Pipe } from './pipe.ts';

const CREDIT = 256 * 1024;

function opened(): { readonly pipe: Pipe; readonly sent: Payload[] } {
  const sent: Payload[] = [];
  return { pipe: new Pipe((payload) => void sent.push(payload)), sent };
}

describe('a pipe', () => {
  it('holds back what was not granted, and goes on when it is', async () => {
    const { pipe, sent } = opened();
    const text = 'x'.repeat(CREDIT / 4);
    for (let n = 0; n < 4; n += 1) await pipe.write({ text });
    const fifth = pipe.write({ text });
    pipe.grant(text.length - 1);
    await Promise.resolve();
    expect(sent).toHaveLength(4);
    pipe.grant(1);
    await fifth;
    expect(sent).toHaveLength(5);
  });

  it('never gathers more credit than one window', async () => {
    const { pipe, sent } = opened();
    pipe.grant(10 * CREDIT);
    await pipe.write({ text: 'x'.repeat(CREDIT) });
    const more = pipe.write({ text: 'x' });
    await Promise.resolve();
    expect(sent).toHaveLength(1);
    pipe.abort();
    await expect(more).rejects.toThrow('gone');
  });

  it('keeps the order of lines and channels, and cuts between characters', async () => {
    const { pipe, sent } = opened();
    await pipe.writeText('a\n', 'stdout');
    await pipe.writeText('b\n', 'stdout');
    await pipe.writeText('c\n', 'stderr');
    await pipe.writeText('ä'.repeat(40_000), 'stdout');
    await pipe.flush();
    expect(sent.slice(0, 2)).toEqual([
      { text: 'a\nb\n', channel: 'stdout' },
      { text: 'c\n', channel: 'stderr' },
    ]);
    expect(
      sent
        .slice(2)
        .map(({ text }) => text)
        .join(''),
    ).toBe('ä'.repeat(40_000));
    expect(sent.every(({ text }) => Buffer.byteLength(text ?? '') <= 32 * 1024)).toBe(true);
  });

  it('lets a value pass that is larger than the window once half of it is free, and settles the debt', async () => {
    const { pipe, sent } = opened();
    await pipe.write({ value: 'x'.repeat(2 * CREDIT) });
    const next = pipe.write({ text: 'y' });
    pipe.grant(CREDIT);
    await Promise.resolve();
    expect(sent).toHaveLength(1);
    pipe.grant(CREDIT);
    await next;
    expect(sent).toHaveLength(2);
  });

  it('waits while what matters more would be queued behind it, and has a window of its own', async () => {
    const sent: Payload[] = [];
    let crowded = true;
    const pipe = new Pipe((payload) => void sent.push(payload), {
      windowBytes: CREDIT / 2,
      isCrowded: () => crowded,
    });
    const first = pipe.write({ text: 'x'.repeat(CREDIT / 2) });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(sent).toHaveLength(0);
    crowded = false;
    await first;
    const second = pipe.write({ text: 'x' });
    await Promise.resolve();
    expect(sent).toHaveLength(1);
    pipe.grant(1);
    await second;
    expect(sent).toHaveLength(2);
  });
});
