import { labelFilter, plainName } from './asked.ts';
import { containerSummary } from './container-state.ts';
import type * as port from './engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { EngineConflictError, EngineNotFoundError } from './errors.ts';
import { list } from './fields.ts';
import { addressingBody, networkState, sameNetwork } from './network-state.ts';

/** The networks of an engine. */
export class EngineNetworks {
  readonly #connection: EngineConnection;
  readonly #inTheMaking = new Map<string, Promise<unknown>>();

  constructor(connection: EngineConnection) {
    this.#connection = connection;
  }

  /** One at a time for a name: Docker's own check for duplicates lets two through that come together. */
  async ensure(spec: port.NetworkSpec, options: port.CallOptions): Promise<port.NetworkState> {
    const before = this.#inTheMaking.get(spec.name) ?? Promise.resolve();
    const making = before.then(() => this.#ensure(spec, options));
    const settled = Promise.allSettled([making]);
    this.#inTheMaking.set(spec.name, settled);
    try {
      return await making;
    } finally {
      if (this.#inTheMaking.get(spec.name) === settled) this.#inTheMaking.delete(spec.name);
    }
  }

  async #ensure(spec: port.NetworkSpec, options: port.CallOptions): Promise<port.NetworkState> {
    const there = await this.#find(spec.name, options);
    if (there !== undefined) return sameNetwork(spec, there);
    try {
      await this.#connection.call({
        ...options,
        method: 'POST',
        segments: ['networks', 'create'],
        json: {
          Name: spec.name,
          // Docker allows several networks of one name unless asked not to.
          CheckDuplicate: true,
          Driver: spec.driver,
          Internal: spec.internal,
          Labels: spec.labels,
          ...(spec.addressing && addressingBody(spec.addressing)),
        },
      });
    } catch (error) {
      if (!(error instanceof EngineConflictError)) throw error;
    }
    const made = await this.#find(spec.name, options);
    if (made === undefined)
      throw new EngineNotFoundError(`network ${spec.name} vanished after it was made`, 404);
    return sameNetwork(spec, made);
  }

  async list(labels: port.Labels, options: port.CallOptions): Promise<readonly port.NetworkState[]> {
    const query = { filters: labelFilter(labels) };
    const answer = await this.#connection.call({ ...options, method: 'GET', segments: ['networks'], query });
    return list(answer.body).map(networkState);
  }

  async remove(id: string, options: port.CallOptions): Promise<void> {
    await this.#refuseInUse(id, options);
    await this.#connection.call({ ...options, method: 'DELETE', segments: ['networks', id] });
  }

  /** A container that was never started is known to Docker by the name of its network only. */
  async containers(
    { id, name = id }: { readonly id: string; readonly name?: string },
    options: port.CallOptions,
  ): Promise<readonly string[]> {
    const query = { all: true, filters: JSON.stringify({ network: [id, name] }) };
    const answer = await this.#connection.call({
      ...options,
      method: 'GET',
      segments: ['containers', 'json'],
      query,
    });
    return list(answer.body).map((one) => containerSummary(one).name);
  }

  async order(
    id: string,
    action: 'connect' | 'disconnect',
    json: unknown,
    options: port.CallOptions,
  ): Promise<void> {
    await this.#connection.call({ ...options, method: 'POST', segments: ['networks', id, action], json });
  }

  async #find(name: string, options: port.CallOptions): Promise<port.NetworkState | undefined> {
    const query = { filters: JSON.stringify({ name: [plainName(name, 'a network name')] }) };
    const answer = await this.#connection.call({ ...options, method: 'GET', segments: ['networks'], query });
    return list(answer.body)
      .map(networkState)
      .find((network) => network.name === name);
  }

  /** Podman removes a network under the feet of its containers. */
  async #refuseInUse(id: string, options: port.CallOptions): Promise<void> {
    if ((await this.#connection.speak(options)).kind === 'docker') return;
    if ((await this.containers({ id }, options)).length > 0)
      throw new EngineConflictError('network has active endpoints', 409);
  }
}
