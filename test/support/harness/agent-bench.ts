import { DockerEngine } from '../../../src/agent/engine/docker-engine.ts';
import type { AssignedContainer, AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';
import { AgentProcess } from './agent-process.ts';
import type { TestEngine } from './engine.ts';
import { FakeControlPlane, JOIN_TOKEN } from './fake-control-plane.ts';

export const TEST_IMAGE = 'berth.test/box:1';

/** An engine, a scripted control plane and an agent between them. */
export class AgentBench implements AsyncDisposable {
  readonly daemon: TestEngine;
  readonly engine: DockerEngine;
  readonly plane: FakeControlPlane;
  readonly agent: AgentProcess;

  private constructor(
    daemon: TestEngine,
    plane: FakeControlPlane,
    more: readonly string[],
    socketPath: string,
    under: readonly string[] = [],
  ) {
    this.daemon = daemon;
    this.engine = new DockerEngine(daemon.socketPath);
    this.plane = plane;
    this.agent = new AgentProcess({
      server: plane.url,
      name: 'n1',
      socketPath,
      joinToken: JOIN_TOKEN,
      more,
      under,
      environment: { BERTH_AGENT_LOG_LEVEL: 'debug' },
    });
  }

  /** `socketPath` is where the agent finds the engine, if not at the daemon's own. */
  static async start(
    daemon: TestEngine,
    more: readonly string[] = [],
    socketPath = daemon.socketPath,
    under: readonly string[] = [],
  ): Promise<AgentBench> {
    const bench = new AgentBench(daemon, await FakeControlPlane.start(), more, socketPath, under);
    bench.agent.launch();
    return bench;
  }

  /** The agent shares the engine's network, as it does on a machine; `words` come before its own. */
  static async startInside(
    daemon: TestEngine,
    more: readonly string[] = [],
    words: readonly string[] = [],
  ): Promise<AgentBench> {
    const { namespace, socketPath } = daemon;
    if (namespace === undefined) throw new Error('the engine has no network namespace of its own');
    const plane = await FakeControlPlane.start(namespace.hostAddress);
    const under = ['nsenter', `--net=/run/netns/${namespace.name}`, ...words];
    const bench = new AgentBench(daemon, plane, more, socketPath, under);
    bench.agent.launch();
    return bench;
  }

  /** Process ids of the node's running containers by instance; none of them twice. */
  async pids(): Promise<ReadonlyMap<string, number>> {
    const pids = new Map<string, number>();
    for (const { id } of await this.engine.list({ labels: { 'berth.io/node': 'n1' }, all: true })) {
      const { labels, pid, status } = await this.engine.inspect(id);
      const instance = labels['berth.io/instance'] ?? '';
      if (pids.has(instance)) throw new Error(`two containers for ${instance}`);
      if (status !== 'running' || pid === undefined) throw new Error(`${instance} is ${status}`);
      pids.set(instance, pid);
    }
    return pids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
    for (const { id } of await this.engine.list({ all: true })) await this.engine.remove(id, { force: true });
  }
}

export function instance(
  id: string,
  container: Partial<AssignedContainer> = {},
  more: Partial<Omit<AssignedInstance, 'wanted' | 'container'>> = {},
): Extract<AssignedInstance, { readonly wanted: 'run' }> {
  const deployment = more.deployment ?? 'web';
  return {
    id,
    deployment,
    wanted: 'run',
    specHash: 'hash1',
    secretsVersion: 0,
    attempt: 0,
    container: {
      image: TEST_IMAGE,
      environment: {},
      needsSecrets: false,
      ports: [],
      labels: {},
      mounts: [],
      alias: deployment,
      ...container,
    },
    ...more,
  };
}

export function stopped(id: string): AssignedInstance {
  const { container: _none, once: _never, ...rest } = instance(id);
  return { ...rest, wanted: 'stop' };
}
