import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { KEY_BYTES } from './envelope.ts';

/** A key object does not print its bytes. The id is public and stands in the header of what the key wraps. */
export interface RootKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** `retired` keys still open tenant keys while a root key rotation is under way; only `active` wraps. */
export type RootKeys =
  | { readonly sealed: false; readonly active: RootKey; readonly retired: readonly RootKey[] }
  | { readonly sealed: true; readonly problem: string };

export interface RootKeyFiles {
  readonly file: string;
  /** The key before the last change, until every tenant key is rewrapped. */
  readonly retiredFile?: string;
}

const OTHERS_MASK = 0o077;
const KEY_MODE = 0o600;

export function rootKeyFrom(bytes: Uint8Array): RootKey {
  if (bytes.length !== KEY_BYTES) throw new TypeError(`a root key has ${KEY_BYTES} bytes`);
  const id = createHash('sha256').update('berth root key id').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}

/** Never throws for what an operator can put right: the process starts sealed and says why. */
export async function readRootKeys(files: RootKeyFiles): Promise<RootKeys> {
  const active = await readKeyFile(files.file);
  if (typeof active === 'string') return { sealed: true, problem: active };
  if (files.retiredFile === undefined) return { sealed: false, active, retired: [] };
  const retired = await readKeyFile(files.retiredFile);
  return { sealed: false, active, retired: typeof retired === 'string' ? [] : [retired] };
}

async function readKeyFile(path: string): Promise<RootKey | string> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    return `the root key file ${path} cannot be opened (${errorCode(error)})`;
  }
  try {
    // The open file is asked, not the path: what was checked is what is read.
    const stat = await file.stat();
    if (!stat.isFile()) return `${path} is not a file`;
    if ((stat.mode & OTHERS_MASK) !== 0)
      return `the root key file ${path} is open to others than its owner; set mode 0600`;
    if (stat.size !== KEY_BYTES)
      return `the root key file ${path} has ${stat.size} bytes instead of ${KEY_BYTES}`;
    const bytes = await file.readFile();
    try {
      return rootKeyFrom(bytes);
    } finally {
      bytes.fill(0);
    }
  } catch (error) {
    return `the root key file ${path} cannot be read (${errorCode(error)})`;
  } finally {
    await file.close();
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** Makes a new root key and never overwrites one: what it wraps would be lost. Durable before it returns. */
export async function createRootKeyFile(path: string): Promise<RootKey> {
  const file = await open(path, 'wx', KEY_MODE);
  const bytes = randomBytes(KEY_BYTES);
  try {
    // The process' umask may have narrowed the mode; it cannot have widened it.
    await file.writeFile(bytes);
    await file.sync();
    return rootKeyFrom(bytes);
  } finally {
    bytes.fill(0);
    await file.close();
    await syncFolder(dirname(path));
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
