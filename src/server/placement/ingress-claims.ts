import type { Workload } from '../../core/model/deployment.ts';
import { ingressKey, servedIngress } from '../../core/model/ingress.ts';
import type { DeploymentName, OwnerName } from '../../core/model/owner.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

type Reachable = Pick<Workload, 'ingress'> | undefined;

function keysOf(spec: Reachable): ReadonlySet<string> {
  return new Set(spec === undefined ? [] : servedIngress(spec).map(ingressKey));
}

/**
 * Adds the hosts and ports of a spec to the transaction that stores it, and releases those of the spec it replaces. Guarded by the
 * claims as they were read: of two writers, on whichever control planes, one is decided again and finds the other.
 */
export function claimIngress(
  tenant: TenantStore,
  deployment: DeploymentName,
  specs: { readonly before: Reachable; readonly after: Reachable },
  transaction: Transaction,
): void {
  if (specs.before?.ingress === undefined && specs.after?.ingress === undefined) return;
  const after = keysOf(specs.after);
  for (const key of new Set([...keysOf(specs.before), ...after])) {
    const id = idOf('ingress-claims', key);
    const stored = tenant.get('ingress-claims', id);
    const isHeld = stored?.record.deployment === deployment;
    if (after.has(key) === isHeld) continue;
    // What somebody else has by now is not this one's to release.
    if (!after.has(key) && stored === undefined) continue;
    transaction.expect('ingress-claims', id, stored);
    if (after.has(key)) transaction.put('ingress-claims', id, { deployment });
    else transaction.delete('ingress-claims', id);
  }
}

/** Another deployment that has it. */
export function ingressHolder(tenant: TenantStore, key: string, self: OwnerName): string | undefined {
  const holder = tenant.get('ingress-claims', idOf('ingress-claims', key))?.record.deployment;
  return holder === self ? undefined : holder;
}
