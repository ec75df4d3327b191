/**
 * A control plane with short leases, and scripted agents that keep volumes: for tests in which a primary is lost.
 *
 *     const stage = await PromotionStage.start();
 *     const one = await stage.node(tenant, 'berlin-1');
 *     one.volumes = [primary(id, 1, [live('berlin-2')])];
 */
import type { VolumeObservation } from '../../../src/core/protocol/agent-protocol.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { eventually } from '../eventually.ts';
import { NodeFlow, type TestTenant } from './node-flow.ts';
import {
  createVolume,
  MIB,
  SLOW_MS,
  type VolumeAgent,
  volumeAgent,
  volumeOnce,
} from '../agents/volume-agent.ts';

/** Long enough for a loaded machine, short enough to wait for; instances of a silent node would only be replaced after a minute. */
export const SPAN_MS = 2000;
export const BEAT_MS = 200;
export const FENCED_MS = SPAN_MS + Math.ceil(SPAN_MS / 3);

interface Event {
  readonly kind: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function primary(
  volumeId: string,
  epoch: number,
  copies: VolumeObservation['copies'] = [],
): VolumeObservation {
  return { volumeId, role: 'primary', epoch, state: 'ready', usedBytes: MIB, copies };
}

export function replica(volumeId: string, epoch: number, sequence: number): VolumeObservation {
  const copy = { epoch, sequence, takenAt: '2026-01-01T00:00:00.000Z' };
  return { volumeId, role: 'replica', epoch, state: 'ready', copy };
}

export class PromotionStage {
  readonly plane: ControlPlane;
  readonly flow: NodeFlow;
  readonly #agents: VolumeAgent[] = [];

  private constructor(plane: ControlPlane) {
    this.plane = plane;
    this.flow = new NodeFlow(plane);
  }

  static async start(
    settings: Readonly<Record<string, string>> = {},
    flags: readonly string[] = [],
  ): Promise<PromotionStage> {
    return new PromotionStage(
      await startControlPlane(flags, {
        BERTH_AGENTS_SESSIONS_PER_SECOND: '500',
        BERTH_TIMERS_HEARTBEAT: `${BEAT_MS}ms`,
        BERTH_TIMERS_FAILED_AFTER: `${SPAN_MS}ms`,
        BERTH_TIMERS_START_GRACE: '10ms',
        BERTH_DVM_LEASE: `${SPAN_MS}ms`,
        ...settings,
      }),
    );
  }

  keep(agent: VolumeAgent): void {
    this.#agents.push(agent);
  }

  async node(
    tenant: TestTenant,
    name: string,
    labels?: Readonly<Record<string, string>>,
    features?: readonly string[],
  ): Promise<VolumeAgent> {
    const agent = await volumeAgent(this.flow, tenant, name, labels, features);
    this.keep(agent);
    agent.beatEvery(BEAT_MS);
    return agent;
  }

  /** A volume whose primary is on the first, with a live copy on each of the others. */
  async volume(
    tenant: TestTenant,
    name: string,
    [first, ...others]: readonly VolumeAgent[],
  ): Promise<string> {
    if (first === undefined) throw new Error('a volume is on a node');
    const id = await createVolume(tenant.call, name, { nodeId: first.node });
    first.volumes = [...first.volumes, primary(id, 1)];
    await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    for (const other of others) await this.copy(tenant, id, first, other);
    return id;
  }

  /** A further copy, until it is live. */
  async copy(tenant: TestTenant, id: string, first: VolumeAgent, other: VolumeAgent): Promise<void> {
    const path = `/api/v1/tenants/${tenant.id}/volumes/${id}/replicas`;
    const { status, body } = await tenant.call('POST', path, { node_id: other.node });
    if (status !== 201) throw new Error(`the copy was refused: ${JSON.stringify(body)}`);
    const copy = { nodeId: other.node, state: 'live', sequence: 1, ageMs: 0 } as const;
    first.volumes = first.volumes.map((seen) =>
      seen.volumeId === id ? { ...seen, copies: [...(seen.copies ?? []), copy] } : seen,
    );
    other.volumes = [...other.volumes, replica(id, 1, 1)];
    await volumeOnce(tenant.call, id, ({ replicas }) =>
      replicas.some(
        (one: { nodeId: string; state: string }) => one.nodeId === other.node && one.state === 'live',
      ),
    );
  }

  async event({ call }: TestTenant, subject: string, kind: string): Promise<Event> {
    const read = async (): Promise<readonly Event[]> =>
      (await call('GET', `/api/v1/events?subject=${subject}`)).body;
    const events = await eventually(read, (found) => found.some((event) => event.kind === kind), SLOW_MS);
    const found = events.find((event) => event.kind === kind);
    if (found === undefined) throw new Error(kind);
    return found;
  }

  async close(): Promise<void> {
    for (const agent of this.#agents) agent.stop();
    this.flow.close();
    await this.plane.close();
  }
}
