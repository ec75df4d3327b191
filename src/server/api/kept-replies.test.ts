import { describe, expect, it, vi } from 'vitest';
import type { Exactly } from '../../core/schema/shape.ts';
import { KeptReplies } from './kept-replies.ts';
import { JsonText } from './route.ts';

interface Thing {
  readonly text: string;
}

const stored = (id: string) => ({ id, record: {}, modRevision: 7, createRevision: 1 });

function kept(generation?: number) {
  const replies = new KeptReplies<Thing>(generation);
  const make = vi.fn((text: string) => ({ text }) as Exactly<Thing>);
  const read = (of: object, parts: readonly unknown[] | undefined, text = 'ä') => {
    const { body, headers } = replies.of(of as ReturnType<typeof stored>, parts, () => make(text));
    expect(headers).toEqual({ etag: '"7"' });
    if (!(body instanceof JsonText)) throw new Error('not text');
    expect(body.bytes).toBe(Buffer.byteLength(body.text));
    return body.text;
  };
  return { make, read };
}

describe('an answer that is kept', () => {
  it('is given again while all that it was made of is the same', () => {
    const { make, read } = kept();
    const [web, status, other] = [stored('web'), {}, {}];
    expect(read(web, [status, undefined])).toBe('{"text":"ä"}');
    expect(read(web, [status, undefined], 'not made')).toBe('{"text":"ä"}');
    expect(make).toHaveBeenCalledTimes(1);
    expect(read(web, [other, undefined], 'b')).toBe('{"text":"b"}');
    expect(read(web, [other, status], 'c')).toBe('{"text":"c"}');
    expect(read(web, [other, status, status], 'd')).toBe('{"text":"d"}');
    expect(read(web, [other, status], 'e')).toBe('{"text":"e"}');
    expect(make).toHaveBeenCalledTimes(5);
  });

  it('is never one of another record, although it is equal', () => {
    const { read } = kept();
    expect(read(stored('web'), [])).toBe('{"text":"ä"}');
    expect(read(stored('web'), [], 'of another tenant')).toBe('{"text":"of another tenant"}');
  });

  it('is made with every read where it is not known what of, and where it is long', () => {
    const { make, read } = kept();
    const [web, large] = [stored('web'), stored('large')];
    for (let time = 0; time < 2; time += 1) {
      read(web, undefined);
      read(large, [], 'x'.repeat(70_000));
    }
    expect(make).toHaveBeenCalledTimes(4);
  });

  it('goes when others were read since, unless it was read, too', () => {
    const { make, read } = kept(100);
    const [often, once] = [stored('often'), stored('once')];
    read(often, []);
    read(once, []);
    for (let index = 0; index < 40; index += 1) {
      read(stored(String(index)), []);
      read(often, [], 'not made');
    }
    expect(make).toHaveBeenCalledTimes(42);
    expect(read(once, [], 'made again')).toBe('{"text":"made again"}');
  });
});
