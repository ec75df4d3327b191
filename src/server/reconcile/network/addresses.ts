import type { Workload } from '../../../core/model/deployment.ts';
import { nodeName, type TenantId } from '../../../core/model/ids.ts';
import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import { isOnTenantNetwork } from '../../../core/model/network.ts';
import { type AddressPlan, planAddresses } from '../../../core/plan/network/addresses.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { AddressNews } from './address-news.ts';
import { KeyedState, type ReconcileRequest, Reconciler } from '../reconciler.ts';

/** Of a tenant as a whole: what is free depends on all of it. */
const ALL = 'all';
/** Records of one commit. */
const BATCH = 50;

/** Gives subnets to nodes and virtual addresses to deployments, and takes them back a day after those are gone. */
export class AddressesController extends Reconciler {
  readonly #prefixes: NetworkPrefixes;
  readonly #told = new KeyedState<AddressNews>();

  constructor(deps: ControllerDeps, prefixes: NetworkPrefixes) {
    super(deps, { name: 'addresses', problem: 'giving out addresses failed; retrying' });
    this.#prefixes = prefixes;
  }

  adopt(tenantId: TenantId): void {
    this.add(tenantId, ALL);
  }

  protected override forget(tenantId?: TenantId): void {
    this.#told.forget(tenantId);
  }

  protected take(change: ViewChange): void {
    const { tenantId, kind } = change;
    if (tenantId === undefined) return;
    const concerns =
      kind === 'nodes'
        ? change.before?.record.mesh !== change.after?.record.mesh
        : kind === 'deployments' &&
          hasAddress(change.before) !== hasAddress(change.after) &&
          this.#hasNodes(tenantId);
    if (concerns) this.add(tenantId, ALL);
  }

  /** Without a node no deployment has an address, whatever becomes of it; the first node is a change of its own. */
  #hasNodes(tenantId: TenantId): boolean {
    return this.deps.store.view.tenant(tenantId, 'nodes').size > 0;
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const tenant = this.deps.store.forTenant(request.tenantId);
    const plan = this.#plan(tenant);
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
        const id = idOf(kind, name);
        transaction.expect(kind, id, tenant.get(kind, id));
        if (record === undefined) transaction.delete(kind, id);
        else transaction.put(kind, id, record);
      }
    }
    const writes = left < BATCH || news.length > 0;
    if (writes && !(await this.commit(tenant, transaction))) {
      this.again(request);
      return;
    }
    told.told(news, plan, nowMs);
    this.#told.set(request.key, told);
    const waits = [plan.recheckInMs, laterMs].filter((ms) => ms !== undefined);
    if (left < 0) this.again(request);
    else if (waits.length > 0) this.again(request, Math.min(...waits));
  }

  #plan(tenant: TenantStore): AddressPlan {
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
    // Without a node that would answer, an address is of no use.
    const deployments = nodes.length === 0 ? [] : tenant.list('deployments').filter(hasAddress);
    return planAddresses({
      prefixes: this.#prefixes,
      nodes: new Map(nodes),
      isBusy: (node) => this.deps.clusters.instancesOn(tenant.tenantId, nodeName(node)).length > 0,
      subnets: new Map(subnets),
      deployments: new Set(deployments.map(({ record }) => record.spec.name)),
      virtual: new Map(addresses),
      nowMs: this.deps.clock.now().getTime(),
    });
  }
}

function hasAddress(stored: { readonly record: { readonly spec: Workload } } | undefined): boolean {
  return stored !== undefined && isOnTenantNetwork(stored.record.spec);
}
