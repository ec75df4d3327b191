import { EngineTransport } from '../../src/agent/engine/transport.ts';

export interface Service {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly replicas: number;
  readonly network?: string;
}

/** The body that creates it. */
export function serviceSpec({ name, image, command, replicas, network }: Service): object {
  return {
    Name: name,
    TaskTemplate: {
      ContainerSpec: { Image: image, Command: command, Init: true },
      RestartPolicy: { Condition: 'any' },
      ...(network === undefined ? {} : { Networks: [{ Target: network, Aliases: [name] }] }),
    },
    Mode: { Replicated: { Replicas: replicas } },
  };
}

/** Docker Swarm on the same engine, spoken to by its API: the peer to compare with. */
export class Swarm {
  readonly #transport: EngineTransport;

  constructor(socketPath: string) {
    this.#transport = new EngineTransport(socketPath);
  }

  async init(): Promise<void> {
    await this.#call('POST', '/v1.41/swarm/init', { ListenAddr: '127.0.0.1:0', AdvertiseAddr: '127.0.0.1' });
  }

  /** Its only node takes nothing any more. */
  async drain(): Promise<void> {
    const [node] = (await this.#call('GET', '/v1.41/nodes')) as readonly {
      readonly ID: string;
      readonly Version: { readonly Index: number };
      readonly Spec: object;
    }[];
    if (node === undefined) throw new Error('the swarm has no node');
    await this.#call('POST', `/v1.41/nodes/${node.ID}/update?version=${node.Version.Index}`, {
      ...node.Spec,
      Availability: 'drain',
    });
  }

  async leave(): Promise<void> {
    await this.#call('POST', '/v1.41/swarm/leave?force=true');
  }

  /** A bridge with names, as Berth's containers have one; without it, tasks sit on the default bridge, which has no names. */
  async network(name: string): Promise<void> {
    const IPAM = { Config: [{ Subnet: '10.222.0.0/20' }] };
    await this.#call('POST', '/v1.41/networks/create', { Name: `${name}-config`, ConfigOnly: true, IPAM });
    await this.#call('POST', '/v1.41/networks/create', {
      Name: name,
      Driver: 'bridge',
      Scope: 'swarm',
      ConfigFrom: { Network: `${name}-config` },
    });
  }

  async create(service: Service): Promise<string> {
    const answer = await this.#call('POST', '/v1.41/services/create', serviceSpec(service));
    return (answer as { ID: string }).ID;
  }

  async services(): Promise<number> {
    return ((await this.#call('GET', '/v1.41/services')) as readonly unknown[]).length;
  }

  async running(service: string): Promise<number> {
    const filters = encodeURIComponent(JSON.stringify({ service: [service], 'desired-state': ['running'] }));
    const tasks = (await this.#call('GET', `/v1.41/tasks?filters=${filters}`)) as {
      Status: { State: string };
    }[];
    return tasks.filter((task) => task.Status.State === 'running').length;
  }

  async remove(service: string): Promise<void> {
    await this.#call('DELETE', `/v1.41/services/${service}`);
  }

  async #call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const response = await this.#transport.call({
      method,
      path,
      ...(body === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) }),
    });
    return response.body;
  }
}
