/**
 * A control plane with real engines as its nodes, each in a network namespace of its own, and the agents between them.
 *
 *     const cluster = await startCluster();
 *     const shop = await cluster.plane.tenant('shop');
 *     const node = await cluster.node('n1', shop);      // an engine and its agent
 *     await cluster.deploy(shop, { name: 'web', replicas: 2 });
 *     await cluster.phase(shop, 'web', 'Running');
 *     await cluster.stop();
 */
import { execFileSync } from 'node:child_process';
import { DockerEngine } from '../../../src/agent/engine/docker-engine.ts';
import { EngineTransport, enginePath } from '../../../src/agent/engine/transport.ts';
import type { ContainerState } from '../../../src/agent/engine/container.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';
import type { Answer } from './control-plane.ts';
import {
  buildTestImage,
  type EngineOptions,
  startEngine,
  type PodmanOptions,
  startPodman,
  type TestEngine,
  type TestImage,
} from './engine.ts';
import type { TestNamespace } from './engine-network.ts';
import { eventually } from '../eventually.ts';
import { PlaneProcess, type Tenant } from './plane-process.ts';

export type { Tenant } from './plane-process.ts';

export const BOX = 'berth.test/box:1';
const WAIT_MS = 30_000;
/** A look costs engines several calls; what has to stay (a process, a state) differs at every later look once it changed. */
const POLL_MS = 150;
/** What tests do to engines on purpose is rightly told by agents. */
const TOLD = 'the engine does not answer';
const FAULT = /"level":(?:50|60|"error")|Error: |ExperimentalWarning|UnhandledPromise/;

