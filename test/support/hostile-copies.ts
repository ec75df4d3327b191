import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RSYNC } from '../../src/agent/volumes/rsync-parts.ts';
import { type BtrfsCommand, btrfsStream, STREAM_UUID } from './btrfs-stream.ts';

export interface HostileCopy {
  readonly what: string;
  /** For a copy of this name. */
  readonly stream: (name: string) => Buffer;
  /** It can only fail. */
  readonly fails?: true;
}

export interface Outside {
  /** A folder of the host that no copy may write, with a file `victim` in it. */
  readonly folder: string;
  /** A subvolume of another volume. */
  readonly subvolume: string;
}

const MIB = 2 ** 20;

/** Parts that rsync itself wrote from trees made for it, some with other names put in afterwards. */
export function hostileBatches(work: string, { folder }: Outside): readonly HostileCopy[] {
  const link = batch(work, 'link', [], (tree) => symlinkSync(folder, join(tree, 'link')));
  const through = (name: string, fill: (tree: string) => void, files: readonly string[]): Buffer =>
    batch(
      work,
      name,
      ['--no-recursive', '--no-dirs', '--no-implied-dirs', `--files-from=${listOf(work, files)}`],
      fill,
    );
  const file = through('file', (tree) => put(join(tree, 'link/victim'), 'hostile'), ['link/victim']);
  const pair = through(
    'pair',
    (tree) => {
      put(join(tree, 'link/escaped'), 'hostile');
      linkSync(join(tree, 'link/escaped'), join(tree, 'link/again'));
    },
    ['link/escaped', 'link/again'],
  );
  const victim = join(folder, 'victim');
  const above = '../../../../../../victim';
  const plain = (name: string): Buffer =>
    batch(work, 'names', [], (tree) => put(join(tree, name), 'hostile'));
  const renamed = (to: string): Buffer => {
    const from = 'n'.repeat(to.length);
    return Buffer.from(plain(from).toString('latin1').replaceAll(from, to), 'latin1');
  };
  return [
    { what: 'a file through a link', stream: () => parts(link, file), fails: true },
    { what: 'hard links through a link', stream: () => parts(link, pair), fails: true },
    { what: 'an absolute name', stream: () => parts(renamed(victim)), fails: true },
    { what: 'a name above the folder', stream: () => parts(renamed(above)), fails: true },
    {
      what: 'a batch announced as larger than a disk',
      stream: () => Buffer.from('0000ffffffffffff', 'hex'),
      fails: true,
    },
    {
      what: 'anything',
      stream: () => parts(Buffer.from('not a batch at all, and longer than its header')),
      fails: true,
    },
  ];
}

/** A few kilobytes that become more than fits into a volume of the suite. */
export function batchTooLarge(work: string): Buffer {
  return parts(
    batch(work, 'large', ['--compress'], (tree) => {
      put(join(tree, 'zeros'), '');
      truncateSync(join(tree, 'zeros'), 180 * MIB);
    }),
  );
}

/** Devices and set-uid files, which are nothing more than files. */
export function batchOfModes(work: string): Buffer {
  return parts(
    batch(work, 'modes', [], (tree) => {
      execFileSync('mknod', [join(tree, 'memory'), 'c', '1', '5']);
      execFileSync('install', ['-m', '4755', '/usr/bin/id', join(tree, 'id')]);
    }),
  );
}

/** Its end is missing, and rsync waits for it. */
export function batchWithoutEnd(work: string): Buffer {
  const whole = batch(work, 'cut', [], (tree) => put(join(tree, 'file'), 'x'.repeat(4096)));
  return parts(whole.subarray(0, whole.length - 2048));
}

