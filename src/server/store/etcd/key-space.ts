/**
 * All keys of one Berth installation lie under one prefix, so that an etcd cluster can be shared. The key that is
 * the bare prefix belongs to the adapter (see `watch.ts`): no port key is empty.
 */
export interface KeySpace {
  /** Of every key before what the port calls its key. */
  readonly prefixBytes: number;
  /** The adapter's own key. */
  readonly markerKey: string;
  toEtcd(key: string): string;
  fromEtcd(key: string): string;
  /** First key and end (exclusive) of the entries under a prefix of the port; the marker is not among them. */
  bounds(prefix: string): { readonly first: string; readonly end: Buffer };
  /** Everything, the marker included. */
  readonly all: { readonly first: string; readonly end: Buffer };
}

/** The first byte string after all those that start with `prefix`: its last byte below 0xff, plus one. */
export function endOfPrefix(prefix: string): Buffer {
  const bytes = Buffer.from(prefix);
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    const byte = bytes[index];
    if (byte !== undefined && byte < 0xff) {
      const end = Buffer.from(bytes.subarray(0, index + 1));
      end[index] = byte + 1;
      return end;
    }
  }
  throw new Error('a key prefix may not be empty');
}

/** The first key after `key`. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}

export function keySpaceUnder(prefix: string): KeySpace {
  const end = endOfPrefix(prefix);
  return {
    prefixBytes: Buffer.byteLength(prefix),
    markerKey: prefix,
    toEtcd: (key) => {
      if (key === '') throw new RangeError('a key may not be empty');
      return prefix + key;
    },
    fromEtcd: (key) => key.slice(prefix.length),
    bounds: (inner) =>
      inner === ''
        ? { first: keyAfter(prefix), end }
        : { first: prefix + inner, end: endOfPrefix(prefix + inner) },
    all: { first: prefix, end },
  };
}
