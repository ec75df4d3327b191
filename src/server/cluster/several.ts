import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import type { CopyAges } from '../../core/contract/protocol/peer-messages.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { ScalingView } from '../../core/model/scaling.ts';
import { withoutTrailing } from '../../core/model/text-end.ts';
import type { Clock } from '../clock.ts';
import { globalKey } from '../store/keys.ts';
import { idOf } from '../store/record-ids.ts';
import { type ControlPlaneRecord, encodeRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { ReadBarrier } from '../store/read-barrier.ts';
import { Isolation } from './isolation.ts';
import { Membership } from './membership.ts';
import { OwnedStore } from './owned-store.ts';
import { Peers } from './peers.ts';
import { PeerProofs, PROOF_FORM } from './peer-proof.ts';
import { shardOf } from './shard-map.ts';
import { Shards } from './shards.ts';

type Log = (problem: string, details: Readonly<Record<string, unknown>>) => void;

export interface SeveralOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokenKey: Buffer;
  readonly leaseMs: number;
  readonly log: Log;
  readonly say: Log;
}

export interface OwnAddress {
  readonly nodeName: string;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly advertiseUrl?: string;
  readonly baseUrl?: string;
  /** PEM, when it serves TLS. */
  readonly certificate?: string;
}

const EVERY_ADDRESS = /^(?:0\.0\.0\.0|::)$/;

function urlOf({ host, port, advertiseUrl, certificate }: OwnAddress): string {
  if (advertiseUrl !== undefined) return advertiseUrl;
  const name = EVERY_ADDRESS.test(host) ? hostname() : host.includes(':') ? `[${host}]` : host;
  return `${certificate === undefined ? 'http' : 'https'}://${name}:${port}`;
}

function digestOf(certificate: string): string {
  return createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
}

function recordOf(address: OwnAddress, startedAt: string): ControlPlaneRecord {
  const { nodeName, version, baseUrl, certificate } = address;
  const url = urlOf(address);
  return {
    nodeName,
    startedAt,
    version,
    url,
    agentUrl: baseUrl === undefined ? url : withoutTrailing(baseUrl, '/'),
    ...(certificate === undefined ? {} : { certificate: digestOf(certificate) }),
    proofForm: PROOF_FORM,
  };
}

/** What makes this process one of several on the same store. */
export class Several {
  readonly id = `cp_${randomBytes(8).toString('hex')}`;
  readonly barrier: ReadBarrier;
  readonly controllersStore: OwnedStore;
  readonly peers: Peers;
  readonly proofs: PeerProofs;
  readonly #options: SeveralOptions;
  #membership: Membership | undefined;
  #isolation: Isolation | undefined;
  #shards: Shards | undefined;

  constructor(options: SeveralOptions) {
    const { store, tokenKey } = options;
    this.#options = options;
    this.barrier = new ReadBarrier(store.kv, store.view);
    this.controllersStore = new OwnedStore(store, (tenantId) => this.#shards?.guard(tenantId));
    this.peers = new Peers({ store, self: this.id, tokenKey });
    this.proofs = new PeerProofs(tokenKey, this.id, () =>
      store.listGlobal('control-planes').some(({ record }) => (record.proofForm ?? 1) < PROOF_FORM),
    );
  }

  get shards(): Shards | undefined {
    return this.#shards;
  }

  /** Whether no other process may think by now that this one has ended. */
  get certain(): boolean {
    return this.#membership?.certain === true;
  }

  /** `onIsolated`: the store is out of reach of this process alone. */
  async join(address: OwnAddress, onIsolated: () => void): Promise<void> {
    const { store, clock, leaseMs, log, say } = this.#options;
    const startedAt = clock.now().toISOString();
    const key = globalKey('control-plane-nodes', idOf('control-plane-nodes', address.nodeName));
    await store.kv.commit({
      guards: [{ key, modRevision: 0 }],
      puts: [{ key, value: encodeRecord({ since: startedAt }) }],
    });
    const membership = new Membership({
      kv: store.kv,
      id: this.id,
      record: recordOf(address, startedAt),
      leaseMs,
      clock,
      sees: (revision) => store.view.reached(revision),
      log,
    });
    await membership.join();
    this.#membership = membership;
    this.#isolation = new Isolation({
      membership,
      othersReach: () => this.peers.storeAnswersElsewhere(),
      onIsolated: () => {
        log('the store answers others and not this control plane: its agents are sent to them', {});
        onIsolated();
      },
    });
    this.#shards = new Shards({ store, membership, clock, log, say });
  }

  /** A renewed certificate (PEM) that is shown from now on: others believe what is written down. */
  async renewed(certificate: string): Promise<void> {
    await this.#membership?.describe({ certificate: digestOf(certificate) });
  }

  status(): Record<string, unknown> {
    return { ...this.#shards?.status(), refusedWrites: this.controllersStore.refused };
  }

  /** What the control plane knows of copies that the node's last session was with; undefined: it was this one, or that one is gone. */
  async copyAges(tenantId: TenantId, node: NodeName): Promise<readonly CopyAges[] | undefined> {
    const session = this.#options.store
      .forTenant(tenantId)
      .get('node-sessions', idOf('node-sessions', node))?.record;
    if (session === undefined || session.controlPlane === this.id) return undefined;
    return this.peers.ask(session.controlPlane, { kind: 'copies', tenantId, node });
  }

  /** What the owner of the tenant's shard remembers of a scaling policy. */
  async scalingView(tenantId: TenantId, deployment: string): Promise<ScalingView | undefined> {
    const owner = this.#options.store.getGlobal('shards', String(shardOf(tenantId)))?.record.owner;
    if (owner === undefined) return undefined;
    return this.peers.ask(owner, { kind: 'scaling', tenantId, deployment });
  }

  async leave(): Promise<void> {
    this.#isolation?.close();
    this.#shards?.stop();
    await this.#membership?.leave();
  }
}
