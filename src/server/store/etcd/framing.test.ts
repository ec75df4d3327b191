import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frame, Unframer } from './framing.ts';

describe('Unframer', () => {
  it('gives back the messages however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 })),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (messages, sizes) => {
          const bytes = Buffer.concat(messages.map((message) => frame(Buffer.from(message))));
          const unframer = new Unframer();
          const received: Buffer[] = [];
          for (let at = 0, cut = 0; at < bytes.length; cut += 1) {
            const size = sizes[cut % sizes.length] ?? 1;
            unframer.push(bytes.subarray(at, at + size), (message) => received.push(Buffer.from(message)));
            at += size;
          }
          expect(received).toEqual(messages.map((message) => Buffer.from(message)));
        },
      ),
    );
  });

  it('refuses a compressed message and one without measure', () => {
    const ignore = (): void => {};
    expect(() => new Unframer().push(Buffer.from([1, 0, 0, 0, 0]), ignore)).toThrow(/compressed/);
    expect(() => new Unframer().push(Buffer.from([0, 255, 255, 255, 255]), ignore)).toThrow(/over/);
  });
});
