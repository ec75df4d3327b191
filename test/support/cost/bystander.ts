import { LeaseLink } from '../../../src/agent/volumes/lease-link.ts';
import type { LeaseRepeat, ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import type { Caller } from '../harness/control-plane.ts';
import { NodeFlow } from '../harness/node-flow.ts';
import { PlaneProcess, type Tenant } from '../harness/plane-process.ts';
import { primary, replica } from '../harness/promotion-stage.ts';
import { Pace } from './pace.ts';
import { StolenTime } from './stolen-time.ts';
import { createVolume, type VolumeAgent, volumeAgent, VOLUMES, volumeOnce } from '../agents/volume-agent.ts';

/** Every 20 ms something, whether or not what came before was answered: who waits would measure too little. */
const EVERY_MS = 20;
const TURNS_PER_SECOND = 1000 / EVERY_MS;
const TURNS_PER_MINUTE = 60_000 / EVERY_MS;
/** Written in turn: nobody writes the same record again before the last write was answered. */
const RECORDS = 20;
const LEASE_ASKED_MS = 1_000;
const HEARTBEAT_MS = 5_000;

export interface Quantiles {
  readonly count: number;
  /** Others, in whose time the host ran other machines: how long they took is not judged. */
  readonly away: number;
  /** How much slower than usual the machine was meanwhile. */
  readonly slowness: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  readonly failed: readonly string[];
}

interface Sample {
  readonly ms: number;
  readonly away: boolean;
}

function quantiles(samples: readonly Sample[], pace: Pace, failed: readonly string[]): Quantiles {
  const sorted = samples
    .filter(({ away }) => !away)
    .map(({ ms }) => ms)
    .toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN);
  return {
    count: sorted.length,
    away: samples.length - sorted.length,
    slowness: pace.slowness,
    p50: at(0.5),
    p99: at(0.99),
    most: at(1),
    failed: failed.slice(0, 10),
  };
}

/**
 * A tenant that does nothing wrong: it reads and writes, and its node holds the lease of a volume with a copy, as an agent does: in its
 * session, and from the thread that repeats leases.
 */
export class Bystander {
  readonly #call: Caller;
  readonly #nodes: readonly VolumeAgent[];
  readonly #volume: string;
  readonly #link: LeaseLink;
  #leasedMs = performance.now();
  #longestMs = 0;
  #leases = 0;

