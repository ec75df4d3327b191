import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type {
  CopyAges,
  HistoryParts,
  HistoryQuestion,
  SystemQuestion,
} from '../../core/protocol/peer-messages.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { ScalingView } from '../../core/model/scaling.ts';
import type { Clock } from '../clock.ts';
import type { AgedUsage } from '../runtime/measurements.ts';
import { globalKey } from '../store/keys.ts';
import { ReadBarrier } from '../store/read-barrier.ts';
import { idOf } from '../store/record-ids.ts';
import { encodeRecord } from '../store/records.ts';
import type { StoreFormat } from '../store/format.ts';
import { OLDEST_FORMAT } from '../store/migrations.ts';
import type { Store } from '../store/store.ts';
import type { Cluster, ForControllers, Gauge, JoinListener, OwnAddress, OwnAnswers } from './cluster.ts';
import { Isolation } from './isolation.ts';
import { Membership } from './membership.ts';
import { certificateDigest, ownRecord } from './own-record.ts';
import { OwnedStore } from './owned-store.ts';
import { PeerEndpoint, type PeerEndpointOptions, type SystemStream } from './peer-endpoint.ts';
import { PeerProofs, PROOF_FORM } from './peer-proof.ts';
import { PEER_QUESTION_PATH, PEER_STREAM_PATH, PEER_SYSTEM_PATH } from './peer-protocol.ts';
import { Peers } from './peers.ts';
import { runningControlPlanes } from './running.ts';
import { shardOf } from './shard-map.ts';
import { type ShardListener, Shards } from './shards.ts';
import { SoleMember } from './sole-member.ts';
import { agreeOnRootKey, agreeOnTokenKey, hasRootKey } from './shared-keys.ts';

type Log = (problem: string, details: Readonly<Record<string, unknown>>) => void;

export interface ClusteredOptions {
  readonly store: Store;
  readonly format: StoreFormat;
  readonly clock: Clock;
  readonly tokenKey: Buffer;
  /** Where the keys are, for the operator who has to make them equal. */
  readonly tokenKeyFile: string;
  readonly rootKeyPlace: string;
  readonly leaseMs: number;
  readonly log: Log;
  readonly say: Log;
}

/** One of several control planes on the same store. */
export class Clustered implements Cluster {
  readonly id = `cp_${randomBytes(8).toString('hex')}`;
  readonly repeatsLeases = false;
  readonly paths = [PEER_STREAM_PATH, PEER_QUESTION_PATH, PEER_SYSTEM_PATH];
  readonly forControllers: ForControllers;
  readonly forDispatch: { readonly others: Peers };
  readonly forApi: Required<Cluster['forApi']>;
  readonly gauges: readonly Gauge[];
  readonly #options: ClusteredOptions;
  readonly #barrier: ReadBarrier;
  readonly #owned: OwnedStore;
  readonly #peers: Peers;
  readonly #proofs: PeerProofs;
  #membership: Membership | undefined;
  #isolation: Isolation | undefined;
  #shards: Shards | undefined;

