import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../log.ts';
import { findProgram, run } from '../volumes/program.ts';

const RUN = '/run';
/** Room for WireGuard's own headers in packets of 1500 bytes, over IPv6 too. */
export const MESH_MTU = 1420;
const KEEPALIVE_S = 25;

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
 * disk, so an agent that starts again reads it there, and nobody notices.
 */
export class MeshDevice {
  readonly name: string;
  readonly port: number;

  constructor(name: string, port: number) {
    this.name = name;
    this.port = port;
  }

  /** Makes the interface if it is not there; the answer is its public key. */
  async ensure(): Promise<string> {
    if (!(await this.#isThere())) await this.#make();
    const known = (await run('wg', ['show', this.name, 'private-key'])).trim();
    const key = known === '' || known === '(none)' ? newPrivateKey() : known;
    if (key !== known) await this.#load(`[Interface]\nPrivateKey = ${key}\nListenPort = ${this.port}\n`);
    await run('ip', ['link', 'set', this.name, 'mtu', String(MESH_MTU), 'up']);
    return publicKeyOf(key);
  }

  async remove(): Promise<void> {
    if (await this.#isThere()) await run('ip', ['link', 'delete', this.name]);
  }

  /** Exactly these peers; what stays is not interrupted. */
  async setPeers(peers: readonly DevicePeer[]): Promise<void> {
    const key = (await run('wg', ['show', this.name, 'private-key'])).trim();
    const own = `[Interface]\nPrivateKey = ${key}\nListenPort = ${this.port}\n`;
    await this.#load(own + peers.map(peerSection).join(''));
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

  async #isThere(): Promise<boolean> {
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
      throw new Error(`the kernel has no WireGuard (${kernel}), and wireguard-go is not installed`);
    await run('wireguard-go', [this.name]);
  }
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
