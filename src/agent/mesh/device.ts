import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, optional } from '../../core/model/values.ts';
import { findProgram, PROGRAMS, run } from '../volumes/program.ts';

const RUN = '/run';
const KEEPALIVE_S = 25;
/** A key that is no older needs no other: a node is given a credential in its first session. */
const YOUNG_MS = 60_000;

export interface DevicePeer {
  readonly publicKey: string;
  readonly subnet: string;
  /** Absent: the peer is to come to us. */
  readonly endpoint?: string;
}

export interface PeerCounters {
  readonly publicKey: string;
  readonly endpoint: string | undefined;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/**
 * A WireGuard interface of this node. It outlives the agent, as containers do: its key is kept by the interface and nowhere on
 * disk, so an agent that starts again reads it there, and nobody notices. While it runs the agent knows it too: an interface that
 * somebody removed comes back as it was.
 */
export class MeshDevice {
  readonly name: string;
  readonly port: number;
  #key: string | undefined;
  /** Announced, and not in use before the others know it. */
  #nextKey: string | undefined;
  #keyMs = -Infinity;
  /** Counts up when the interface had to be made: it has no peers then. */
  #made = 0;

  constructor(name: string, port: number) {
    this.name = name;
    this.port = port;
  }

  get made(): number {
    return this.#made;
  }

  /** Makes the interface if it is not there, and sets right what is wrong with it; the answer is its public key. */
  async ensure(mtu: number): Promise<string> {
    if (!(await this.isThere())) {
      await this.#make();
      this.#made += 1;
    }
    const known = (await run('wg', ['show', this.name, 'private-key'])).trim();
    const port = (await run('wg', ['show', this.name, 'listen-port'])).trim();
    const key = this.#key ?? (known === '' || known === '(none)' ? newPrivateKey() : known);
    try {
      if (key !== known || port !== String(this.port)) await this.#set(key, []);
      await run('ip', ['link', 'set', this.name, 'mtu', String(mtu), 'up']);
    } catch (error) {
      throw portFault(error, this.port);
    }
    if (key !== known && this.#key === undefined) this.#keyMs = performance.now();
    // Another one may have been adopted meanwhile, which the others know this node by.
    this.#key ??= key;
    return publicKeyOf(this.#key);
  }

  /** By which others are to know this node from now on. */
  get publicKeys(): { readonly own?: string; readonly next?: string } {
    return {
      ...optional('own', this.#key && publicKeyOf(this.#key)),
      ...optional('next', this.#nextKey && publicKeyOf(this.#nextKey)),
    };
  }

  /** A key that takes the place of this one once it is told to; a further call changes nothing until then. */
  renewKey(isAsked = false): void {
    if (isAsked || performance.now() - this.#keyMs > YOUNG_MS) this.#nextKey ??= newPrivateKey();
  }

  /** The interface forgets its peers' sessions with it: they begin new ones, with whoever knows the new key. */
  adoptKey(): void {
    this.#key = this.#nextKey ?? this.#key;
    this.#nextKey = undefined;
    this.#keyMs = performance.now();
  }

  async remove(): Promise<void> {
    this.#key = undefined;
    if (await this.isThere()) await run('ip', ['link', 'delete', this.name]);
  }

  /** Exactly these peers; what stays is not interrupted. */
  async setPeers(peers: readonly DevicePeer[]): Promise<void> {
    const key = this.#key ?? (await run('wg', ['show', this.name, 'private-key'])).trim();
    await this.#set(key, peers);
  }

  async counters(): Promise<readonly PeerCounters[]> {
    const [, ...lines] = (await run('wg', ['show', this.name, 'dump'])).trim().split('\n');
    return lines.map((line) => {
      const [publicKey = '', , endpoint = '(none)', , , received = '0', sent = '0'] = line.split('\t');
      return {
        publicKey,
        endpoint: endpoint === '(none)' ? undefined : endpoint,
        receivedBytes: Number(received),
        sentBytes: Number(sent),
      };
    });
  }

  async #set(key: string, peers: readonly DevicePeer[]): Promise<void> {
    const own = `[Interface]\nPrivateKey = ${key}\nListenPort = ${this.port}\n`;
    await this.#load(own + peers.map(peerSection).join(''));
  }

  async #load(config: string): Promise<void> {
    // In memory (`/run`), for a moment: the key is in no list of processes and on no disk.
    const folder = await mkdtemp(join(RUN, 'berth-mesh-'));
    try {
      const file = join(folder, 'config');
      await writeFile(file, config, { mode: 0o600 });
      await run('wg', ['syncconf', this.name, file]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async isThere(): Promise<boolean> {
    return await run('ip', ['link', 'show', this.name]).then(
      () => true,
      () => false,
    );
  }

  /** By the kernel, else by the program that does the same outside of it. */
  async #make(): Promise<void> {
    const kernel = await run('ip', ['link', 'add', this.name, 'type', 'wireguard']).then(
      () => undefined,
      (error: unknown) => messageOf(error),
    );
    if (kernel === undefined) return;
    if ((await findProgram('wireguard-go')) === undefined)
      throw new Error(
        `the kernel has no WireGuard (${kernel}), and wireguard-go is not installed; it is in the package ${PROGRAMS['wireguard-go']}`,
      );
    await run('wireguard-go', [this.name]);
  }
}

/** What WireGuard, the kernel and Node say of a port that is taken. */
const IN_USE = ['address already in use', 'eaddrinuse'];

export function inUse(error: unknown): boolean {
  const message = messageOf(error).toLowerCase();
  return IN_USE.some((words) => message.includes(words));
}

/** Both ports are needed, so both are named. */
export function portFault(error: unknown, port: number): unknown {
  if (!inUse(error)) return error;
  return new Error(
    `UDP port ${port} or ${port + 1} is in use on this machine; end what uses it (ss -lunp shows it), or start the agent with --mesh and another port`,
    { cause: error },
  );
}

function peerSection({ publicKey, subnet, endpoint }: DevicePeer): string {
  const where = endpoint === undefined ? '' : `Endpoint = ${endpoint}\n`;
  return `[Peer]\nPublicKey = ${publicKey}\nAllowedIPs = ${subnet}\n${where}PersistentKeepalive = ${KEEPALIVE_S}\n`;
}

function newPrivateKey(): string {
  const { d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return Buffer.from(d, 'base64url').toString('base64');
}

/** DER of a PKCS #8 key of X25519, up to its 32 bytes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

function publicKeyOf(privateKey: string): string {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(privateKey, 'base64')]);
  const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
    format: 'jwk',
  });
  return Buffer.from(x, 'base64url').toString('base64');
}