export function hostileStreams({ folder, subvolume }: Outside): readonly HostileCopy[] {
  const victim = join(folder, 'victim');
  const write = (path: string) => ['write', { path, offset: 0, data: Buffer.from('hostile') }] as const;
  return [
    {
      what: 'a link where the time of the copy is written',
      stream: (name) =>
        btrfsStream(name, [
          ['symlink', { path: `../${name}.json`, ino: 257, pathLink: victim }],
          ['symlink', { path: `../copies/${name}.json`, ino: 258, pathLink: victim }],
        ]),
      fails: true,
    },
    {
      what: 'a link in place of the copy, to a subvolume of another volume',
      stream: (name) =>
        btrfsStream('other', [['symlink', { path: `../${name}`, ino: 257, pathLink: subvolume }]]),
      fails: true,
    },
    {
      what: 'a file through a link',
      stream: (name) =>
        btrfsStream(name, [['symlink', { path: 'link', ino: 257, pathLink: victim }], write('link')]),
      fails: true,
    },
    {
      what: 'a name above the folder',
      stream: (name) => btrfsStream(name, [['mkfile', { path: '../../escaped', ino: 257 }]]),
      fails: true,
    },
    {
      what: 'subvolumes in one another, read-only',
      stream: (name) =>
        Buffer.concat([
          btrfsStream('inner', [['mkfile', { path: 'file', ino: 257 }]]),
          btrfsStream(name, [['mkfile', { path: 'file', ino: 257 }]]),
          btrfsStream('outer', [['mkdir', { path: '../outer/folder', ino: 257 }]]),
        ]),
    },
    {
      what: 'bytes from above the folder',
      stream: (name) =>
        btrfsStream(name, [['mkfile', { path: 'file', ino: 257 }], clone('file', '../'.repeat(9) + victim)]),
      fails: true,
    },
    { what: 'anything', stream: () => Buffer.from('not a stream'), fails: true },
  ];
}

/** More than fits into a volume of the suite. */
export function streamTooLarge(name: string): Buffer {
  const data = Buffer.alloc(48 * 1024, 7);
  const writes = Array.from({ length: 4000 }, (_, index): BtrfsCommand => {
    return ['write', { path: 'file', offset: index * data.length, data }];
  });
  return btrfsStream(name, [['mkfile', { path: 'file', ino: 257 }], ...writes]);
}

export function streamOfModes(name: string): Buffer {
  const id = readFileSync('/usr/bin/id').subarray(0, 40_000);
  return btrfsStream(name, [
    ['mknod', { path: 'memory', ino: 257, mode: 0o020666, rdev: (1 << 8) | 5 }],
    ['mkfile', { path: 'id', ino: 258 }],
    ['write', { path: 'id', offset: 0, data: id }],
    ['chmod', { path: 'id', mode: 0o4755 }],
  ]);
}

/** Who opens a pipe to read it waits for somebody to write. */
export function streamThatWaits(name: string): Buffer {
  return btrfsStream(name, [
    ['mkfifo', { path: 'pipe', ino: 257 }],
    ['mkfile', { path: 'file', ino: 258 }],
    clone('file', 'pipe'),
  ]);
}

function clone(path: string, clonePath: string): BtrfsCommand {
  const from = { cloneUuid: STREAM_UUID, cloneCtransid: 1, clonePath, cloneOffset: 0 };
  return ['clone', { path, offset: 0, cloneLength: 4096, ...from }];
}

/** What makes an empty folder equal to the tree that `fill` makes. */
function batch(work: string, name: string, options: readonly string[], fill: (tree: string) => void): Buffer {
  const [tree, empty, part] = ['tree', 'empty', 'part'].map((kind) => join(work, `${name}-${kind}`)) as [
    string,
    string,
    string,
  ];
  for (const old of [tree, empty, part]) rmSync(old, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  mkdirSync(empty);
  fill(tree);
  const words = [...RSYNC.filter((word) => options.length === 0 || word !== '--delete'), ...options];
  execFileSync('rsync', [...words, `--only-write-batch=${part}`, `${tree}/`, `${empty}/`]);
  return readFileSync(part);
}

function listOf(work: string, files: readonly string[]): string {
  const path = join(work, 'files');
  writeFileSync(path, files.map((file) => `${file}\n`).join(''));
  return path;
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** As they travel: each behind its length. */
function parts(...all: readonly Buffer[]): Buffer {
  return Buffer.concat(
    all.flatMap((bytes) => {
      const length = Buffer.alloc(8);
      length.writeBigUInt64BE(BigInt(bytes.length));
      return [length, bytes];
    }),
  );
}
