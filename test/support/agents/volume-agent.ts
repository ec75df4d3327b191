import type {
  Assignment,
  Lease,
  ServerMessage,
  VolumeObservation,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { Caller } from '../harness/control-plane.ts';
import { eventually } from '../eventually.ts';
import type { NodeFlow, TestTenant } from '../harness/node-flow.ts';
import { observedAs } from './following-agent.ts';
import { obliging } from './obliging-agent.ts';
import { type AgentIdentity, NODE_FACTS, type ScriptedAgent } from './scripted-agent.ts';

export const MIB = 2 ** 20;
/** A promotion waits for leases; a loaded machine takes its time beside that. */
export const SLOW_MS = 20_000;
export const VOLUMES = '/api/v1/dvm/volumes';

/** A scripted agent that keeps volumes: it counts its beats and says of its volumes what the test tells it to. */
export class VolumeAgent {
  readonly node: string;
  readonly identity: AgentIdentity;
  readonly agent: ScriptedAgent;
  #beat = 0;
  #timer: NodeJS.Timeout | undefined;
  generation = 1;
  volumes: readonly VolumeObservation[] = [];
  /** Whether it says of instances that they are as they are wanted. */
  obliges = false;
  #instances: Assignment['instances'] = [];
  /** What it answers when it is asked to measure; undefined: as it reports. */
  measurement: unknown;

  constructor(node: string, identity: AgentIdentity, agent: ScriptedAgent) {
    this.node = node;
    this.identity = identity;
    this.agent = agent;
    agent.socket.on('message', (data: Buffer) => this.#answer(JSON.parse(data.toString())));
  }

  #answer(message: ServerMessage): void {
    if (message.type === 'assignment' && this.obliges) {
      this.generation = message.generation;
      this.#instances = message.instances;
      this.report();
    }
    if (message.type !== 'request' || message.operation.kind !== 'volume-measure') return;
    const { streamId, operation } = message;
    const seen = this.volumes.find(({ volumeId }) => volumeId === operation.volumeId);
    const { usedBytes = 0, sizeBytes = usedBytes, epoch, shrinkable = false } = seen ?? {};
    const value = this.measurement ?? { sizeBytes, usedBytes, epoch, shrinkable };
    this.agent.send({ type: 'data', streamId, value });
    this.agent.send({ type: 'end', streamId });
  }

  /** One report; answers its beat. */
  report(): number {
    this.#beat += 1;
    const { volumes, generation } = this;
    this.agent.send({
      type: 'report',
      epoch: this.agent.epoch,
      generation,
      full: false,
      observations: observedAs(obliging, this.#instances),
      beat: this.#beat,
      volumes,
    });
    return this.#beat;
  }

  /** Reports by itself, as an agent does. */
  beatEvery(ms: number): void {
    this.#timer = setInterval(() => this.report(), ms);
  }

  async assignment(fits: (assignment: Assignment) => boolean): Promise<Assignment> {
    const assignment = await this.agent.next('assignment', fits);
    this.generation = assignment.generation;
    return assignment;
  }

  lease(beat: number): Promise<Lease> {
    return this.agent.next('lease', (lease) => lease.beat === beat);
  }

  /** Falls silent, as a machine that is gone does. */
  die(): void {
    clearInterval(this.#timer);
    this.agent.socket.terminate();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export async function volumeAgent(
  flow: NodeFlow,
  tenant: TestTenant,
  node: string,
  labels: Readonly<Record<string, string>> = NODE_FACTS.labels,
  features: readonly string[] = [],
): Promise<VolumeAgent> {
  const identity = await flow.enrolled(node, tenant, labels);
  return dialVolumeAgent(flow, tenant, identity, labels, features);
}

export async function dialVolumeAgent(
  flow: NodeFlow,
  tenant: TestTenant,
  identity: AgentIdentity,
  labels: Readonly<Record<string, string>> = NODE_FACTS.labels,
  features: readonly string[] = [],
): Promise<VolumeAgent> {
  const agent = flow.dial(identity);
  await agent.welcome({ labels, volumeEngines: ['btrfs', 'rsync'], features });
  const found = new VolumeAgent(identity.node, identity, agent);
  await eventually(
    () => tenant.call('GET', `/api/v1/nodes/${identity.node}`),
    ({ body }) => body.status === 'ready',
  );
  return found;
}

export async function createVolume(
  call: Caller,
  name: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const body = { name, class: 'replicated', type: 'volume', sizeBytes: 128 * MIB, ...more };
  const answer = await call('POST', VOLUMES, body);
  if (answer.status !== 201) throw new Error(`the volume was refused: ${JSON.stringify(answer.body)}`);
  return answer.body.id as string;
}

// A test reads what it expects; a wrong shape fails there.
// oxlint-disable-next-line typescript/no-explicit-any
export async function volumeOnce(call: Caller, id: string, fits: (body: any) => boolean): Promise<any> {
  const { body } = await eventually(
    () => call('GET', `${VOLUMES}/${id}`),
    (answer) => fits(answer.body),
    SLOW_MS,
  );
  return body;
}
