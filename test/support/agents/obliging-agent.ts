import type {
  AgentMessage,
  AssignedVolume,
  Assignment,
  StreamRequest,
  VolumeObservation,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import { type NodeFlow, type TestTenant } from '../harness/node-flow.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

type AssignedInstance = Assignment['instances'][number];

/** What an agent is to say of an instance instead of "it runs and is healthy". */
export type Verdict = (instance: AssignedInstance) => Partial<InstanceObservation> | undefined;

export interface ObligingOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly judge?: Verdict;
  /** It keeps volumes, each filled to this share; absent: it keeps none. */
  readonly volumesFilled?: number;
  /** Lines that every instance prints. */
  readonly logLines?: readonly string[];
  /** More of what it says of itself when it connects. */
  readonly said?: Parameters<ScriptedAgent['welcome']>[0];
}

function observationOf(instance: AssignedInstance, judge: Verdict | undefined): InstanceObservation {
  const { id, specHash, secretsVersion, deployment } = instance;
  const seen: InstanceObservation = {
    id: id as InstanceObservation['id'],
    phase: 'running',
    ...(instance.container?.healthCheck === undefined ? {} : { health: 'healthy' }),
    specHash,
    secretsVersion,
    containerName: deployment,
    containerId: id.padEnd(64, '0'),
    startedAt: new Date().toISOString(),
  };
  return { ...seen, ...judge?.(instance) };
}

/** What is to run runs, what is to stop is gone. */
export function obligingObservations(
  instances: readonly AssignedInstance[],
  judge?: Verdict,
): readonly InstanceObservation[] {
  return instances.map((instance) =>
    instance.wanted === 'stop'
      ? { id: instance.id as InstanceObservation['id'], phase: 'removed' }
      : observationOf(instance, judge),
  );
}

/** An agent without an engine: whatever it is told to run, it says that it runs, at once. */
export class ObligingAgent {
  readonly #agent: ScriptedAgent;
  readonly #options: ObligingOptions;
  readonly #following = new Set<string>();
  #generation = 0;
  #instances: readonly AssignedInstance[] = [];
  #volumes: readonly AssignedVolume[] = [];
  #networks: readonly { readonly name: string }[] = [];
  #beats = 0;
  #beat: ReturnType<typeof setInterval>;

  constructor(agent: ScriptedAgent, options: ObligingOptions) {
    this.#agent = agent;
    this.#options = options;
    agent.socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as never));
    for (const message of agent.received) this.#take(message as never);
    this.#beat = setInterval(() => this.report(), 1000);
    agent.socket.once('close', () => clearInterval(this.#beat));
  }

  #take(message: Assignment | StreamRequest | { readonly type: 'cancel'; readonly streamId: string }): void {
    if (message.type === 'assignment') {
      this.#generation = message.generation;
      this.#instances = message.instances;
      this.#volumes = message.volumes ?? [];
      this.#networks = message.networks ?? [];
      this.report();
    } else if (message.type === 'request') this.#answer(message);
    else if (message.type === 'cancel') this.#following.delete(message.streamId);
  }

  report(): void {
    const observations = obligingObservations(this.#instances, this.#options.judge);
    const usage = this.#instances
      .filter(({ wanted }) => wanted === 'run')
      .map(({ id }, at) => ({
        instanceId: id,
        cpuPercent: 12 + 8 * Math.sin(Date.now() / 4000 + at),
        memoryBytes: (90 + 10 * at) * 2 ** 20,
      }));
    this.#send({
      type: 'report',
      epoch: this.#agent.epoch,
      generation: this.#generation,
      full: true,
      observations,
      usage,
      beat: (this.#beats += 1),
      volumes: this.#volumes.filter(({ role }) => role !== 'gone').map((volume) => this.#kept(volume)),
      networks: this.#networks.map(({ name }) => ({ name, state: 'ready' })),
    });
  }

  #kept({ id, role, epoch, sizeBytes, copiesTo = [] }: AssignedVolume): VolumeObservation {
    const seen = { volumeId: id, epoch, state: 'ready', sizeBytes } as const;
    if (role !== 'primary') {
      const copy = { epoch, sequence: 3, takenAt: new Date().toISOString() };
      return { ...seen, role: 'replica', copy };
    }
    const copies = copiesTo.map((nodeId) => ({ nodeId, state: 'live', sequence: 3, ageMs: 900 }) as const);
    const usedBytes = Math.round(sizeBytes * (this.#options.volumesFilled ?? 0));
    return { ...seen, role, usedBytes, copies, shrinkable: true };
  }

  /** What it is told to run the instances of a deployment from. */
  images(deployment: string): readonly string[] {
    return this.#instances.flatMap(({ deployment: own, container }) =>
      own === deployment && container !== undefined ? [container.image] : [],
    );
  }

  #containers(): readonly unknown[] {
    return this.#instances.map(({ id, deployment, container }) => ({
      id: id.padEnd(64, '0'),
      name: deployment,
      image: container?.image ?? '',
      status: 'running',
      labels: { 'berth.io/instance': id },
      createdAt: new Date().toISOString(),
    }));
  }

  #send(message: AgentMessage): void {
    if (this.#agent.socket.readyState === this.#agent.socket.OPEN) this.#agent.send(message);
  }

  #answer({ streamId, operation }: StreamRequest): void {
    if (operation.kind === 'logs') {
      const lines = this.#options.logLines ?? [];
      this.#send({ type: 'data', streamId, text: lines.map((line) => `${line}\n`).join('') });
      if (operation.follow) {
        this.#following.add(streamId);
        return;
      }
    }
    if (operation.kind === 'volume-measure') {
      const volume = this.#volumes.find(({ id }) => id === operation.volumeId);
      const seen = volume && this.#kept(volume);
      if (seen !== undefined) {
        const { sizeBytes, usedBytes, epoch } = seen;
        this.#send({ type: 'data', streamId, value: { sizeBytes, usedBytes, epoch, shrinkable: true } });
      }
    }
    if (operation.kind === 'containers') this.#send({ type: 'data', streamId, value: this.#containers() });
    this.#send({ type: 'end', streamId });
  }

  /** One more line of everything that is followed. */
  print(line: string): void {
    for (const streamId of this.#following) this.#send({ type: 'data', streamId, text: `${line}\n` });
  }
}

export async function obligingAgent(
  flow: NodeFlow,
  name: string,
  tenant: TestTenant,
  options: ObligingOptions = {},
): Promise<ObligingAgent> {
  const labels = options.labels ?? {};
  const { agent } = await flow.connected(name, tenant, labels, {
    ...(options.volumesFilled === undefined ? {} : { volumeEngines: ['rsync'] }),
    ...options.said,
  });
  return new ObligingAgent(agent, options);
}
