import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { WebSocket } from 'ws';
import { messageOf } from '../../core/model/values.ts';
import { addressAt, isWithin, parseCidr, addressCount } from '../../core/model/ipv4.ts';
import { type MeshEndpoint, NO_PART } from '../../core/model/mesh.ts';
import { Once } from '../../core/model/once.ts';
import type { MeshMap, MeshPath } from '../../core/protocol/agent-protocol.ts';
import type { ContainerNetwork } from '../containers/container-spec.ts';
import { QUICK_BACK_OFF, StepError } from '../containers/failures.ts';
import {
  isMeshNetwork,
  meshNetworkName,
  networkLabels,
  OWN_LABELS,
  type Ownership,
} from '../containers/own-labels.ts';
import type { Engine } from '../engine/engine.ts';
import { joinEarlier } from './earlier-containers.ts';
import { ensureEngineNetwork } from './engine-network.ts';
import { type Log } from '../log.ts';
import { run } from '../volumes/program.ts';
import { advertisedProblem } from './advertised.ts';
import type { MeshDevice } from './device.ts';
import { DRAIN_MS, Draining } from './draining.ts';
import { type LocalPlace, withLocalHealth } from './local-health.ts';
import {
  bridgeOf,
  ensureAble,
  foreignRoutes,
  machineAddresses,
  machineResolvers,
  meshMtu,
  turnBack,
} from './machine.ts';
import { meshRules } from './mesh-rules.ts';
import { letThrough, letThroughNoMore } from './let-through.ts';
import { MESH_TABLES, RuleSet } from './rule-set.ts';
import { NameServer } from './name-server.ts';
import { Names } from './names.ts';
import { Peers } from './peers.ts';
import { RelayClient } from './relay-client.ts';
import { Repairs } from './repairs.ts';
import { ensureResolvConf } from './resolv-conf.ts';

const DEADLINE_MS = 15_000;
/** What others change on the machine is set right again so often. */
const REPAIR_MS = 5_000;
/** By then the others have taken up a map that came to all at the same time. */
const ADOPT_MS = 300;
/** What the control plane takes. */
const MAX_ADDRESSES = 16;
/** A node that gets no subnet within this time runs containers on a network of its own. */
const AWAIT_MAP_MS = 10_000;
/** So long a container that is due waits, before it is told as not ready: an agent that starts has its place within a second or two. */
const AWAIT_PLACE_MS = 4_000;

export interface MeshOptions {
  readonly engine: Engine;
  readonly node: string;
  readonly device: MeshDevice;
  /** Further addresses by which other nodes reach this one, most likely first. */
  readonly advertise: readonly string[];
  readonly dataDir: string;
  /** A connection to the relay of the control plane. */
  readonly dialRelay: () => WebSocket;
  /** Of an instance on this node; undefined: nothing is known of it. */
  readonly placeOf: (instanceId: string) => LocalPlace | undefined;
  /** A container of before was attached to the network. */
  readonly onJoined: (containerId: string) => Promise<void>;
  /** What is reported of it has changed. */
  readonly onChange: () => void;
  /** This node goes by another map now, or reaches others than before: what waited for that may go on. */
  readonly onApplied: () => void;
  readonly log: Log;
}

interface Place extends ContainerNetwork {
  readonly subnet: string;
  readonly gateway: string;
  /** Where names are answered. */
  readonly resolver: string;
}

/**
 * This node's part of the tenant's network. Level-triggered: every round compares what the map says with interface, routes, rules and the
 * engine's network, and sets right what differs. All of it outlives the agent.
 */
export class Mesh {
  readonly #options: MeshOptions;
  readonly #peers: Peers;
  readonly #nameServer: NameServer;
  readonly #draining = new Draining();
  #names = new Names([]);
  #resolvers: readonly string[] = [];
  #owner: Ownership | undefined;
  #beganMs = 0;
  /** As the control plane says, and as this node sees it. */
  #told: MeshMap | undefined;
  #seen: MeshMap | undefined;
  #map: MeshMap | undefined;
  #mapMs = 0;
  /** Instances of this node in it. */
  #own: ReadonlySet<string> = new Set();
  #place: Place | undefined;
  /** With its rules; from then on containers find everything. */
  #isPlaced = false;
  readonly #placed = Promise.withResolvers<void>();
  /** What rules and peers have been set by. */
  #applied: MeshMap | undefined;
  readonly #rules = new RuleSet(MESH_TABLES);
  readonly #repairs = new Repairs();
  #listening = false;
  /** Whether to look for what others have changed, too. */
  #lookDue = true;
  #endpoint: MeshEndpoint | undefined;
  #adopting: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #repair: NodeJS.Timeout | undefined;
  readonly #rounds = new Once<'all'>(() => this.#round(), { onFault: (fault) => this.#failed(fault) });

