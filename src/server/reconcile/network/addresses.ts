import type { Workload } from '../../../core/model/deployment.ts';
import { nodeName, type TenantId } from '../../../core/model/ids.ts';
import type { NetworkPrefixes, SubnetRecord, VirtualAddressRecord } from '../../../core/model/mesh.ts';
import { isOnTenantNetwork } from '../../../core/model/network.ts';
import { type AddressPlan, planAddresses, planVirtual } from '../../../core/plan/network/addresses.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { AddressNews } from './address-news.ts';
import { KeyedState, type ReconcileRequest, Reconciler } from '../reconciler.ts';

/** Of a tenant as a whole: what is free depends on all of it, so that it is decided by one at a time. */
const ALL = 'all';
/** Records of one commit. */
const BATCH = 50;

/** What is left of the last look at a whole tenant: by it a deployment that comes or goes is decided without another one. */
interface Room {
  /** Without a node that would answer, an address is of no use. */
  readonly hasNodes: boolean;
  /** Addresses that are stored for a deployment, in use or held. */
  readonly taken: Set<string>;
  /** None before it is free. */
  from: number;
  /** Deployments that came or went since. */
  readonly names: Set<string>;
  /** The whole tenant has to be looked at again; stays so until it was. */
  isStale: boolean;
  /** When it is looked at again whatever happens. */
  wholeAtMs: number;
}

/** Gives subnets to nodes and virtual addresses to deployments, and takes them back a day after those are gone. */
export class AddressesController extends Reconciler {
  readonly #prefixes: NetworkPrefixes;
  readonly #told = new KeyedState<AddressNews>();
  readonly #rooms = new KeyedState<Room>();

  constructor(deps: ControllerDeps, prefixes: NetworkPrefixes) {
    super(deps, { name: 'addresses', problem: 'giving out addresses failed; retrying' });
    this.#prefixes = prefixes;
  }

  adopt(tenantId: TenantId): void {
    this.add(tenantId, ALL);
  }

  protected override forget(tenantId?: TenantId): void {
    this.#told.forget(tenantId);
    this.#rooms.forget(tenantId);
  }

  protected take(change: ViewChange): void {
    const { tenantId, kind } = change;
    if (tenantId === undefined) return;
    if (kind === 'nodes') {
      if (change.before?.record.mesh !== change.after?.record.mesh) this.#lookAtAll(tenantId);
    } else if (kind === 'virtual-addresses') {
      const room = this.#rooms.get(this.keyOf(tenantId, ALL));
      if (room !== undefined) noteAddress(room, change.before?.record.address, change.after?.record.address);
    } else if (kind === 'deployments' && hasAddress(change.before) !== hasAddress(change.after)) {
      if (!this.#hasNodes(tenantId)) return;
      this.#rooms.get(this.keyOf(tenantId, ALL))?.names.add(segmentsOf('deployments', change.id)[0]);
      this.add(tenantId, ALL);
    }
  }

  #lookAtAll(tenantId: TenantId): void {
    const room = this.#rooms.get(this.keyOf(tenantId, ALL));
    if (room !== undefined) room.isStale = true;
    this.add(tenantId, ALL);
  }