  constructor(options: ClusteredOptions) {
    const { store, tokenKey } = options;
    this.#options = options;
    this.#barrier = new ReadBarrier(store.kv, store.view);
    this.#owned = new OwnedStore(store, (tenantId) => this.#shards?.guard(tenantId));
    this.#peers = new Peers({ store, self: this.id, tokenKey });
    this.#proofs = new PeerProofs(tokenKey, this.id, () =>
      store.listGlobal('control-planes').some(({ record }) => (record.proofForm ?? 1) < PROOF_FORM),
    );
    this.forControllers = {
      store: this.#owned,
      owns: (tenantId) => this.#owns(tenantId),
      shardGuard: (tenantId) => this.#shards?.guard(tenantId),
      controlPlane: this.id,
      certain: () => this.#membership?.certain === true,
      agesElsewhere: (tenantId, node) => this.#copyAges(tenantId, node),
    };
    this.forDispatch = { others: this.#peers };
    const sole = new SoleMember(store, this.id, this.#barrier, () => options.clock.monotonicMs());
    this.forApi = { fresh: () => this.#barrier.pass(), sole: () => sole.guard() };
    this.gauges = [
      {
        name: 'berth_shards_held',
        help: 'Shards of tenants that this process decides for.',
        read: () => this.#shards?.count ?? 0,
      },
      {
        name: 'berth_shard_writes_refused_total',
        type: 'counter',
        help: 'Writes of controllers that the store refused because their shard had moved.',
        read: () => this.#owned.refused,
      },
    ];
  }

  #owns(tenantId: TenantId): boolean {
    return this.#shards?.owns(tenantId) === true;
  }

  opened(): Promise<void> {
    const { store, tokenKey, tokenKeyFile } = this.#options;
    return agreeOnTokenKey(store.kv, tokenKey, tokenKeyFile);
  }

  storeLineage(): undefined {
    return undefined;
  }

  async caughtUp(): Promise<void> {
    if (!(await this.#barrier.pass())) throw new Error('the store does not answer');
  }

  async mayMakeRootKey(): Promise<boolean> {
    return !(await hasRootKey(this.#options.store.kv));
  }

  agreeOnRootKey(ids: readonly string[]): Promise<void> {
    const { store, rootKeyPlace } = this.#options;
    return agreeOnRootKey(store.kv, ids, rootKeyPlace);
  }

  async join(address: OwnAddress, { onIsolated, onLeaseLost, onRefused }: JoinListener): Promise<void> {
    const { store, format, clock, leaseMs, log, say } = this.#options;
    const startedAt = clock.now().toISOString();
    const node = idOf('control-plane-nodes', address.nodeName);
    const key = globalKey('control-plane-nodes', node);
    // Nobody removes one: what the view has is not written again.
    if (store.getGlobal('control-plane-nodes', node) === undefined)
      await store.kv.commit({
        guards: [{ key, modRevision: 0 }],
        puts: [{ key, value: encodeRecord({ since: startedAt }) }],
      });
    const membership = new Membership({
      kv: store.kv,
      id: this.id,
      record: ownRecord(address, startedAt, format.newest),
      format,
      leaseMs,
      clock,
      sees: (revision) => store.view.reached(revision),
      onLost: onLeaseLost,
      onRefused,
      log,
    });
    await membership.join();
    this.#membership = membership;
    this.#isolation = new Isolation({
      membership,
      othersReach: () => this.#peers.storeAnswersElsewhere(),
      onIsolated: () => {
        log('the store answers others and not this control plane: its agents are sent to them', {});
        onIsolated();
      },
    });
    this.#shards = new Shards({ store, membership, clock, log, say });
  }

  raiseFormat(): Promise<boolean> {
    const { store, format } = this.#options;
    return format.raise(store.kv, async () => {
      const running = await runningControlPlanes(store.kv);
      return running.map(({ record }) => ({ format: record.format ?? OLDEST_FORMAT }));
    });
  }

  start(listener: ShardListener): void {
    this.#shards?.start(listener);
  }

  async leave(): Promise<void> {
    this.#isolation?.close();
    this.#shards?.stop();
    await this.#membership?.leave();
  }

  endpoints(options: Omit<PeerEndpointOptions, 'proofs' | 'storeAnswers'>) {
    const endpoint = new PeerEndpoint({
      ...options,
      proofs: this.#proofs,
      storeAnswers: async () => (await this.#options.store.kv.status()).connected,
    });
    return {
      [PEER_STREAM_PATH]: (...asked: Parameters<PeerEndpoint['stream']>) => endpoint.stream(...asked),
      [PEER_SYSTEM_PATH]: (...asked: Parameters<PeerEndpoint['system']>) => endpoint.system(...asked),
      [PEER_QUESTION_PATH]: (...asked: Parameters<PeerEndpoint['question']>) => endpoint.question(...asked),
    };
  }

  /** A token may have been given out by another control plane a moment ago. */
  admit(socket: Duplex, proceed: () => void): void {
    socket.on('error', () => socket.destroy());
    void this.#barrier.pass().then(proceed);
  }

  usage(...asked: Parameters<Cluster['usage']>): Promise<readonly AgedUsage[]> {
    return this.#peers.usage(...asked);
  }

  async scalingView(
    own: OwnAnswers,
    tenantId: TenantId,
    deployment: string,
  ): Promise<ScalingView | undefined> {
    if (this.#owns(tenantId)) return own.scalingView(tenantId, deployment);
    const owner = this.#options.store.getGlobal('shards', String(shardOf(tenantId)))?.record.owner;
    if (owner === undefined) return undefined;
    return this.#peers.ask(owner, { kind: 'scaling', tenantId, deployment });
  }

  history(question: HistoryQuestion): Promise<HistoryParts> {
    return this.#peers.history(question);
  }

  /** What the control plane knows of copies that the node's last session was with; undefined: it was this one, or that one is gone. */
  async #copyAges(tenantId: TenantId, node: NodeName): Promise<readonly CopyAges[] | undefined> {
    const id = idOf('node-sessions', node);
    const session = this.#options.store.forTenant(tenantId).get('node-sessions', id)?.record;
    if (session === undefined || session.controlPlane === this.id) return undefined;
    return this.#peers.ask(session.controlPlane, { kind: 'copies', tenantId, node });
  }

  askSystem(member: string, question: SystemQuestion): Promise<SystemStream | string> {
    return this.#peers.system(member, question);
  }

  /** Others believe what is written down. */
  async renewed(certificate: string): Promise<void> {
    await this.#membership?.describe({ certificate: certificateDigest(certificate) });
  }

  status(): Record<string, unknown> {
    return { shards: { ...this.#shards?.status(), refusedWrites: this.#owned.refused } };
  }
}
