import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WebSocket } from 'ws';
import { addressAt, parseCidr, sizeOf } from '../../core/model/ipv4.ts';
import { type MeshEndpoint, NO_PART } from '../../core/model/mesh.ts';
import { Once } from '../../core/model/once.ts';
import type { MeshMap, MeshPath } from '../../core/protocol/agent-protocol.ts';
import type { ContainerNetwork } from '../containers/container-spec.ts';
import { QUICK_BACK_OFF, StepError } from '../containers/failures.ts';
import { meshNetworkName, networkLabels, type Ownership } from '../containers/own-labels.ts';
import type { Engine } from '../engine/engine.ts';
import { type Log, messageOf } from '../log.ts';
import { run } from '../volumes/program.ts';
import { MESH_MTU, MeshDevice } from './device.ts';
import { Draining } from './draining.ts';
import { bridgeOf, foreignRoutes, machineAddresses, machineResolvers, turnBack } from './machine.ts';
import { meshRules } from './mesh-rules.ts';
import { NameServer } from './name-server.ts';
import { DOMAIN, Names } from './names.ts';
import { Peers } from './peers.ts';
import { RelayClient } from './relay-client.ts';

const DEADLINE_MS = 15_000;
/** What others change on the machine is set right again so often. */
const REPAIR_MS = 10_000;
/** A node that gets no subnet within this time runs containers on a network of its own. */
const AWAIT_MAP_MS = 10_000;

export interface MeshOptions {
  readonly engine: Engine;
  readonly node: string;
  readonly device: MeshDevice;
  /** Further addresses by which other nodes reach this one, most likely first. */
  readonly advertise: readonly string[];
  readonly dataDir: string;
  /** A connection to the relay of the control plane. */
  readonly dialRelay: () => WebSocket;
  /** What is reported of it has changed. */
  readonly onChange: () => void;
  readonly log: Log;
}

interface Place extends ContainerNetwork {
  readonly subnet: string;
  readonly gateway: string;
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
  #map: MeshMap | undefined;
  #place: Place | undefined;
  #rules = '';
  #listening = false;
  #publicKey: string | undefined;
  #problem: string | undefined;
  #repair: NodeJS.Timeout | undefined;
  readonly #rounds = new Once<'all'>(() => this.#round(), { onFault: (fault) => this.#failed(fault) });

  constructor(options: MeshOptions) {
    this.#options = options;
    const { device, dialRelay, log } = options;
    this.#peers = new Peers(device, new RelayClient(dialRelay, device.port, log), options.onChange, log);
    this.#nameServer = new NameServer({ names: () => this.#names, resolvers: () => this.#resolvers });
  }

  /** For `hello`; undefined: this node does not take part, and `problem` says why. */
  async endpoint(): Promise<MeshEndpoint | undefined> {
    const { device, advertise } = this.#options;
    try {
      this.#publicKey = await device.ensure();
      await this.#peers.listen();
      const bridge = this.#place && (await bridgeOf(this.#place.gateway));
      const own = new Set([device.name, ...(bridge === undefined ? [] : [bridge.name])]);
      this.#problem = undefined;
      return {
        publicKey: this.#publicKey,
        port: device.port,
        addresses: [...new Set([...advertise, ...machineAddresses()])],
        routes: await foreignRoutes(own),
      };
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  paths(): readonly MeshPath[] {
    return this.#peers.paths();
  }

  begin(owner: Ownership): void {
    this.#owner = owner;
    this.#beganMs = performance.now();
    this.#draining.begin(this.#beganMs);
    this.#repair ??= setInterval(() => this.#rounds.ask('all'), REPAIR_MS).unref();
  }

  take(map: MeshMap): void {
    this.#map = map;
    this.#names = new Names(map.services);
    this.#draining.take(map.services, performance.now());
    this.#rounds.ask('all');
  }

  end(): void {
    clearInterval(this.#repair);
    this.#repair = undefined;
    this.#peers.close();
    this.#nameServer.close();
  }

  /** What new containers are attached to; undefined: this node has no part in the mesh. */
  async network(): Promise<ContainerNetwork | undefined> {
    if (this.#place !== undefined) return this.#place;
    if (this.#publicKey === undefined || performance.now() - this.#beganMs > AWAIT_MAP_MS) return undefined;
    throw new StepError(
      'network_not_ready',
      "the tenant's network is being set up on this node",
      QUICK_BACK_OFF,
    );
  }

  /** Undefined: nobody was given it as a place to connect to. */
  drainsUntilMs(instanceId: string, orderedMs: number): number | undefined {
    return this.#place === undefined && this.#publicKey === undefined
      ? undefined
      : this.#draining.untilMs(instanceId, orderedMs);
  }

  #failed(fault: unknown): void {
    const problem = `${NO_PART}${messageOf(fault)}`;
    if (problem !== this.#problem) this.#options.log.warn(problem);
    this.#problem = problem;
  }

  async #round(): Promise<void> {
    const [map, owner] = [this.#map, this.#owner];
    const own = map?.nodes.find(({ name }) => name === this.#options.node);
    if (map === undefined || owner === undefined || own === undefined) return;
    const { device } = this.#options;
    await device.ensure();
    const place = await this.#ensurePlace(map, own.subnet, owner);
    await this.#ensureRoutes(map, place);
    await this.#peers.set(map.nodes.filter(({ name }) => name !== this.#options.node));
    const bridge = await bridgeOf(place.gateway);
    // Some engines make it with the first container.
    if (bridge !== undefined) {
      await this.#ensureRules(meshRules(map, { bridge, ...place }));
      await turnBack(bridge.ports);
    }
    this.#problem = undefined;
  }

  async #ensurePlace(map: MeshMap, subnet: string, owner: Ownership): Promise<Place> {
    const { engine, device, dataDir } = this.#options;
    const network = parseCidr(subnet);
    const virtual = parseCidr(map.virtualPrefix);
    const gateway = network && addressAt(network, 1);
    const resolver = virtual && addressAt(virtual, sizeOf(virtual) - 2);
    if (gateway === undefined || resolver === undefined) throw new Error(`${subnet} is not a network`);
    if (this.#place?.subnet === subnet) return this.#place;
    const name = meshNetworkName(owner);
    await engine.ensureNetwork(
      {
        name,
        driver: 'bridge',
        internal: false,
        labels: networkLabels(owner),
        addressing: { subnet, gateway, mtu: MESH_MTU, trusted: device.name },
      },
      { deadlineMs: DEADLINE_MS },
    );
    await run('ip', ['address', 'replace', `${resolver}/32`, 'dev', device.name]);
    this.#resolvers = await machineResolvers();
    if (!this.#listening) await this.#nameServer.listen(resolver);
    this.#listening = true;
    const resolvConf = join(dataDir, 'resolv.conf');
    await writeFile(
      resolvConf,
      `nameserver ${resolver}\nsearch ${DOMAIN}\noptions ndots:1 timeout:2 attempts:3\n`,
      {
        mode: 0o644,
      },
    );
    this.#place = { name, resolvConf, subnet, gateway };
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

  async #ensureRules(rules: string): Promise<void> {
    const there = await run('nft', ['list', 'table', 'ip', 'berth-mesh']).then(
      () => true,
      () => false,
    );
    if (there && rules === this.#rules) return;
    await run('nft', [rules]);
    this.#rules = rules;
  }
}
