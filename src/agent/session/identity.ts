import { messageOf } from '../../core/model/values.ts';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { FolderError, makeFolder } from '../../shared/folders.ts';
import { fields, nonEmpty } from '../engine/fields.ts';
import { readIfThere, writeWhole } from '../whole-file.ts';

/** What makes this machine the node: kept across starts, readable by its owner only. */
export interface Identity {
  /** As given at enrolment or at the last start. */
  readonly server: string;
  /** Given beside it: further addresses at which a control plane of the same store answers. */
  readonly moreServers?: readonly string[];
  /** Told by a control plane. */
  readonly learnedServers?: readonly string[];
  readonly nodeName: string;
  readonly nodeToken: string;
  /** Before the last renewal: for a control plane whose store was put back to before it. */
  readonly previousToken?: string;
  readonly caDigest?: string;
  /** Told by a control plane that was proven: public keys by which it is known from then on. */
  readonly anchors?: readonly string[];
}

const IDENTITY = 'identity.json';
const KEY = 'node.key';

export async function prepareDataDir(dataDir: string): Promise<void> {
  makeFolder(dataDir, '--data-dir');
  await chmod(dataDir, 0o700).catch((error: unknown) => {
    throw new FolderError(
      `the data folder is of no use: ${messageOf(error)}. Choose another one (--data-dir).`,
    );
  });
}

/** An abstract socket ends with the process, also with a killed one: no stale lock is left. */
export async function lockDataDir(
  dataDir: string,
  holder: 'agent' | 'watchdog' = 'agent',
): Promise<Server | undefined> {
  const lock = createServer((connection) => connection.destroy());
  return await new Promise((resolve) => {
    lock.once('error', () => resolve(undefined));
    lock.listen(dataDirLock(dataDir, holder), () => resolve(lock.unref()));
  });
}

export function dataDirLock(dataDir: string, holder: 'agent' | 'watchdog'): string {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 32);
  return `\0berth-${holder}-${name}`;
}

export async function readIdentity(dataDir: string): Promise<Identity | undefined> {
  const text = await readIfThere(join(dataDir, IDENTITY));
  if (text === undefined) return undefined;
  const stored = fields(JSON.parse(text));
  const [server, nodeName, nodeToken] = [stored['server'], stored['nodeName'], stored['nodeToken']].map(
    nonEmpty,
  );
  if (server === undefined || nodeName === undefined || nodeToken === undefined) {
    throw new Error(`${join(dataDir, IDENTITY)} is damaged: remove it and join again`);
  }
  const caDigest = nonEmpty(stored['caDigest']);
  const moreServers = texts(stored['moreServers']);
  const learnedServers = texts(stored['learnedServers']);
  const anchors = texts(stored['anchors']);
  const previousToken = nonEmpty(stored['previousToken']);
  return {
    server,
    nodeName,
    nodeToken,
    ...(caDigest === undefined ? {} : { caDigest }),
    ...(moreServers.length === 0 ? {} : { moreServers }),
    ...(learnedServers.length === 0 ? {} : { learnedServers }),
    ...(anchors.length === 0 ? {} : { anchors }),
    ...(previousToken === undefined ? {} : { previousToken }),
  };
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(nonEmpty).filter((one) => one !== undefined) : [];
}

export async function writeIdentity(dataDir: string, identity: Identity): Promise<void> {
  await writeWhole(join(dataDir, IDENTITY), `${JSON.stringify(identity, undefined, 2)}\n`);
}

/** The key is stored before it is registered: a start that was cut off joins again with the same one. */
export async function readOrMakeKey(dataDir: string): Promise<KeyObject> {
  const path = join(dataDir, KEY);
  const stored = await readIfThere(path);
  if (stored !== undefined) return createPrivateKey(stored);
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeWhole(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return privateKey;
}

export function publicKeyText(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
}