  /** Without a node no deployment has an address, whatever becomes of it; the first node is a change of its own. */
  #hasNodes(tenantId: TenantId): boolean {
    return this.deps.store.view.tenant(tenantId, 'nodes').size > 0;
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const tenant = this.deps.store.forTenant(request.tenantId);
    const room = this.#rooms.get(request.key);
    if (room === undefined || room.isStale || this.deps.clock.monotonicMs() >= room.wholeAtMs)
      await this.#reconcileAll(request, tenant);
    else await this.#reconcileSome(request, tenant, room);
  }

  /** A tenant may have many: only those are looked at that came or went. */
  async #reconcileSome(request: ReconcileRequest, tenant: TenantStore, room: Room): Promise<void> {
    const names = [...room.names].slice(0, BATCH);
    for (const name of names) room.names.delete(name);
    const wanted = names.filter(
      (name) => room.hasNodes && hasAddress(tenant.get('deployments', idOf('deployments', name))),
    );
    const stored = names.flatMap((name) => {
      const record = tenant.get('virtual-addresses', idOf('virtual-addresses', name))?.record;
      return record === undefined ? [] : [[name, record] as const];
    });
    const plan = planVirtual({
      prefixes: this.#prefixes,
      deployments: new Set(wanted),
      virtual: new Map(stored),
      taken: room.taken,
      from: room.from,
      nowMs: this.deps.clock.now().getTime(),
    });
    const transaction = tenant.transaction();
    for (const [name, record] of plan.virtual)
      putOrDelete(tenant, transaction, 'virtual-addresses', name, record);
    room.from = plan.next;
    takeAll(room, plan);
    if (plan.virtual.size > 0 && !(await this.#stored(request, tenant, transaction))) return;
    const nowMs = this.deps.clock.monotonicMs();
    room.wholeAtMs = Math.min(room.wholeAtMs, ...plan.rechecks.map((ms) => nowMs + ms));
    if (room.names.size > 0) this.again(request);
    else if (room.wholeAtMs < Infinity) this.again(request, Math.max(0, room.wholeAtMs - nowMs));
  }

  /** False: a record changed since it was read. Whatever was to be stored and was not, the next look is at the whole tenant. */
  async #stored(request: ReconcileRequest, tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    let isStored = false;
    try {
      isStored = await this.commit(tenant, transaction);
    } finally {
      if (!isStored) this.#lookAtAll(request.tenantId);
    }
    return isStored;
  }

  async #reconcileAll(request: ReconcileRequest, tenant: TenantStore): Promise<void> {
    const { plan, room } = this.#plan(tenant);
    this.#rooms.set(request.key, room);
    takeAll(room, plan);
    const transaction = tenant.transaction();
    let left = BATCH;
    const told = this.#told.get(request.key) ?? new AddressNews();
    const nowMs = this.deps.clock.monotonicMs();
    const { news, laterMs } = told.of(plan, nowMs);
    for (const { node, kind, message } of news)
      this.deps.journal.event(transaction, request.tenantId, {
        kind,
        subject: { kind: 'Node', name: node },
        message,
      });
    for (const kind of ['subnets', 'virtual-addresses'] as const) {
      for (const [name, record] of kind === 'subnets' ? plan.subnets : plan.virtual) {
        if (left-- <= 0) break;
        putOrDelete(tenant, transaction, kind, name, record);
      }
    }
    const writes = left < BATCH || news.length > 0;
    if (writes && !(await this.#stored(request, tenant, transaction))) return;
    told.told(news, plan, nowMs);
    this.#told.set(request.key, told);
    const waits = [plan.recheckInMs, laterMs].filter((ms) => ms !== undefined);
    if (left < 0) this.#lookAtAll(request.tenantId);
    else if (waits.length > 0) {
      room.wholeAtMs = Math.min(room.wholeAtMs, nowMs + Math.min(...waits));
      this.again(request, Math.min(...waits));
    }
  }

  #plan(tenant: TenantStore): { readonly plan: AddressPlan; readonly room: Room } {
    const subnets = tenant
      .list('subnets')
      .map(({ id, record }) => [segmentsOf('subnets', id)[0], record] as const);
    const addresses = tenant
      .list('virtual-addresses')
      .map(({ id, record }) => [segmentsOf('virtual-addresses', id)[0], record] as const);
    const nodes = tenant
      .list('nodes')
      .flatMap(({ record: { name, mesh } }) =>
        mesh === undefined ? [] : [[name, mesh.routes ?? []] as const],
      );
    const hasNodes = nodes.length > 0;
    const deployments = hasNodes ? tenant.list('deployments').filter(hasAddress) : [];
    const plan = planAddresses({
      prefixes: this.#prefixes,
      nodes: new Map(nodes),
      isBusy: (node) => this.deps.clusters.instancesOn(tenant.tenantId, nodeName(node)).length > 0,
      subnets: new Map(subnets),
      deployments: new Set(deployments.map(({ record }) => record.spec.name)),
      virtual: new Map(addresses),
      nowMs: this.deps.clock.now().getTime(),
    });
    const taken = new Set(addresses.map(([, { address }]) => address));
    return {
      plan,
      room: { hasNodes, taken, from: 1, names: new Set(), isStale: false, wholeAtMs: Infinity },
    };
  }
}

function putOrDelete(
  tenant: TenantStore,
  transaction: Transaction,
  kind: 'subnets' | 'virtual-addresses',
  name: string,
  record: SubnetRecord | VirtualAddressRecord | undefined,
): void {
  const id = idOf(kind, name);
  transaction.expect(kind, id, tenant.get(kind, id));
  if (record === undefined) transaction.delete(kind, id);
  else transaction.put(kind, id, record);
}

/** Before it is stored: the view may come to know it later than the next plan. */
function takeAll(room: Room, { virtual }: Pick<AddressPlan, 'virtual'>): void {
  for (const record of virtual.values()) if (record !== undefined) room.taken.add(record.address);
}

function noteAddress(room: Room, before: string | undefined, after: string | undefined): void {
  if (before === after) return;
  // It may be the first one that is free.
  if (before !== undefined && room.taken.delete(before)) room.from = 1;
  if (after !== undefined) room.taken.add(after);
}

function hasAddress(stored: { readonly record: { readonly spec: Workload } } | undefined): boolean {
  return stored !== undefined && isOnTenantNetwork(stored.record.spec);
}
