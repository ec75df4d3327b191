import { messageOf } from '../../core/model/values.ts';
import { addressAt, isMachineAddress, isWithin, parseCidr } from '../../core/model/ipv4.ts';
import type { MeshMap, MeshPath } from '../../core/protocol/agent-protocol.ts';
import { type Log } from '../log.ts';
import { type DevicePeer, type MeshDevice, portFault } from './device.ts';
import { asksAgain, DEAD_MS, distrustMs, isAgentAway, nextPath, type Path } from './paths.ts';
import { Pings } from './pings.ts';
import type { RelayClient } from './relay-client.ts';

type MeshNode = MeshMap['nodes'][number];

const ASK_MS = 1_000;
const MAX_CANDIDATES = 16;
/** A way that lasted so long was no mistake. */
const STEADY_MS = 120_000;
/** Where packets of the relay come from. */
const RELAYED = '127.0.0.1:';
/** Longer than WireGuard's own silence between two that have nothing to say. */
const MUTE_MS = 35_000;

interface Peer {
  readonly node: MeshNode;
  path: Path;
  readonly knownMs: number;
  sinceMs: number;
  carriedMs: number | undefined;
  heardFrom: string | undefined;
  /** When anything came from it, by whichever way; then, when it came directly. */
  receivedMs: number;
  heardMs: number | undefined;
  askedMs: number | undefined;
  askingMs: number | undefined;
  answeredByRelayMs: number | undefined;
  readonly answeredMs: Map<string, number>;
  readonly distrustedMs: Map<string, number>;
  disappointments: number;
  roundTripMs: number | undefined;
  receivedBytes: number;
  sentBytes: number;
}

