import { describe, expect, it } from 'vitest';
import { RecoveryError, STATUS } from './failure.ts';
import { readHead, seal } from './sealing.ts';

const COST = 16;
const PASSPHRASE = 'a passphrase of this test';
const FRAME = 64 * 1024;

async function* chunks(bytes: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

function content(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_one, index) => (index * 31 + (index >> 8)) & 0xff));
}

const sealed = (plain: Buffer): Promise<Buffer> =>
  joined(seal(chunks(plain), PASSPHRASE, { holds: 'store', berth: '0.1.0' }, COST));

async function opened(file: Buffer, passphrase = PASSPHRASE): Promise<Buffer> {
  return joined((await readHead(chunks(file, 1000))).open(passphrase));
}

async function statusOf(file: Buffer, passphrase?: string): Promise<number> {
  try {
    await opened(file, passphrase);
    return 0;
  } catch (error) {
    if (error instanceof RecoveryError) return error.status;
    throw error;
  }
}

/** Where the frames begin: after the four lines. */
function framesAt(file: Buffer): number {
  let at = 0;
  for (let line = 0; line < 4; line += 1) at = file.indexOf(10, at) + 1;
  return at;
}

describe('a sealed file', () => {
  it.each([0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME, 200_000])('gives back %i bytes', async (length) => {
    const plain = content(length);
    expect((await opened(await sealed(plain))).equals(plain)).toBe(true);
  });

  it('is not opened by another passphrase', async () => {
    expect(await statusOf(await sealed(content(100)), 'another passphrase')).toBe(STATUS.wrongPassphrase);
  });

  it('is cut off wherever it is cut, also between two frames', async () => {
    const file = await sealed(content(150_000));
    const frames = framesAt(file);
    const between = [frames, frames + 4 + FRAME + 16, frames + 2 * (4 + FRAME + 16)];
    const cuts = [5, 30, frames - 1, ...between, ...between.map((at) => at + 2), file.length - 1];
    for (const at of cuts) expect([at, await statusOf(file.subarray(0, at))]).toEqual([at, STATUS.truncated]);
    expect(await statusOf(Buffer.alloc(0))).toBe(STATUS.notABackup);
  });

  it('is damaged by any changed byte', async () => {
    const file = await sealed(content(150_000));
    const frames = framesAt(file);
    const header = file.indexOf('formatVersion');
    const places = [header + 20, frames - 3, frames - 70, frames + 10, frames + FRAME, file.length - 1];
    for (const at of places) {
      const changed = Buffer.from(file);
      changed.writeUInt8((changed.readUInt8(at) ^ 1) & 0xff, at);
      expect([at, await statusOf(changed)]).toEqual([at, STATUS.damaged]);
    }
  });

  it('is damaged by frames that are exchanged, repeated, left out or of another file', async () => {
    const file = await sealed(content(200_000));
    const other = await sealed(content(200_000));
    const size = 4 + FRAME + 16;
    const at = framesAt(file);
    const head = file.subarray(0, at);
    const frame = (of: Buffer, number: number): Buffer => {
      const from = framesAt(of) + number * size;
      return of.subarray(from, Math.min(from + size, of.length));
    };
    const made = (...frames: readonly Buffer[]): Promise<number> =>
      statusOf(Buffer.concat([head, ...frames]));
    const [one, two, three, last] = [0, 1, 2, 3].map((number) => frame(file, number));
    if (one === undefined || two === undefined || three === undefined || last === undefined)
      throw new Error();
    expect(await made(one, two, three, last)).toBe(0);
    expect(await made(two, one, three, last)).toBe(STATUS.damaged);
    expect(await made(one, one, two, three, last)).toBe(STATUS.damaged);
    expect(await made(one, three, last)).toBe(STATUS.damaged);
    expect(await made(one, two, frame(other, 2), last)).toBe(STATUS.damaged);
    expect(await made(last)).toBe(STATUS.damaged);
    expect(await made(one, two, three, last, Buffer.from('x'))).toBe(STATUS.damaged);
    // The mark of the end is authenticated too.
    const early = Buffer.from(two);
    early.writeUInt32BE((early.readUInt32BE() | 0x8000_0000) >>> 0);
    expect(await made(one, early)).toBe(STATUS.damaged);
  });

  it('is refused when a newer release made it, and when it is none', async () => {
    const described = await joined(
      seal(chunks(content(10)), PASSPHRASE, { formatVersion: 2, berth: '9.0.0' }, COST),
    );
    await expect(opened(described)).rejects.toMatchObject({
      status: STATUS.newerFormat,
      message: expect.stringContaining('9.0.0'),
    });
    expect(await statusOf(Buffer.from('{"format":"berth-backup"}'))).toBe(STATUS.notABackup);
  });

  it('does no more work for a key than it may ask for', async () => {
    const greedy = await joined(seal(chunks(content(10)), PASSPHRASE, { holds: 'store' }, COST));
    const text = greedy.toString('latin1').replace('"cost":16', `"cost":${2 ** 30}`);
    expect(await statusOf(Buffer.from(text, 'latin1'))).toBe(STATUS.damaged);
  });
});
