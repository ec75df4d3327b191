/**
 * Streams as `btrfs send` writes them (version 1), made by hand: what a primary could send that is not what it seems.
 * A stream is a header and commands, a command a list of attributes behind a checksum.
 */
const COMMANDS = {
  subvol: 1,
  mkfile: 3,
  mkdir: 4,
  mknod: 5,
  mkfifo: 6,
  symlink: 8,
  rename: 9,
  link: 10,
  unlink: 11,
  write: 15,
  clone: 16,
  truncate: 17,
  chmod: 18,
  end: 21,
} as const;
const ATTRIBUTES = {
  uuid: 1,
  ctransid: 2,
  ino: 3,
  size: 4,
  mode: 5,
  rdev: 8,
  path: 15,
  pathTo: 16,
  pathLink: 17,
  offset: 18,
  data: 19,
  cloneUuid: 20,
  cloneCtransid: 21,
  clonePath: 22,
  cloneOffset: 23,
  cloneLength: 24,
} as const;

type Attributes = Readonly<Partial<Record<keyof typeof ATTRIBUTES, string | number | Uint8Array>>>;
export type BtrfsCommand = readonly [name: keyof typeof COMMANDS, attributes: Attributes];

export const STREAM_UUID = Buffer.alloc(16, 7);

export function btrfsStream(name: string, commands: readonly BtrfsCommand[]): Buffer {
  const header = Buffer.concat([Buffer.from('btrfs-stream\0'), Buffer.from([1, 0, 0, 0])]);
  const subvol: BtrfsCommand = ['subvol', { path: name, uuid: STREAM_UUID, ctransid: 1 }];
  return Buffer.concat([header, ...[subvol, ...commands, ['end', {}] as BtrfsCommand].map(encoded)]);
}

function encoded([name, attributes]: BtrfsCommand): Buffer {
  const parts = Object.entries(attributes).map(([key, value]) => {
    const data = bytesOf(key, value);
    const head = Buffer.alloc(4);
    head.writeUInt16LE(ATTRIBUTES[key as keyof typeof ATTRIBUTES], 0);
    head.writeUInt16LE(data.length, 2);
    return Buffer.concat([head, data]);
  });
  const payload = Buffer.concat(parts);
  const head = Buffer.alloc(10);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt16LE(COMMANDS[name], 4);
  head.writeUInt32LE(crc32c(Buffer.concat([head, payload])), 6);
  return Buffer.concat([head, payload]);
}

function bytesOf(_key: string, value: string | number | Uint8Array): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value !== 'number') return value;
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(value));
  return number;
}

/** Castagnoli's polynomial, from zero and not inverted, as btrfs has it. */
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

function crc32c(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC[(crc ^ byte) & 0xff] ?? 0);
  return crc >>> 0;
}