/** The other nodes of the mesh, and the way to each: asked every second, changed when it does not carry. */
export class Peers {
  readonly #device: MeshDevice;
  readonly #relay: RelayClient;
  readonly #onChange: () => void;
  readonly #log: Log;
  readonly #peers = new Map<string, Peer>();
  readonly #pings = new Pings(
    (target, roundTripMs) => this.#answered(target, roundTripMs),
    (from) => this.#asked(from),
  );
  /** Addresses of the network itself: no way to a node leads through the tunnel that it is to carry. */
  #inside: readonly string[] = [];
  #asking: NodeJS.Timeout | undefined;
  /** Whether it is known who the peers are: until then the interface keeps those that an agent before this one gave it. */
  #isTold = false;
  #set = '';

  /** `onChange`: the way to a peer is another one, or carries again. */
  constructor(device: MeshDevice, relay: RelayClient, onChange: () => void, log: Log) {
    this.#device = device;
    this.#relay = relay;
    this.#onChange = onChange;
    this.#log = log;
  }

  /** Beside WireGuard's own port, which nobody else can send from. */
  async listen(): Promise<void> {
    if (this.#asking !== undefined) return;
    try {
      await this.#pings.listen(this.#device.port + 1);
    } catch (error) {
      throw portFault(error, this.#device.port);
    }
    this.#asking = setInterval(() => void this.#round(), ASK_MS).unref();
  }

  /** After the interface has another key. */
  async renew(): Promise<void> {
    await this.#apply();
    // Whoever speaks first begins the new session.
    this.#askAll();
  }

  close(): void {
    clearInterval(this.#asking);
    this.#asking = undefined;
    this.#pings.close();
    this.#relay.close();
  }

  /** The way to each peer as it is now; of one that has had no time to answer yet there is nothing to say. */
  paths(): readonly MeshPath[] {
    const nowMs = performance.now();
    return [...this.#peers]
      .filter(([, { carriedMs, knownMs }]) => carriedMs !== undefined || nowMs - knownMs >= DEAD_MS)
      .map(([node, peer]) => {
        const { path, roundTripMs, receivedBytes, sentBytes } = peer;
        return {
          node,
          path: path.kind,
          ...(path.kind === 'direct' && { address: path.address }),
          carries: carriesNow(peer, nowMs),
          ...(roundTripMs !== undefined && { roundTripMs: Math.round(roundTripMs * 10) / 10 }),
          receivedBytes,
          sentBytes,
        };
      });
  }

  /** `inside`: networks that are reached through the tunnel. */
  async set(nodes: readonly MeshNode[], inside: readonly string[]): Promise<void> {
    this.#isTold = true;
    this.#inside = inside;
    const wanted = new Set(nodes.map(({ name }) => name));
    for (const name of this.#peers.keys()) if (!wanted.has(name)) this.#peers.delete(name);
    for (const node of nodes) {
      const known = this.#peers.get(node.name);
      this.#peers.set(node.name, known === undefined ? newPeer(node) : { ...known, node });
    }
    await this.#apply();
  }

  #askAll(): void {
    for (const [name, { node }] of this.#peers) {
      for (const address of this.#candidatesOf(node))
        this.#pings.ask(`${name}|${endpointOf(address, node)}`, node.publicKey, address, node.port + 1);
      const gateway = gatewayOf(node);
      if (gateway !== undefined) this.#pings.ask(name, node.publicKey, gateway, node.port + 1);
    }
  }

  #asked(from: string): void {
    const nowMs = performance.now();
    const peer = [...this.#peers.values()].find(({ node }) => gatewayOf(node) === from);
    if (peer === undefined) return;
    if (asksAgain(peer.askedMs, nowMs)) peer.askingMs = nowMs;
    peer.askedMs = nowMs;
  }

  #answered(target: string, roundTripMs: number): void {
    const [name = '', address = ''] = target.split('|');
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    if (address !== '') {
      peer.answeredMs.set(address, performance.now());
      return;
    }
    const nowMs = performance.now();
    const wasSilent = nowMs - (peer.carriedMs ?? -Infinity) >= DEAD_MS;
    peer.carriedMs = nowMs;
    peer.roundTripMs = roundTripMs;
    if (wasSilent) this.#onChange();
  }

  async #round(): Promise<void> {
    if (!this.#isTold) return;
    try {
      const counters = new Map((await this.#device.counters()).map((one) => [one.publicKey, one]));
      // Somebody has taken one away.
      if ([...this.#peers.values()].some(({ node }) => !counters.has(node.publicKey))) this.#set = '';
      this.#pings.answerFor(Object.values(this.#device.publicKeys));
      for (const [name, peer] of this.#peers) {
        const { node } = peer;
        const counted = counters.get(node.publicKey);
        const byRelay = counted?.endpoint?.startsWith(RELAYED) === true;
        peer.heardFrom = byRelay ? undefined : counted?.endpoint;
        peer.answeredByRelayMs =
          byRelay && peer.path.kind === 'direct' ? (peer.answeredByRelayMs ?? performance.now()) : undefined;
        const receivedBytes = counted?.receivedBytes ?? 0;
        if (receivedBytes > peer.receivedBytes) peer.receivedMs = performance.now();
        if (receivedBytes > peer.receivedBytes && !byRelay) peer.heardMs = performance.now();
        peer.receivedBytes = receivedBytes;
        peer.sentBytes = counted?.sentBytes ?? 0;
        this.#judge(name, peer);
        // WireGuard answers where it was last spoken to from: a peer that still uses the relay would keep us there, and we it.
        if (peer.path.kind === 'direct' && byRelay) this.#set = '';
      }
      await this.#begAnew();
      await this.#apply();
      // After that: the first packet of a way shows the peer where we are now, before one of its own takes us back.
      this.#askAll();
    } catch (error) {
      this.#log.debug('the mesh interface could not be read', { reason: messageOf(error) });
    }
  }

  /**
   * WireGuard takes no greeting that bears an earlier time than the last one it took from a peer, and forgets that time with the peer. Of
   * two nodes whose clocks were ahead and have been set right, neither would hear the other again until their clocks are there.
   */
  async #begAnew(): Promise<void> {
    const nowMs = performance.now();
    const mute = [...this.#peers.values()].filter(({ receivedMs }) => nowMs - receivedMs >= MUTE_MS);
    if (mute.length === 0) return;
    for (const peer of mute) peer.receivedMs = nowMs;
    const keys = new Set(mute.map(({ node }) => node.publicKey));
    await this.#device.setPeers((await this.#devicePeers()).filter(({ publicKey }) => !keys.has(publicKey)));
    this.#set = '';
  }

  #judge(name: string, peer: Peer): void {
    const nowMs = performance.now();
    // The interface outlives the agent: one that starts again goes on by the way that carries.
    if (peer.path.kind === 'none' && peer.heardFrom !== undefined)
      peer.path = { kind: 'direct', address: peer.heardFrom };
    const candidates = this.#candidatesOf(peer.node).map((address) => endpointOf(address, peer.node));
    const { path, distrust } = nextPath({ ...peer, candidates, relayed: true }, nowMs);
    if (distrust !== undefined) {
      peer.distrustedMs.set(distrust, nowMs + distrustMs(peer.disappointments));
      peer.disappointments += 1;
    } else if (path.kind === 'direct' && nowMs - peer.sinceMs > STEADY_MS) peer.disappointments = 0;
    if (samePath(path, peer.path)) return;
    this.#log.info('path to a node changed', { node: name, from: pathText(peer.path), to: pathText(path) });
    peer.path = path;
    peer.sinceMs = nowMs;
    this.#onChange();
  }

  async #apply(): Promise<void> {
    const relayed = [...this.#peers].flatMap(([name, { path }]) => (path.kind === 'relay' ? [name] : []));
    this.#relay.use(new Set(relayed), new Set(this.#peers.keys()));
    const peers = await this.#devicePeers();
    const text = JSON.stringify([this.#device.made, this.#device.publicKeys.own, peers]);
    if (text === this.#set) return;
    await this.#device.setPeers(peers);
    this.#set = text;
  }

  async #devicePeers(): Promise<readonly DevicePeer[]> {
    const peers: DevicePeer[] = [];
    for (const [name, { node, path }] of this.#peers) {
      const { publicKey, subnet } = node;
      const endpoint =
        path.kind === 'direct'
          ? path.address
          : path.kind === 'relay'
            ? await this.#relay.endpointOf(name)
            : undefined;
      peers.push({ publicKey, subnet, ...(endpoint !== undefined && { endpoint }) });
    }
    return peers;
  }

  /** Said by other machines: nothing that is no address becomes part of a configuration. */
  #candidatesOf({ addresses }: MeshNode): readonly string[] {
    return outsideOf(addresses, this.#inside).slice(0, MAX_CANDIDATES);
  }
}

/** Those by which a machine can be reached without the network that they are for. */
export function outsideOf(addresses: readonly string[], inside: readonly string[]): readonly string[] {
  return [...new Set(addresses)].filter(
    (address) => isMachineAddress(address) && !inside.some((network) => isWithin(address, network)),
  );
}

function newPeer(node: MeshNode): Peer {
  return {
    node,
    path: { kind: 'none' },
    knownMs: performance.now(),
    sinceMs: performance.now(),
    carriedMs: undefined,
    heardFrom: undefined,
    receivedMs: performance.now(),
    heardMs: undefined,
    askedMs: undefined,
    askingMs: undefined,
    answeredByRelayMs: undefined,
    answeredMs: new Map(),
    distrustedMs: new Map(),
    disappointments: 0,
    roundTripMs: undefined,
    receivedBytes: 0,
    sentBytes: 0,
  };
}

/** Also for a peer whose agent is away: WireGuard needs none. */
function carriesNow(peer: Peer, nowMs: number): boolean {
  const { carriedMs, path } = peer;
  return (
    (carriedMs !== undefined && nowMs - carriedMs < DEAD_MS) ||
    (path.kind === 'direct' && isAgentAway(peer, nowMs))
  );
}

function gatewayOf({ subnet }: MeshNode): string | undefined {
  const network = parseCidr(subnet);
  return network && addressAt(network, 1);
}

function endpointOf(address: string, { port }: MeshNode): string {
  return `${address}:${port}`;
}

function samePath(one: Path, other: Path): boolean {
  return (
    one.kind === other.kind &&
    (one.kind !== 'direct' || other.kind !== 'direct' || one.address === other.address)
  );
}

function pathText(path: Path): string {
  return path.kind === 'direct' ? path.address : path.kind;
}
