import { messageOf } from '../../core/model/values.ts';
import type { Assignment } from '../../core/protocol/agent-protocol.ts';
import type { NetworkObservation, NetworkSettings } from '../../core/model/network.ts';
import { Once } from '../../core/model/once.ts';
import type { Engine, NetworkSpec, NetworkState } from '../engine/engine.ts';
import { sameNetwork } from '../engine/network-state.ts';
import { type Log } from '../log.ts';
import { networkLabels, OWN_LABELS, type Ownership } from '../containers/own-labels.ts';
import { namedNetworkName } from './attachments.ts';

const DEADLINE_MS = 15_000;

function engineSpec(owner: Ownership, { name, driver, labels, internal }: NetworkSettings): NetworkSpec {
  return {
    name: namedNetworkName(owner, name),
    driver,
    internal,
    labels: { ...labels, ...networkLabels(owner), [OWN_LABELS.network]: name },
  };
}

function fits(spec: NetworkSpec, there: NetworkState): boolean {
  try {
    sameNetwork(spec, there);
    return Object.keys(there.labels).length === Object.keys(spec.labels).length;
  } catch {
    return false;
  }
}

export interface NetworksOptions {
  readonly engine: Engine;
  readonly onChange: () => void;
  readonly log: Log;
}

/**
 * Keeps the tenant's networks of this node as they are assigned. Level-triggered: each round lists what is there, removes
 * what is not wanted and makes what is missing; the engine keeps what containers are attached to. The agent's own are known by
 * labels, so that a restart of the agent changes nothing.
 */
export class Networks {
  readonly #options: NetworksOptions;
  readonly #seen = new Map<string, NetworkObservation>();
  #owner: Ownership | undefined;
  #wanted: readonly NetworkSettings[] | undefined;
  readonly #rounds = new Once<'all'>(() => this.#round(), {
    // The engine does not answer: that is in every report already, and the next pass tries again.
    onFault: (fault) => this.#options.log.warn('reconciling networks failed', { reason: messageOf(fault) }),
  });

  constructor(options: NetworksOptions) {
    this.#options = options;
  }

  begin(owner: Ownership): void {
    this.#owner = owner;
    this.#seen.clear();
  }

  /** Without a session nothing is made or removed on old orders. */
  end(): void {
    this.#wanted = undefined;
  }

  assign({ networks }: Assignment): void {
    this.#wanted = networks;
    const names = new Set(networks?.map(({ name }) => name));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    this.look();
  }

  observations(): readonly NetworkObservation[] {
    return [...this.#seen.values()];
  }

  /** On each pass of the loop; a round that is under way is followed by another. */
  look(): void {
    if (this.#wanted === undefined) return;
    this.#rounds.ask('all');
  }

  async #round(): Promise<void> {
    const [owner, wanted] = [this.#owner, this.#wanted];
    if (owner === undefined || wanted === undefined) return;
    const there = await this.#own(owner);
    const specs = wanted.map((settings) => ({ settings, spec: engineSpec(owner, settings) }));
    for (const network of there) {
      if (!specs.some(({ spec }) => spec.name === network.name && fits(spec, network)))
        await this.#remove(network);
    }
    for (const { settings, spec } of specs) {
      if (this.#wanted !== wanted) return;
      await this.#make(settings.name, spec);
    }
  }

  async #own(owner: Ownership): Promise<readonly NetworkState[]> {
    const { engine } = this.#options;
    const listed = await engine.listNetworks(networkLabels(owner), { deadlineMs: DEADLINE_MS });
    return listed.filter(({ labels }) => labels[OWN_LABELS.network] !== undefined);
  }

  async #remove(network: NetworkState): Promise<void> {
    const { id, name } = network;
    const { engine, log } = this.#options;
    try {
      // Docker itself refuses for running containers only; a stopped one could not be started any more.
      const attached = await engine.networkContainers(network, { deadlineMs: DEADLINE_MS });
      if (attached.length > 0) throw new Error(`attached: ${attached.join(', ')}`);
      await engine.removeNetwork(id, { deadlineMs: DEADLINE_MS });
      log.info('network removed', { network: name });
    } catch (error) {
      log.warn('a network stays for now', { network: name, reason: messageOf(error) });
    }
  }

  async #make(name: string, spec: NetworkSpec): Promise<void> {
    let seen: NetworkObservation;
    try {
      await this.#options.engine.ensureNetwork(spec, { deadlineMs: DEADLINE_MS });
      seen = { name, state: 'ready' };
    } catch (error) {
      seen = { name, state: 'failed', message: messageOf(error) };
    }
    const before = this.#seen.get(name);
    if (!this.#wanted?.some((one) => one.name === name)) return;
    this.#seen.set(name, seen);
    if (before?.state !== seen.state || before.message !== seen.message) this.#options.onChange();
  }

  /** Names of what is attached, running or not. Nothing: the network is not there. */
  async containers(name: string): Promise<readonly string[]> {
    if (this.#owner === undefined) return [];
    const found = (await this.#own(this.#owner)).filter(({ labels }) => labels[OWN_LABELS.network] === name);
    const attached = found.map((network) =>
      this.#options.engine.networkContainers(network, { deadlineMs: DEADLINE_MS }),
    );
    return (await Promise.all(attached)).flat();
  }
}
