import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../core/model/values.ts';
import type { ServerMessage, StreamOperation } from '../../core/protocol/agent-protocol.ts';
import {
  type HistoryParts,
  type HistoryQuestion,
  type PeerAnswer,
  type PeerQuestion,
  type PeerStreamRequest,
  peerAnswers,
  peerStreamLine,
  type SystemQuestion,
} from '../../core/protocol/peer-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { OtherControlPlanes } from '../agents/dispatch.ts';
import type { AgedUsage } from '../runtime/measurements.ts';
import { AgentStream, sizeOf } from '../agents/streams/streams.ts';
import { idOf } from '../store/record-ids.ts';
import type { ControlPlaneRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { askPeer } from './peer-dial.ts';
import { proxyUpgrade } from './proxy-upgrade.ts';
import { shardOf } from './shard-map.ts';
import type { SystemStream } from './peer-endpoint.ts';
import { prove } from './peer-proof.ts';
import { PEER_METHOD, PEER_QUESTION_PATH, PEER_STREAM_PATH, PEER_SYSTEM_PATH } from './peer-protocol.ts';

const QUESTION_MS = 3000;
/** No chart is kept waiting longer. */
const HISTORY_MS = 1000;

const readLine = frameReader(peerStreamLine);

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
  /** By control plane: what ends when it is gone. */
  readonly #through = new Map<string, Set<() => void>>();

  constructor({ store, self, tokenKey }: PeersOptions) {
    this.#store = store;
    this.self = self;
    this.#tokenKey = tokenKey;
    // A machine that is lost, or a process that is stopped, closes no connection: its loss would go unnoticed.
    store.view.onChange(({ tenantId, kind, id, after }) => {
      if (tenantId !== undefined || kind !== 'control-planes' || after !== undefined) return;
      for (const end of this.#through.get(id) ?? []) end();
    });
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
    const body = JSON.stringify({ tenantId, node, operation } satisfies PeerStreamRequest);
    const without = this.#whileThere(peer.id, () => forwarded.fail('it is gone'));
    void forwarded
      .run((signal) => this.#send(peer, { path: PEER_STREAM_PATH, body, signal }))
      .finally(without);
    forwarded.stream.begin(operation);
    return forwarded.stream;
  }

  /** The process that decides for the tenant: the same for all. */
  hubOf(tenantId: TenantId): string | undefined {
    const owner = this.#store.getGlobal('shards', String(shardOf(tenantId)))?.record.owner;
    return owner === this.self ? undefined : owner;
  }

  proxyUpgrade(controlPlane: string, request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const record = this.#store.getGlobal('control-planes', controlPlane)?.record;
    if (record === undefined) return false;
    socket.once(
      'close',
      this.#whileThere(controlPlane, () => socket.destroy()),
    );
    void proxyUpgrade(request, socket, head, record);
    return true;
  }

  /** One question to each control plane that has some of the nodes. */
  async usage(
    tenantId: TenantId,
    nodes: readonly string[],
    withinMs?: number,
  ): Promise<readonly AgedUsage[]> {
    const byPeer = Map.groupBy(nodes, (node) => this.#peerOf(tenantId, node)?.id);
    const answers = await Promise.all(
      [...byPeer].map(async ([id, some]) =>
        id === undefined ? undefined : this.ask(id, { kind: 'usage', tenantId, nodes: some }, withinMs),
      ),
    );
    return answers.flatMap((answer) => answer ?? []);
  }

  /** Undefined: the peer is unreachable or gone, or its answer cannot be decoded. */
  async ask<Kind extends PeerQuestion['kind']>(
    id: string,
    question: Extract<PeerQuestion, { readonly kind: Kind }>,
    withinMs = QUESTION_MS,
  ): Promise<PeerAnswer<Kind> | undefined> {
    const record = this.#store.getGlobal('control-planes', id)?.record;
    if (record === undefined) return undefined;
    const body = JSON.stringify(question);
    try {
      const signal = AbortSignal.timeout(withinMs);
      const answer = await this.#send({ id, record }, { path: PEER_QUESTION_PATH, body, signal });
      if (answer.statusCode !== 200) return undefined;
      let text = '';
      for await (const piece of answer.setEncoding('utf8')) text += String(piece);
      return frameReader(peerAnswers[question.kind])(text);
    } catch {
      return undefined;
    }
  }

  /** The stream of another control plane, as it comes; a text: why there is none. It ends there when it is left here. */
  async system(id: string, question: SystemQuestion): Promise<SystemStream | string> {
    const record = this.#store.getGlobal('control-planes', id)?.record;
    if (record === undefined) return 'it is gone';
    const gone = new AbortController();
    const body = JSON.stringify(question);
    try {
      const late = setTimeout(() => gone.abort(new Error('it does not answer')), QUESTION_MS);
      const answer = await this.#send({ id, record }, { path: PEER_SYSTEM_PATH, body, signal: gone.signal });
      clearTimeout(late);
      if (answer.statusCode === 404) return 'it is of an older release, which cannot do this';
      if (answer.statusCode !== 200) {
        let why = '';
        for await (const piece of answer.setEncoding('utf8')) why += String(piece);
        return why;
      }
      return async (sink) => {
        const leave = (): void => gone.abort();
        sink.signal.addEventListener('abort', leave, { once: true });
        if (sink.signal.aborted) leave();
        const without = this.#whileThere(id, leave);
        try {
          for await (const piece of answer) if (!sink.write(piece)) await sink.drained();
        } catch {
          // Its reader is told by the end that came too early.
        } finally {
          without();
          leave();
        }
      };
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Whether the store answers any of the others. */
  async storeAnswersElsewhere(): Promise<boolean> {
    const answers = await Promise.all(this.#others().map((id) => this.ask(id, { kind: 'store' })));
    return answers.includes(true);
  }

  async history(question: HistoryQuestion): Promise<HistoryParts> {
    const answers = await Promise.all(
      this.#others().map((id) => this.ask(id, { kind: 'history', ...question }, HISTORY_MS)),
    );
    const parts = answers.filter((answer) => answer !== undefined);
    return { parts, isPartial: parts.length < answers.length };
  }

  #others(): readonly string[] {
    return this.#store
      .listGlobal('control-planes')
      .map(({ id }) => id)
      .filter((id) => id !== this.self);
  }

  async #send(
    { id, record }: Peer,
    { path, body, signal }: { readonly path: string; readonly body: string; readonly signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const receiver = { id, form: record.proofForm };
    const proof = prove(this.#tokenKey, receiver, { method: PEER_METHOD, path, body });
    return askPeer(record, { path, proof, body, signal });
  }

  /** Returns an unsubscribe function. */
  #whileThere(id: string, end: () => void): () => void {
    const ends = this.#through.get(id) ?? new Set();
    this.#through.set(id, ends.add(end));
    return () => {
      ends.delete(end);
      if (ends.size === 0 && this.#through.get(id) === ends) this.#through.delete(id);
    };
  }

  #peerOf(tenantId: TenantId, node: string): Peer | undefined {
    const session = this.#store.forTenant(tenantId).get('node-sessions', idOf('node-sessions', node))?.record;
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
      (message) => this.#receive(message),
      () => this.#departure.abort(),
    );
  }

  #receive(message: ServerMessage): boolean {
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
      this.fail(messageOf(error));
    }
  }

  fail(why: string): void {
    this.stream.finish({
      error: { reason: 'agent_unreachable', message: `through its control plane: ${why}` },
    });
  }

  #take(line: string): void {
    const received = readLine(line);
    if (received === undefined) throw new Error('a line of the stream cannot be decoded');
    const { item, end } = received;
    if (end !== undefined) this.stream.finish(end);
    if (item === undefined) return;
    this.#credit -= sizeOf(item);
    this.stream.take(item);
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
