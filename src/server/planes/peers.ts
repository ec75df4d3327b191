import type { IncomingMessage } from 'node:http';
import type { ServerMessage, StreamEnd, StreamOperation } from '../../core/contract/agent-protocol.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { OtherControlPlanes } from '../dispatch/dispatch.ts';
import type { AgedUsage } from '../dispatch/reports.ts';
import { AgentStream, sizeOf, type StreamItem } from '../dispatch/streams.ts';
import { joinId } from '../store/keys.ts';
import type { ControlPlaneRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { askPeer } from './peer-dial.ts';
import { prove } from './peer-proof.ts';

export const PEER_STREAM_PATH = '/internal/v1/streams';
export const PEER_USAGE_PATH = '/internal/v1/usage';
/** Measurements that come later are of no use: they are asked for again with the next look. */
const USAGE_MS = 5000;

/** What one control plane asks of another. */
export interface PeerStreamRequest {
  readonly tenantId: TenantId;
  readonly node: string;
  readonly operation: StreamOperation;
}

export interface PeerUsageRequest {
  readonly tenantId: TenantId;
  readonly nodes: readonly string[];
}

/** A line of the answer. */
export type PeerStreamLine =
  | { readonly item: StreamItem }
  | { readonly end: Omit<StreamEnd, 'type' | 'streamId'> };

export interface PeersOptions {
  readonly store: Store;
  readonly self: string;
  readonly tokenKey: Buffer;
}

interface Peer {
  readonly id: string;
  readonly record: ControlPlaneRecord;
}

/** Agents that are connected to other control planes of the store, reached through those. */
export class Peers implements OtherControlPlanes {
  readonly self: string;
  readonly #store: Store;
  readonly #tokenKey: Buffer;

  constructor({ store, self, tokenKey }: PeersOptions) {
    this.#store = store;
    this.self = self;
    this.#tokenKey = tokenKey;
  }

  connected(tenantId: TenantId, node: string): boolean {
    return this.#peerOf(tenantId, node) !== undefined;
  }

  addresses(): readonly string[] {
    const planes = this.#store.listGlobal('control-planes');
    const own = planes.filter(({ id }) => id === this.self);
    const others = planes.filter(({ id }) => id !== this.self);
    return [...new Set([...own, ...others].map(({ record }) => record.agentUrl))];
  }

  stream(tenantId: TenantId, node: string, operation: StreamOperation): AgentStream | undefined {
    const peer = this.#peerOf(tenantId, node);
    if (peer === undefined) return undefined;
    const forwarded = new ForwardedStream();
    void forwarded.run((signal) => {
      const body = JSON.stringify({ tenantId, node, operation } satisfies PeerStreamRequest);
      const proof = prove(this.#tokenKey, peer.id, body);
      return askPeer(peer.record, { path: PEER_STREAM_PATH, proof, body, signal });
    });
    forwarded.stream.begin(operation);
    return forwarded.stream;
  }

  async usage(tenantId: TenantId, nodes: readonly string[]): Promise<readonly AgedUsage[]> {
    const asked = new Map<string, { readonly peer: Peer; readonly nodes: string[] }>();
    for (const node of nodes) {
      const peer = this.#peerOf(tenantId, node);
      if (peer === undefined) continue;
      const known = asked.get(peer.id);
      if (known === undefined) asked.set(peer.id, { peer, nodes: [node] });
      else known.nodes.push(node);
    }
    const answers = await Promise.allSettled(
      [...asked.values()].map((one) => this.#usageOf(one.peer, { tenantId, nodes: one.nodes })),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  }

  async #usageOf(peer: Peer, asked: PeerUsageRequest): Promise<readonly AgedUsage[]> {
    const body = JSON.stringify(asked);
    const proof = prove(this.#tokenKey, peer.id, body);
    const signal = AbortSignal.timeout(USAGE_MS);
    const answer = await askPeer(peer.record, { path: PEER_USAGE_PATH, proof, body, signal });
    let text = '';
    for await (const piece of answer.setEncoding('utf8')) text += String(piece);
    return answer.statusCode === 200 ? (JSON.parse(text) as readonly AgedUsage[]) : [];
  }

  #peerOf(tenantId: TenantId, node: string): Peer | undefined {
    const session = this.#store.forTenant(tenantId).get('node-sessions', joinId(node))?.record;
    if (session === undefined || session.closed !== undefined || session.controlPlane === this.self)
      return undefined;
    const record = this.#store.getGlobal('control-planes', session.controlPlane)?.record;
    return record && { id: session.controlPlane, record };
  }
}

/** Reads on only as far as its reader gave credit, so a slow reader holds the other control plane and its agent back. */
class ForwardedStream {
  readonly stream: AgentStream;
  readonly #departure = new AbortController();
  #credit = 0;
  #wake: () => void = () => undefined;

  constructor() {
    this.stream = new AgentStream(
      'forwarded',
      (message) => this.#told(message),
      () => this.#departure.abort(),
    );
  }

  #told(message: ServerMessage): boolean {
    if (message.type === 'credit') {
      this.#credit += message.bytes;
      this.#wake();
    }
    return true;
  }

  async run(ask: (signal: AbortSignal) => ReturnType<typeof askPeer>): Promise<void> {
    const { signal } = this.#departure;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    try {
      const answer = await ask(signal);
      if (answer.statusCode !== 200) throw new Error('the agent is not connected to it any more');
      for await (const line of linesOf(answer)) {
        await this.#room(signal);
        if (signal.aborted) return;
        this.#take(line);
      }
      throw new Error('the connection ended');
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.stream.finish({
        error: { reason: 'agent_unreachable', message: `through its control plane: ${text}` },
      });
    }
  }

  #take(line: string): void {
    const told = JSON.parse(line) as PeerStreamLine;
    if ('end' in told) {
      this.stream.finish(told.end);
      return;
    }
    this.#credit -= sizeOf(told.item);
    this.stream.take(told.item);
  }

  async #room(signal: AbortSignal): Promise<void> {
    while (this.#credit <= 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of answer.setEncoding('utf8')) {
    const lines = (rest + String(piece)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