  constructor(options: MeshOptions) {
    this.#options = options;
    const { device, dialRelay, log } = options;
    const onPath = (): void => {
      options.onChange();
      options.onApplied();
    };
    this.#peers = new Peers(device, new RelayClient(dialRelay, device.port, log), onPath, log);
    this.#nameServer = new NameServer({
      names: () => this.#names,
      resolvers: () => this.#resolvers,
      serves: (address) =>
        this.#place !== undefined &&
        (address === this.#place.resolver || isWithin(address, this.#place.subnet)),
    });
  }

  /** For `hello`; undefined: this node does not take part, and `problem` says why. */
  async endpoint(): Promise<MeshEndpoint | undefined> {
    this.#endpoint = await this.#readEndpoint();
    return this.#endpoint;
  }

  /** As it was last found. */
  get lastEndpoint(): MeshEndpoint | undefined {
    return this.#endpoint;
  }

  /** Announced first and used when the map has it, so that the others know it by then. */
  renewKey(): void {
    this.#options.device.renewKey();
    this.#look();
  }

  /** Because somebody asks, however young the key is. The answer is the next one; undefined: this node has no part in the mesh. */
  async renewKeyNow(): Promise<string | undefined> {
    if (this.#endpoint === undefined) return undefined;
    this.#options.device.renewKey(true);
    this.#look();
    return this.#options.device.publicKeys.next;
  }

  async #readEndpoint(): Promise<MeshEndpoint | undefined> {
    const { device, advertise } = this.#options;
    try {
      // One that takes part goes on: its rules stay, and what fails is told.
      if (this.#endpoint === undefined) await ensureAble();
      const { made } = device;
      const publicKey = await device.ensure(await meshMtu());
      if (this.#endpoint !== undefined && device.made > made) this.#repaired('the interface');
      await this.#peers.listen();
      const routes = await this.#foreignRoutes();
      return {
        publicKey: device.publicKeys.next ?? publicKey,
        port: device.port,
        addresses: [...new Set([...advertise, ...machineAddresses()])].slice(0, MAX_ADDRESSES),
        ...(routes && { routes }),
      };
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** What somebody keeps taking from it. */
  get repairProblem(): string | undefined {
    return this.#repairs.problem(performance.now());
  }

  #repaired(what: string): void {
    this.#repairs.note(what, performance.now());
    this.#options.log.warn(this.repairProblem ?? what);
    this.#options.onChange();
  }

  /** Of what it was told to say of itself; it takes part all the same. */
  get addressProblem(): string | undefined {
    const { node, device, advertise } = this.#options;
    return this.#told && advertisedProblem({ node, port: device.port, addresses: advertise }, this.#told);
  }

  /** Whether a deployment is reached by its name from here; undefined: it has no name in the network, or this node no part in it. */
  answers(name: string): boolean | undefined {
    const of = (map?: MeshMap) => map?.services.find((one) => one.name === name);
    if (this.#place === undefined || of(this.#map) === undefined) return undefined;
    const reached = new Set(this.#peers.paths().flatMap(({ node, carries }) => (carries ? [node] : [])));
    const instances = of(this.#applied)?.instances ?? [];
    return instances.some(({ node }) => node === this.#options.node || reached.has(node));
  }

  paths(): readonly MeshPath[] {
    return this.#peers.paths();
  }

  begin(owner: Ownership): void {
    this.#owner = owner;
    this.#beganMs = performance.now();
    this.#draining.begin(this.#beganMs);
    this.#repair ??= setInterval(() => this.#look(), REPAIR_MS).unref();
  }

  take(map: MeshMap): void {
    this.#told = map;
    this.#own = new Set(
      map.services.flatMap(({ instances }) =>
        instances.flatMap(({ id, node }) => (node === this.#options.node ? id : [])),
      ),
    );
    this.#see();
  }

  /** Of an instance of this node: it may take connections now, or no longer. */
  changed(instanceId: string): void {
    if (this.#own.has(instanceId)) this.#see();
  }

  #see(): void {
    const told = this.#told;
    if (told === undefined) return;
    const services = withLocalHealth(told.services, this.#options.node, this.#options.placeOf);
    if (this.#map !== undefined && this.#seen === told && isDeepStrictEqual(services, this.#map.services))
      return;
    this.#seen = told;
    this.#map = { ...told, services };
    this.#mapMs = performance.now();
    this.#names = new Names(services);
    this.#rounds.ask('all');
  }

  #look(): void {
    this.#lookDue = true;
    this.#rounds.ask('all');
  }

  end(): void {
    clearInterval(this.#repair);
    clearTimeout(this.#adopting);
    this.#repair = undefined;
    this.#peers.close();
    this.#nameServer.close();
  }

  /** What new containers are attached to; undefined: this node has no part in the mesh. */
  async network(): Promise<ContainerNetwork | undefined> {
    if (this.#isPlaced) return this.#place;
    if (this.#endpoint === undefined || performance.now() - this.#beganMs > AWAIT_MAP_MS) return this.#place;
    await Promise.race([this.#placed.promise, pause(AWAIT_PLACE_MS, undefined, { ref: false })]);
    if (this.#place !== undefined) return this.#place;
    throw new StepError(
      'network_not_ready',
      "the tenant's network is being set up on this node",
      QUICK_BACK_OFF,
    );
  }

  /** Undefined: nobody was given it as a place to connect to. */
  drainsUntilMs(instanceId: string, orderedMs: number): number | undefined {
    return this.#place === undefined && this.#endpoint === undefined
      ? undefined
      : this.#draining.untilMs(instanceId, orderedMs);
  }

  /** Undefined: nobody can say which are ours, and a subnet that is in use must not be taken for somebody else's. */
  async #foreignRoutes(): Promise<readonly string[] | undefined> {
    const { engine, device, node } = this.#options;
    try {
      const networks = await engine.listNetworks({ [OWN_LABELS.node]: node }, { deadlineMs: DEADLINE_MS });
      const own = networks.flatMap(({ name, subnet }) => (isMeshNetwork(name) ? (subnet ?? []) : []));
      return await foreignRoutes(device.name, new Set(own));
    } catch (error) {
      this.#options.log.warn('routes of the machine could not be read', { reason: messageOf(error) });
      return undefined;
    }
  }

  #failed(fault: unknown): void {
    const problem = `${NO_PART}${messageOf(fault)}`;
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.log.warn(problem);
    this.#options.onChange();
  }

  #solved(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#options.onChange();
  }

  async #round(): Promise<void> {
    if (this.#lookDue) await this.#lookAround();
    const [map, owner, told, sinceMs] = [this.#map, this.#owner, this.#seen, this.#mapMs];
    const own = map?.nodes.find(({ name }) => name === this.#options.node);
    if (map === undefined || owner === undefined || own === undefined) return;
    this.#adopt(own.publicKey);
    const known = this.#lookDue || this.#place?.subnet !== own.subnet ? undefined : this.#place;
    this.#lookDue = false;
    const place = known ?? (await this.#ensurePlace(map, own.subnet, owner));
    const bridge = await bridgeOf(place.gateway);
    // Some engines make it with the first container.
    if (bridge !== undefined) {
      const rules = meshRules(map, { bridge, ...place, device: this.#options.device.name });
      if (await this.#rules.ensure(rules)) this.#repaired('the rules (nftables)');
      await turnBack(bridge.ports);
    }
    // After the rules: the engine translates the source of what is sent before, and the kernel goes on so for as long as the same is sent.
    if (known === undefined) await this.#ensureRoutes(map, place);
    await this.#peers.set(
      map.nodes.filter(({ name }) => name !== this.#options.node),
      [map.prefix, map.virtualPrefix],
    );
    const isNew = this.#applied !== map;
    this.#applied = map;
    // From here on this node gives no connection to what has left.
    if (isNew && told !== undefined) this.#draining.take(told.services, performance.now());
    if (isNew) this.#tellLate(performance.now() - sinceMs);
    this.#isPlaced = true;
    this.#placed.resolve();
    this.#solved();
    if (isNew) this.#options.onApplied();
  }

  /** Other nodes count on it: what has left is stopped there when so much time is over. */
  #tellLate(tookMs: number): void {
    if (!this.#isPlaced || tookMs < DRAIN_MS) return;
    this.#options.log.warn(
      'a map of the network came into force late: connections may have gone to what has stopped',
      {
        tookMs: Math.round(tookMs),
      },
    );
  }

  /** What was said of this node in `hello` may have changed: it is said again with the next report. */
  async #lookAround(): Promise<void> {
    const before = JSON.stringify(this.#endpoint);
    await this.endpoint();
    if (this.#endpoint !== undefined && this.#map === undefined) this.#solved();
    if (JSON.stringify(this.#endpoint) !== before) this.#options.onChange();
  }

  /** The others have the same map now, or in a moment. */
  #adopt(announced: string): void {
    const { device } = this.#options;
    if (announced !== device.publicKeys.next || this.#adopting !== undefined) return;
    this.#adopting = setTimeout(() => {
      this.#adopting = undefined;
      device.adoptKey();
      this.#peers.renew().catch((error: unknown) => this.#failed(error));
      this.#options.log.info('the key of this node in the mesh was renewed');
    }, ADOPT_MS).unref();
  }

  async #ensurePlace(map: MeshMap, subnet: string, owner: Ownership): Promise<Place> {
    const { engine, device, dataDir } = this.#options;
    const network = parseCidr(subnet);
    const virtual = parseCidr(map.virtualPrefix);
    const gateway = network && addressAt(network, 1);
    const resolver = virtual && addressAt(virtual, addressCount(virtual) - 2);
    if (gateway === undefined || resolver === undefined) throw new Error(`${subnet} is not a network`);
    const name = meshNetworkName(owner);
    const mtu = await meshMtu();
    await device.ensure(mtu);
    await ensureEngineNetwork(engine, {
      name,
      driver: 'bridge',
      internal: false,
      labels: networkLabels(owner),
      addressing: { subnet, gateway, mtu, trusted: device.name },
    });
    await run('ip', ['address', 'replace', `${resolver}/32`, 'dev', device.name]);
    this.#resolvers = await machineResolvers();
    if (!this.#listening) await this.#nameServer.listen(resolver);
    this.#listening = true;
    const resolvConf = join(dataDir, 'resolv.conf');
    await ensureResolvConf(resolvConf, resolver);
    this.#place = { name, resolvConf, subnet, gateway, resolver };
    await letThrough(...throughDevice(device));
    const prefixes = [map.prefix, map.virtualPrefix];
    await joinEarlier(engine, owner, { name, gateway, prefixes, onJoined: this.#options.onJoined }).catch(
      (error: unknown) =>
        this.#options.log.warn("a container of before could not be attached to the tenant's network", {
          reason: messageOf(error),
        }),
    );
    return this.#place;
  }

  /** Towards the mesh as the gateway, which every node has a route back to. */
  async #ensureRoutes(map: MeshMap, { gateway }: Place): Promise<void> {
    const { device } = this.#options;
    for (const prefix of [map.prefix, map.virtualPrefix])
      await run('ip', ['route', 'replace', prefix, 'dev', device.name, 'src', gateway]).catch(async () => {
        // The gateway's address is not there before the first container of some engines.
        await run('ip', ['route', 'replace', prefix, 'dev', device.name]);
      });
  }
}

/** Only nodes of the tenant send through it, whose packets WireGuard has proven. */
function throughDevice({ name }: MeshDevice): readonly (readonly string[])[] {
  return [
    ['-i', name],
    ['-o', name],
  ];
}

/** What an earlier start left, which had a part in it. Nothing where there was none. */
export async function removeMesh(device: MeshDevice, log: Log): Promise<void> {
  try {
    if (!(await device.isThere())) return;
    await device.remove();
    await new RuleSet(MESH_TABLES).remove();
    await letThroughNoMore(...throughDevice(device));
    log.info('this node has no part in the network of its tenant any more', { interface: device.name });
  } catch (error) {
    log.warn('the interface of the mesh could not be removed', { reason: messageOf(error) });
  }
}