/** Watches for a while that something stays as it is. */
export async function always<T>(
  what: string,
  read: () => Promise<T>,
  fits: (value: T) => boolean,
  forMs: number,
): Promise<void> {
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const value = await read();
    if (!fits(value)) throw new Error(`no longer: ${what}; seen:\n${JSON.stringify(value, undefined, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

type Way = 'both' | 'to-plane' | 'from-plane';

const CHAINS: Readonly<Record<Way, readonly (readonly [chain: string, side: string])[]>> = {
  both: [
    ['OUTPUT', '--dport'],
    ['INPUT', '--sport'],
  ],
  'to-plane': [['OUTPUT', '--dport']],
  'from-plane': [['INPUT', '--sport']],
};

/** One machine: its engine and its agent. */
export class ClusterNode {
  readonly name: string;
  readonly engine: TestEngine;
  readonly agent: AgentProcess;
  readonly docker: DockerEngine;
  readonly #transport: EngineTransport;
  readonly #port: number;

  constructor(name: string, engine: TestEngine, agent: AgentProcess, port: number) {
    this.name = name;
    this.engine = engine;
    this.agent = agent;
    this.docker = new DockerEngine(engine.socketPath);
    this.#transport = new EngineTransport(engine.socketPath);
    this.#port = port;
  }

  /** Every container on the machine with labels of ours, whatever its state. */
  async containers(deployment?: string): Promise<readonly ContainerState[]> {
    const labels = deployment === undefined ? {} : { 'berth.io/deployment': deployment };
    const listed = await this.docker.list({ all: true, labels });
    const states = await Promise.all(listed.map(({ id }) => this.docker.inspect(id).catch(() => undefined)));
    return states.filter((state) => state?.labels['berth.io/instance'] !== undefined) as ContainerState[];
  }

  /** Process ids of running containers by instance. */
  async pids(deployment?: string): Promise<Readonly<Record<string, number>>> {
    const running = (await this.containers(deployment)).filter(({ status }) => status === 'running');
    return Object.fromEntries(
      running.map(({ labels, pid }) => [labels['berth.io/instance'] ?? '', pid ?? 0]),
    );
  }

  /** In the engine's own words. */
  // A test reads what it expects; a wrong shape fails there.
  // oxlint-disable-next-line typescript/no-explicit-any
  async inspect(id: string): Promise<any> {
    const answer = await this.#transport.call({
      method: 'GET',
      path: enginePath(['v1.41', 'containers', id, 'json']),
    });
    return answer.body;
  }

  /** No packet passes between the agent and the control plane; or only those of one direction do not. */
  cut(way: Way = 'both'): void {
    this.#filter('-I', way);
  }

  /** The same way as it was cut. */
  heal(way: Way = 'both'): void {
    this.#filter('-D', way);
  }

  #filter(action: '-I' | '-D', way: Way): void {
    for (const [chain, side] of CHAINS[way]) {
      const rule = [
        '/usr/sbin/iptables',
        '-w',
        action,
        chain,
        '-p',
        'tcp',
        side,
        String(this.#port),
        '-j',
        'DROP',
      ];
      const [command, args] = this.engine.namespace?.command(rule) ?? ['false', []];
      execFileSync(command, [...args]);
    }
  }
}

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumeEngine?: 'btrfs' | 'rsync';
  /** Ports of all control planes, where there are several. */
  readonly ports?: readonly number[];
  readonly engine?: EngineOptions;
  /** Instead of Docker. */
  readonly podman?: true | PodmanOptions;
  readonly images?: Readonly<Record<string, TestImage>>;
  /** Before the agent starts: what else the machine is connected to. */
  readonly plug?: (namespace: TestNamespace) => void;
  /** Of the agent. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class Cluster {
  readonly plane: PlaneProcess;
  readonly nodes: ClusterNode[] = [];

  constructor(plane: PlaneProcess) {
    this.plane = plane;
  }

  async node(name: string, tenant: Tenant, options: NodeOptions = {}): Promise<ClusterNode> {
    const { podman } = options;
    const engine =
      podman === undefined
        ? await startEngine(options.engine)
        : await startPodman(podman === true ? {} : podman);
    for (const [reference, image] of Object.entries({ [BOX]: {}, ...options.images }))
      await buildTestImage(engine, reference, image);
    if (engine.namespace !== undefined) options.plug?.(engine.namespace);
    const { body } = await tenant.call('POST', '/api/v1/join-tokens', {});
    const agent = await startAgent({
      server: (options.ports ?? [this.plane.port])
        .map((port) => `http://${engine.namespace?.hostAddress}:${port}`)
        .join(','),
      name,
      socketPath: engine.socketPath,
      joinToken: body.token as string,
      ...(options.labels === undefined ? {} : { labels: options.labels }),
      ...(options.environment === undefined ? {} : { environment: options.environment }),
      ...(options.volumeEngine === undefined ? {} : { volumeEngine: options.volumeEngine }),
      ...(engine.namespace === undefined ? {} : { namespace: engine.namespace.name }),
      ...(podman !== undefined && { mountsOf: () => engine.pid }),
    });
    const node = new ClusterNode(name, engine, agent, this.plane.port);
    this.nodes.push(node);
    await eventually(
      `${name} is ready`,
      () => tenant.call('GET', `/api/v1/nodes/${name}`),
      ({ body: seen }) => seen.status === 'ready',
    );
    return node;
  }

  async deploy({ call }: Tenant, spec: Readonly<Record<string, unknown>>): Promise<Answer> {
    const answer = await call('POST', '/api/v1/deployments', {
      kind: 'Deployment',
      image: BOX,
      command: ['sleep', '3600'],
      replicas: 1,
      ...spec,
    });
    if (answer.status !== 201) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
    return answer;
  }

  async update({ call }: Tenant, name: string, change: Readonly<Record<string, unknown>>): Promise<Answer> {
    const answer = await call('PUT', `/api/v1/deployments/${name}`, change);
    if (answer.status !== 200) throw new Error(`not updated: ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Its status as soon as `fits` holds. */
  async status(
    { call }: Tenant,
    name: string,
    what: string,
    // oxlint-disable-next-line typescript/no-explicit-any
    fits: (status: any) => boolean,
    withinMs = WAIT_MS,
    // oxlint-disable-next-line typescript/no-explicit-any
  ): Promise<any> {
    const read = async (): Promise<unknown> => (await call('GET', `/api/v1/deployments/${name}`)).body.status;
    return eventually(`${name} ${what}`, read, (status) => status !== undefined && fits(status), withinMs);
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  phase(tenant: Tenant, name: string, phase: string, withinMs = WAIT_MS): Promise<any> {
    return this.status(tenant, name, `is ${phase}`, (status) => status.phase === phase, withinMs);
  }

  async events(
    { call }: Tenant,
    kind: string,
    subject?: string,
  ): Promise<readonly { readonly message: string; readonly details?: Record<string, unknown> }[]> {
    const query = subject === undefined ? '' : `&subject=${subject}`;
    return (await call('GET', `/api/v1/events?kind=${kind}${query}&limit=1000`)).body;
  }

  /** Containers of the deployment on all nodes. */
  async containers(deployment?: string): Promise<readonly ContainerState[]> {
    return (await Promise.all(this.nodes.map((node) => node.containers(deployment)))).flat();
  }

  async pids(deployment?: string): Promise<Readonly<Record<string, number>>> {
    return Object.assign({}, ...(await Promise.all(this.nodes.map((node) => node.pids(deployment)))));
  }

  /** Deletes and waits until no container is left. */
  async remove({ call, id }: Tenant, ...names: readonly string[]): Promise<void> {
    for (const name of names) await call('DELETE', `/api/v1/deployments/${name}`);
    for (const name of names)
      await eventually(
        `${name} is gone`,
        async () =>
          (await this.containers(name))
            .filter(({ labels }) => labels['berth.io/tenant'] === id)
            .map(({ name: own, status, labels }) => `${own} on ${labels['berth.io/node']}: ${status}`),
        (left) => left.length === 0,
      );
  }

  async exec({ call }: Tenant, name: string, command: readonly string[], instance?: string): Promise<Answer> {
    const body = { command, ...(instance === undefined ? {} : { instance }) };
    return call('POST', `/api/v1/deployments/${name}/exec`, body);
  }

  /** Whatever a test did to the parts: none of them may have run into a fault of its own. `told` is what it brought about. */
  async stop(...told: readonly string[]): Promise<void> {
    await Promise.allSettled(this.nodes.map(({ agent }) => agent.dispose()));
    await this.plane.dispose();
    await Promise.allSettled(this.nodes.map(({ engine }) => engine.stop()));
    const faults = [this.plane.log(), ...this.nodes.map(({ agent }) => agent.log())].flatMap((log) =>
      log
        .split('\n')
        .filter((line) => FAULT.test(line) && ![TOLD, ...told].some((words) => line.includes(words))),
    );
    if (faults.length > 0) throw new Error(`faults were logged:\n${faults.slice(0, 20).join('\n')}`);
  }
}

export async function startCluster(environment: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  return new Cluster(await new PlaneProcess(environment).start());
}
