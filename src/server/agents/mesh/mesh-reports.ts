import type { Logger } from 'pino';
import { triedText } from '../../../core/contract/mesh-standing.ts';
import type { MeshPeer } from '../../../core/model/mesh.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { Clock } from '../../clock.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';

/** Round trips and bytes change all the time: they are stored this often. */
const STORED_MS = 60_000;

interface MeshReportsOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The only writer of the ways between nodes. Every report lists all of them; what fails to be stored comes with the next. */
export class MeshReports {
  readonly #options: MeshReportsOptions;
  readonly #storing = new Set<string>();
  readonly #reported = new Map<string, readonly MeshPeer[]>();
  readonly #storedMs = new Map<string, number>();

  constructor(options: MeshReportsOptions) {
    this.#options = options;
  }

  /** Peers of the nodes that are connected here, by the way to them. */
  get paths(): Readonly<Record<'direct' | 'relay' | 'silent', number>> {
    const counted = { direct: 0, relay: 0, silent: 0 };
    for (const peers of this.#reported.values())
      for (const { carries, path } of peers) counted[!carries || path === 'none' ? 'silent' : path] += 1;
    return counted;
  }

  forget({ key }: AgentSession): void {
    this.#reported.delete(key);
    this.#storedMs.delete(key);
  }

  take(session: AgentSession, { mesh }: Report): void {
    if (mesh !== undefined) this.#reported.set(session.key, mesh);
    if (mesh === undefined || this.#storing.has(session.key)) return;
    this.#storing.add(session.key);
    this.#store(session, mesh)
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'paths of the mesh could not be stored'),
      )
      .finally(() => this.#storing.delete(session.key));
  }

  async #store(session: AgentSession, reported: readonly MeshPeer[]): Promise<void> {
    const { store, clock, events } = this.#options;
    const { tenantId, node } = session.identity;
    const tenant = store.forTenant(tenantId);
    // A node speaks of nodes of its tenant and of nothing else.
    const meshOf = (name: string) => tenant.get('nodes', idOf('nodes', name))?.record.mesh;
    const spoken = reported.filter((peer) => meshOf(peer.node) !== undefined);
    const id = idOf('mesh-paths', node);
    const known = tenant.get('mesh-paths', id)?.record.peers ?? [];
    // An agent that has just started says nothing of those that it has not heard yet: what was known holds until it does.
    const unsaid = known.filter((one) => spoken.every((peer) => peer.node !== one.node));
    const peers = [...spoken, ...unsaid.filter((one) => meshOf(one.node) !== undefined)];
    const changed = spoken.filter(
      (peer) => stateOf(peer) !== stateOf(known.find((one) => one.node === peer.node)),
    );
    const nowMs = clock.monotonicMs();
    const isDue = nowMs - (this.#storedMs.get(session.key) ?? -Infinity) >= STORED_MS;
    if (!isDue && (changed.length === 0 || !events.take(`${session.key}/mesh`))) return;
    const transaction = expectSession(tenant, session.identity, tenant.transaction());
    if (transaction === undefined) return;
    transaction.put('mesh-paths', id, { peers, seenAt: clock.now().toISOString() });
    for (const peer of changed) this.#publish(session, transaction, peer, meshOf(peer.node)?.addresses ?? []);
    await tenant.commit(transaction);
    this.#storedMs.set(session.key, nowMs);
  }

  /** A silent fall-back would only be noticed by its slowness. */
  #publish(
    { identity: { tenantId, node } }: AgentSession,
    transaction: Transaction,
    peer: MeshPeer,
    addresses: readonly string[],
  ): void {
    const { kind, message } = newsOf(node, peer, addresses);
    this.#options.journal.event(transaction, tenantId, {
      kind,
      subject: { kind: 'Node', name: node },
      message,
      details: {
        peer: peer.node,
        path: peer.path,
        ...(peer.address !== undefined && { address: peer.address }),
      },
    });
  }
}

function stateOf(peer: MeshPeer | undefined): string | undefined {
  return peer === undefined ? undefined : peer.carries ? peer.path : 'silent';
}

function newsOf(
  node: string,
  { node: peer, path, carries, address }: MeshPeer,
  addresses: readonly string[],
) {
  const tried = triedText(addresses);
  if (!carries)
    return {
      kind: 'node.mesh_silent',
      message: `${node} does not reach ${peer} over the tenant's network: neither its addresses${tried} nor the relay answer; open UDP between them or look at the agent of ${peer}`,
    };
  if (path === 'relay')
    return {
      kind: 'node.mesh_relayed',
      message: `${node} reaches ${peer} through the relay of the control plane, which is slower: no address of ${peer} answers${tried}; open its UDP ports, or name another address with --advertise-address`,
    };
  return {
    kind: 'node.mesh_direct',
    message: `${node} reaches ${peer} directly at ${address ?? 'its address'}`,
  };
}
