import type { TenantId } from '../../../core/model/ids.ts';
import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import { isOfDeployment, type OwnerName } from '../../../core/model/owner.ts';
import type { MeshMap } from '../../../core/protocol/agent-protocol.ts';
import { meshChange, meshMessages } from '../../../core/protocol/mesh-change.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { AgentSession } from '../sessions/session.ts';
import type { AcmeSettings } from '../ingress/ingress-map.ts';
import { meshMap, meshService } from './mesh-map.ts';

export interface MeshMapsOptions {
  readonly store: Store;
  readonly prefixes: NetworkPrefixes;
  /** Absent: Caddy's own choice. */
  readonly acme?: AcmeSettings;
  readonly session: (tenantId: TenantId, node: string) => AgentSession | undefined;
}

/** Many containers that become healthy together are one message. */
const COALESCE_MS = 100;
/** A larger change is told as a whole map, in several messages. */
const MAX_CHANGE_BYTES = 2 ** 20;
/** What they change is everything, who may take connections of all services, or the ways in. */
const WIDE: ReadonlySet<string> = new Set([
  'nodes',
  'node-liveness',
  'subnets',
  'deployments',
  'canaries',
  'virtual-addresses',
  'credentials',
]);
const NARROW: ReadonlySet<string> = new Set(['instances', 'observations']);

interface Due {
  readonly timer: NodeJS.Timeout;
  /** The whole map has to be read again. */
  wide: boolean;
  readonly services: Set<OwnerName>;
}

/**
 * Keeps every connected agent told of its tenant's network: the whole of it when a session opens, then what changes. Read and
 * written down once for all nodes of a tenant, and only as far as it changed.
 */
export class MeshMaps {
  readonly #options: MeshMapsOptions;
  readonly #due = new Map<TenantId, Due>();
  /** What all sessions of the tenant were last told. */
  readonly #told = new Map<TenantId, MeshMap>();
  /** Sessions that have the whole map. */
  readonly #began = new WeakSet<AgentSession>();
  readonly #unsubscribe: () => void;

  constructor(options: MeshMapsOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.view.onChange((change) => {
      this.#begin(change);
      this.#onChange(change);
    });
  }

  #onChange({ tenantId, kind, id }: ViewChange): void {
    if (tenantId === undefined || !this.#told.has(tenantId)) return;
    const isWide = WIDE.has(kind);
    if (!isWide && !NARROW.has(kind)) return;
    const due = this.#due.get(tenantId) ?? this.#schedule(tenantId);
    if (isWide) due.wide = true;
    else due.services.add(segmentsOf('instances', id)[0]);
  }

  #schedule(tenantId: TenantId): Due {
    const timer = setTimeout(() => {
      this.#due.delete(tenantId);
      this.#update(tenantId, due);
    }, COALESCE_MS).unref();
    const due: Due = { timer, wide: false, services: new Set() };
    this.#due.set(tenantId, due);
    return due;
  }

  /** What is due comes as a change to the others and to this one alike. */
  opened(session: AgentSession): void {
    const { tenantId, node } = session.identity;
    const record = this.#options.store.forTenant(tenantId).get('nodes', idOf('nodes', node))?.record;
    if (record?.mesh === undefined) return;
    const map = this.#told.get(tenantId) ?? this.#read(tenantId);
    this.#told.set(tenantId, map);
    this.#began.add(session);
    sendAll([session], meshMessages(map));
  }

  /** A node may take part later than its session began. */
  #begin({ tenantId, kind, after }: ViewChange): void {
    if (kind !== 'nodes' || after === undefined || !('mesh' in after.record)) return;
    const session = tenantId && this.#options.session(tenantId, after.record.name);
    if (session !== undefined && !this.#began.has(session)) this.opened(session);
  }

  #read(tenantId: TenantId): MeshMap {
    const { store, prefixes, acme } = this.#options;
    return meshMap(store.forTenant(tenantId), prefixes, acme, this.#told.get(tenantId));
  }

  #connected(tenantId: TenantId): readonly AgentSession[] {
    const { store, session } = this.#options;
    return store
      .forTenant(tenantId)
      .list('nodes')
      .flatMap(({ record: { name } }) => session(tenantId, name) ?? [])
      .filter((one) => this.#began.has(one));
  }

  #update(tenantId: TenantId, due: Due): void {
    const told = this.#told.get(tenantId);
    const sessions = this.#connected(tenantId);
    if (told === undefined || sessions.length === 0) {
      this.#told.delete(tenantId);
      return;
    }
    const map = due.wide ? this.#read(tenantId) : this.#patched(tenantId, told, due.services);
    const change = meshChange(told, map);
    if (change === undefined) return;
    this.#told.set(tenantId, map);
    const text = change === 'whole' ? undefined : JSON.stringify(change);
    if (text === undefined || text.length > MAX_CHANGE_BYTES) sendAll(sessions, meshMessages(map));
    else for (const session of sessions) session.sendText(text);
  }

  #patched(tenantId: TenantId, told: MeshMap, names: ReadonlySet<OwnerName>): MeshMap {
    const tenant = this.#options.store.forTenant(tenantId);
    // A deployment comes and goes with the whole map, a job with its containers.
    const fresh = [...names].filter(
      (name) => !isOfDeployment(name) || told.services.some((one) => one.name === name),
    );
    const before = (name: OwnerName) => told.services.find((one) => one.name === name);
    const services = [
      ...told.services.filter(({ name }) => !names.has(name)),
      ...fresh.flatMap((name) => meshService(tenant, name, before(name)) ?? []),
    ];
    return { ...told, services };
  }

  close(): void {
    this.#unsubscribe();
    for (const { timer } of this.#due.values()) clearTimeout(timer);
  }
}

function sendAll(sessions: readonly AgentSession[], messages: readonly object[]): void {
  for (const message of messages) {
    const text = JSON.stringify(message);
    for (const session of sessions) session.sendText(text);
  }
}