  private constructor(call: Caller, nodes: readonly VolumeAgent[], volume: string, repeat: LeaseRepeat) {
    this.#call = call;
    this.#nodes = nodes;
    this.#volume = volume;
    this.#link = new LeaseLink({
      host: '127.0.0.1',
      repeat,
      everyMs: LEASE_ASKED_MS,
      onLease: () => this.#leased(),
    });
    nodes[0]?.agent.socket.on('message', (data: Buffer) => {
      if ((JSON.parse(data.toString()) as ServerMessage).type === 'lease') this.#leased();
      if (nodes[0] !== undefined) nodes[0].agent.received.length = 0;
    });
  }

  static async start(plane: PlaneProcess): Promise<Bystander> {
    const tenant: Tenant = await plane.tenant('shop');
    const { call } = tenant;
    const flow = new NodeFlow(plane);
    const one = await volumeAgent(flow, tenant, 'shop-1');
    const two = await volumeAgent(flow, tenant, 'shop-2');
    const volume = await createVolume(call, 'data', { nodeId: 'shop-1', replicas: 1 });
    await one.assignment(({ volumes }) => volumes?.[0]?.copiesTo?.length === 1);
    await two.assignment(({ volumes }) => volumes?.[0]?.id === volume);
    one.volumes = [primary(volume, 1, [{ nodeId: 'shop-2', state: 'live', sequence: 5, ageMs: 100 }])];
    two.volumes = [replica(volume, 1, 5)];
    for (const node of [one, two]) {
      node.obliges = true;
      node.report();
      node.beatEvery(HEARTBEAT_MS);
    }
    await volumeOnce(call, volume, ({ phase }) => phase === 'Ready');
    const deployed = (_: unknown, at: number) =>
      call('POST', '/api/v1/deployments', {
        name: `web-${at}`,
        image: 'localhost:5000/shop/web:1.0.0',
        nodeId: 'shop-1',
      });
    await Promise.all(Array.from({ length: RECORDS }, deployed));
    const { repeat } = await one.lease(one.report());
    if (repeat === undefined) throw new Error('leases are not repeated anywhere');
    return new Bystander(call, [one, two], volume, repeat);
  }

  #leased(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#leasedMs);
    this.#leasedMs = now;
    this.#leases += 1;
  }

  /** How often a lease came, and the longest time without one, the present included; what came before this moment counts no more. */
  watchLease(): () => { readonly leases: number; readonly gapMs: number } {
    const before = this.#leases;
    this.#longestMs = 0;
    return () => ({
      leases: this.#leases - before,
      gapMs: Math.round(Math.max(this.#longestMs, performance.now() - this.#leasedMs)),
    });
  }

  #next(turn: number): Promise<{ readonly status: number; readonly body: unknown }> {
    const at = Math.floor(turn / 5) % RECORDS;
    switch (turn % 5) {
      case 0:
        return this.#call('GET', '/api/v1/deployments');
      case 1:
        return this.#call('PUT', `/api/v1/secrets/resources/web-${at}`, { values: { turn: String(turn) } });
      case 2:
        return this.#call('GET', '/api/v1/events?limit=20');
      case 3:
        return this.#call('PUT', `/api/v1/deployments/web-${at}`, { labels: { turn: String(turn) } });
      default:
        return this.#call('GET', `${VOLUMES}/${this.#volume}`);
    }
  }

  /** Reads and writes for so long, and for `longer` when that does not settle it; `everyMinute` is told how the last one was. */
  async live(
    ms: number,
    everyMinute: (minute: Quantiles) => void = () => {},
    longer?: { readonly ms: number; readonly unless: (soFar: Quantiles) => boolean },
  ): Promise<Quantiles> {
    let forMs = ms;
    const samples: Sample[] = [];
    const stolen = new StolenTime();
    const pace = new Pace();
    let told = 0;
    const failed: string[] = [];
    const under = new Set<Promise<void>>();
    const begun = performance.now();
    for (let turn = 0; ; turn += 1) {
      const dueMs = begun + turn * EVERY_MS;
      if (dueMs > begun + forMs) {
        if (longer === undefined || forMs >= longer.ms || longer.unless(quantiles(samples, pace, failed)))
          break;
        forMs = longer.ms;
      }
      if (turn > 0 && turn % TURNS_PER_MINUTE === 0) {
        everyMinute(quantiles(samples.slice(told), pace, failed));
        told = samples.length;
      }
      if (turn % TURNS_PER_SECOND === 0) pace.take();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      const fromMs = performance.now();
      const one = this.#next(turn)
        .then(({ status, body }) => {
          samples.push({ ms: performance.now() - fromMs, away: stolen.since(fromMs) });
          if (status >= 400) failed.push(`${status} ${JSON.stringify(body)}`);
        })
        .catch((error: unknown) => void failed.push(String(error)))
        .finally(() => under.delete(one));
      under.add(one);
    }
    await Promise.all(under);
    stolen.end();
    return quantiles(samples, pace, failed);
  }

  /** What became of its volume. */
  async volume(): Promise<{ readonly epoch: number; readonly phase: string }> {
    const { body } = await this.#call('GET', `${VOLUMES}/${this.#volume}`);
    return { epoch: body.epoch as number, phase: body.phase as string };
  }

  /** Whether its node is still in the session in which it began. */
  get connected(): boolean {
    return this.#nodes.every(({ agent: { socket } }) => socket.readyState === socket.OPEN);
  }

  close(): void {
    this.#link.end();
    for (const node of this.#nodes) {
      node.stop();
      node.agent.close();
    }
  }
}
