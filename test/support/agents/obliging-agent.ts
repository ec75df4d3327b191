import type {
  AssignedInstance,
  AssignedVolume,
  Assignment,
  Report,
  ServerMessage,
  StreamRequest,
  VolumeObservation,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import { type NodeFlow, type TestTenant } from '../harness/node-flow.ts';
import { FollowingAgent, running } from './following-agent.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

const BEAT_MS = 1000;

/** What an agent is to say of an instance instead of "it runs and is healthy". */
export type Verdict = (instance: AssignedInstance) => Partial<InstanceObservation> | undefined;

export interface ObligingOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly judge?: Verdict;
  /** It keeps volumes, each filled to this share; absent: it keeps none. */
  readonly volumesFilled?: number;
  /** Lines that every instance prints. */
  readonly logLines?: readonly string[];
  /** More of what it reports, as it is then: of the mesh, of the ingress. */
  readonly reports?: () => Partial<Report>;
  /** More of what it says of itself when it connects. */
  readonly said?: Parameters<ScriptedAgent['welcome']>[0];
}

/** It runs; with a health check it is healthy. */
export function obliging(instance: AssignedInstance): InstanceObservation {
  return {
    ...running(instance),
    ...(instance.container?.healthCheck === undefined ? {} : { health: 'healthy' }),
    containerName: instance.deployment,
    containerId: instance.id.padEnd(64, '0'),
    startedAt: new Date().toISOString(),
  };
}

function printed(line: string, timestamps: boolean): string {
  return `${timestamps ? `${new Date().toISOString()} ` : ''}${line}\n`;
}

/** An agent without an engine: whatever it is told to run, it says that it runs, at once. */
export class ObligingAgent extends FollowingAgent {
  readonly #options: ObligingOptions;
  /** By stream; whether the time stands before a line. */
  readonly #following = new Map<string, boolean>();
  #volumes: readonly AssignedVolume[] = [];
  #networks: readonly { readonly name: string }[] = [];
  #beats = 0;

  constructor(agent: ScriptedAgent, options: ObligingOptions) {
    super();
    this.#options = options;
    this.follow(agent, BEAT_MS);
  }

  protected override onAssignment({ volumes = [], networks = [] }: Assignment): void {
    this.#volumes = volumes;
    this.#networks = networks;
  }

  protected override onMessage(message: ServerMessage): void {
    if (message.type === 'request') this.#answer(message);
    else if (message.type === 'cancel') this.#following.delete(message.streamId);
  }

  protected override observed(one: AssignedInstance): InstanceObservation {
    return { ...obliging(one), ...this.#options.judge?.(one) };
  }

  protected override measured(): Partial<Report> {
    const usage = this.assigned
      .filter(({ wanted }) => wanted === 'run')
      .map(({ id }, at) => ({
        instanceId: id,
        cpuPercent: 12 + 8 * Math.sin(Date.now() / 4000 + at),
        memoryBytes: (90 + 10 * at) * 2 ** 20,
      }));
    return {
      usage,
      beat: (this.#beats += 1),
      volumes: this.#volumes.filter(({ role }) => role !== 'gone').map((volume) => this.#kept(volume)),
      networks: this.#networks.map(({ name }) => ({ name, state: 'ready' })),
      ...this.#options.reports?.(),
    };
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
    return this.assigned.flatMap(({ deployment: own, container }) =>
      own === deployment && container !== undefined ? [container.image] : [],
    );
  }

  #containers(): readonly unknown[] {
    return this.assigned.map(({ id, deployment, container }) => ({
      id: id.padEnd(64, '0'),
      name: deployment,
      image: container?.image ?? '',
      status: 'running',
      labels: { 'berth.io/instance': id },
      createdAt: new Date().toISOString(),
    }));
  }

  #answer({ streamId, operation }: StreamRequest): void {
    if (operation.kind === 'logs') {
      const { timestamps = false } = operation;
      const lines = this.#options.logLines ?? [];
      this.send({ type: 'data', streamId, text: lines.map((line) => printed(line, timestamps)).join('') });
      if (operation.follow) {
        this.#following.set(streamId, timestamps);
        return;
      }
    }
    if (operation.kind === 'volume-measure') {
      const volume = this.#volumes.find(({ id }) => id === operation.volumeId);
      const seen = volume && this.#kept(volume);
      if (seen !== undefined) {
        const { sizeBytes, usedBytes, epoch } = seen;
        this.send({ type: 'data', streamId, value: { sizeBytes, usedBytes, epoch, shrinkable: true } });
      }
    }
    if (operation.kind === 'containers') this.send({ type: 'data', streamId, value: this.#containers() });
    this.send({ type: 'end', streamId });
  }

  /** One more line of everything that is followed; returns how many that is. */
  print(line: string): number {
    for (const [streamId, timestamps] of this.#following)
      this.send({ type: 'data', streamId, text: printed(line, timestamps) });
    return this.#following.size;
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
