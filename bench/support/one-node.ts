import { totalmem } from 'node:os';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import { keepEgress } from '../../test/support/egress-traces.ts';
import { startAgent } from '../../test/support/harness/agent-process.ts';
import { startEngine } from '../../test/support/harness/engine.ts';
import { pushImage, startRegistry } from '../../test/support/harness/registry.ts';
import { type ServerOptions, type ServerProcess, startServerProcess } from './server-process.ts';

export const COMMAND = ['sleep', '3600'];
const DEADLINE_MS = 180_000;
/** As every container of Berth has them: a group of the kernel with a bound for memory takes longer to make. */
const BOUNDS = { memoryBytes: Math.floor(totalmem() * 0.9), cpuWeight: 100 };

/** One real engine, a control plane and its agent, an image that all of them know. */
export interface OneNode {
  /** With which its control plane, killed, is started again. */
  readonly serverOptions: ServerOptions;
  readonly image: string;
  readonly socketPath: string;
  readonly engine: DockerEngine;
  readonly server: ServerProcess;
  readonly agentPid: number;
  /** Create and start through the engine alone, on a network and with bounds as Berth's containers have them. */
  runRaw(name: string): Promise<void>;
  removeRaw(): Promise<void>;
  running(deployment: string): Promise<number>;
  /** Until the engine holds no container. */
  emptied(): Promise<void>;
  stop(): Promise<void>;
}

export async function until(check: () => Promise<boolean>, what: string, everyMs: number): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

export function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0;
}

export async function startOneNode(options: ServerOptions = {}): Promise<OneNode> {
  const clearEgress = keepEgress();
  const daemon = await startEngine({ largeNetworks: true });
  const registry = await startRegistry({ address: daemon.namespace?.hostAddress ?? '127.0.0.1' });
  const { reference: image } = await pushImage(registry, 'bench/box:1');
  const engine = new DockerEngine(daemon.socketPath);
  // Before anything is measured.
  await engine.pull(image);
  await engine.ensureNetwork({ name: 'bench', driver: 'bridge', internal: false, labels: {} });
  const serverOptions = {
    args: ['--node-name', 'control-plane'],
    environment: { BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${registry.host}` },
    ...options,
  };
  const server = await startServerProcess(serverOptions);
  const join = (await server.call('POST', '/api/v1/join-tokens', {})).body as { token: string };
  const agent = await startAgent({
    server: server.url,
    name: 'bench-1',
    socketPath: daemon.socketPath,
    joinToken: join.token,
    // It would outlive the agent, on the machine's own network.
    environment: { BERTH_AGENT_MESH: 'off' },
  });
  return {
    serverOptions: { ...serverOptions, listen: new URL(server.url).host },
    image,
    socketPath: daemon.socketPath,
    engine,
    server,
    agentPid: agent.pid,
    runRaw: async (name) => {
      const id = await engine.createContainer({
        name,
        image,
        command: COMMAND,
        env: [],
        labels: {},
        ownLabels: { bench: 'raw' },
        network: { name: 'bench', aliases: [name] },
        restart: { name: 'unless-stopped' },
        mounts: [],
        ports: [],
        ...BOUNDS,
      });
      await engine.start(id);
    },
    removeRaw: async () => {
      for (const { id } of await engine.list({ labels: { bench: 'raw' }, all: true }))
        await engine.remove(id, { force: true });
    },
    running: async (deployment) => {
      const { body } = await server.call('GET', `/api/v1/deployments/${deployment}`);
      return (body as { status: { running: number } }).status.running;
    },
    emptied: () => until(async () => (await engine.list({ all: true })).length === 0, 'the removal', 50),
    stop: async () => {
      await agent.dispose();
      await server.stop();
      await daemon.stop();
      await registry.stop();
      clearEgress();
    },
  };
}
