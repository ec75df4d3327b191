import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EngineError } from './errors.ts';
import { FrameDecoder } from './frames.ts';

function frame(type: number, content: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 });

function chunksOf(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

describe('frame decoder', () => {
  it('gives whole frames back however the connection splits them', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(), { maxLength: 12 }), (wanted, cuts) => {
        const bytes = Buffer.concat(wanted.map(([type, content]) => frame(type, Buffer.from(content))));
        const decoder = new FrameDecoder({ whole: true });
        const got = chunksOf(bytes, cuts).flatMap((chunk) => [...decoder.push(chunk)]);
        expect(got.map(({ stream, bytes: content }) => [stream, content.toString('hex')])).toEqual(
          wanted
            .filter(([, content]) => content.length > 0)
            .map(([type, content]) => [
              type === 2 ? 'stderr' : 'stdout',
              Buffer.from(content).toString('hex'),
            ]),
        );
        expect(decoder.atBoundary).toBe(true);
      }),
    );
  });

  it('hands parts on at once where whole frames are not needed', () => {
    const decoder = new FrameDecoder({ whole: false });
    const bytes = frame(1, Buffer.from('hello'));
    expect([...decoder.push(bytes.subarray(0, 10))].map((part) => part.bytes.toString())).toEqual(['he']);
    expect(decoder.atBoundary).toBe(false);
    expect([...decoder.push(bytes.subarray(10))].map((part) => part.bytes.toString())).toEqual(['llo']);
    expect(decoder.atBoundary).toBe(true);
  });

  it('knows a cut in a header, and refuses what is not framed', () => {
    const decoder = new FrameDecoder({ whole: true });
    expect([...decoder.push(Buffer.from([1, 0, 0]))]).toEqual([]);
    expect(decoder.atBoundary).toBe(false);
    expect(() => [
      ...new FrameDecoder({ whole: true }).push(Buffer.from('plain text of a terminal')),
    ]).toThrow(EngineError);
    expect(() => [
      ...new FrameDecoder({ whole: true }).push(Buffer.from([1, 0, 0, 0, 255, 0, 0, 0])),
    ]).toThrow(EngineError);
  });
});
