import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { TenantId } from '../../../core/model/ids.ts';
import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import { MAX_FRAME_BYTES } from '../../../core/protocol/agent-protocol.ts';
import type { Store } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { AgentSession } from '../sessions/session.ts';
import { meshMap } from './mesh-map.ts';

export interface MeshMapsOptions {
  readonly store: Store;
  readonly prefixes: NetworkPrefixes;
  readonly session: (tenantId: TenantId, node: string) => AgentSession | undefined;
  readonly log: Logger;
}

/** Many containers that become healthy together are one message. */
const COALESCE_MS = 100;
const KINDS: ReadonlySet<string> = new Set([
  'nodes',
  'node-liveness',
  'subnets',
  'virtual-addresses',
  'deployments',
  'instances',
  'observations',
]);

/** Keeps every connected agent told of its tenant's network. Written down once for all nodes of a tenant. */
export class MeshMaps {
  readonly #options: MeshMapsOptions;
  readonly #due = new Map<TenantId, NodeJS.Timeout>();
  /** Of what was last sent in a session. */
  readonly #sent = new WeakMap<AgentSession, string>();
  readonly #unsubscribe: () => void;

  constructor(options: MeshMapsOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.view.onChange((change) => this.#onChange(change));
  }

  #onChange({ tenantId, kind }: ViewChange): void {
    if (tenantId === undefined || !KINDS.has(kind) || this.#due.has(tenantId)) return;
    this.#due.set(
      tenantId,
      setTimeout(() => {
        this.#due.delete(tenantId);
        this.#push(tenantId, this.#connected(tenantId));
      }, COALESCE_MS).unref(),
    );
  }

  opened(session: AgentSession): void {
    if (session.identity.meshes === true) this.#push(session.identity.tenantId, [session]);
  }

  #connected(tenantId: TenantId): readonly AgentSession[] {
    const { store, session } = this.#options;
    return store
      .forTenant(tenantId)
      .list('nodes')
      .flatMap(({ record: { name } }) => session(tenantId, name) ?? [])
      .filter(({ identity }) => identity.meshes === true);
  }

  #push(tenantId: TenantId, sessions: readonly AgentSession[]): void {
    if (sessions.length === 0) return;
    const { store, prefixes, log } = this.#options;
    const text = JSON.stringify(meshMap(store.forTenant(tenantId), prefixes));
    if (Buffer.byteLength(text) > MAX_FRAME_BYTES) {
      log.error({ tenantId }, 'the map of the network is larger than a frame');
      return;
    }
    const digest = hash('sha256', text);
    for (const session of sessions) {
      if (this.#sent.get(session) === digest) continue;
      this.#sent.set(session, digest);
      session.sendText(text);
    }
  }

  close(): void {
    this.#unsubscribe();
    for (const timer of this.#due.values()) clearTimeout(timer);
  }
}
