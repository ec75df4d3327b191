import type { VolumeRecord } from '../../../src/core/model/volume.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { ViewChange } from '../../../src/server/store/view.ts';
import { admitted } from './law-settled.ts';
import type { PlaneTenant } from './plane.ts';
import type { World } from './world.ts';

function keepers({ primaryNodeId, replicas }: VolumeRecord): readonly string[] {
  return [...(primaryNodeId === undefined ? [] : [primaryNodeId]), ...replicas.map(({ nodeId }) => nodeId)];
}

/**
 * A copy goes because its volume was asked to have fewer, because its node is in trouble, or because whoever writes to it may not have it
 * there; never because of what somebody else wrote.
 */
export function judgeCopies(world: World, { tenantId, kind, before, after }: ViewChange): void {
  if (kind !== 'volumes' || before === undefined || after === undefined) return;
  const was = before.record;
  const is = after.record;
  const tenant = world.plane.tenants.find(({ id }) => id === tenantId);
  if (tenant === undefined || is.phase === 'Deleting' || world.alteredVolumes.has(is.id)) return;
  // What goes once there are enough others is not lost.
  if (is.replicas.filter(({ state }) => state === 'live').length >= was.copies) return;
  const kept = new Set(keepers(is));
  for (const node of keepers(was).filter((name) => !kept.has(name))) {
    if (isTroubled(world, tenant, node)) continue;
    world.laws.expect(
      'copies',
      !admits(world, tenant, is, node),
      () => `${tenant.slug}: the copy of ${is.name} on ${node} is given up: ${JSON.stringify(is)}`,
    );
  }
}

function isTroubled(world: World, tenant: PlaneTenant, node: string): boolean {
  const machine = world.machines.byName.get(node);
  const record = world.plane.store.forTenant(tenant.id).get('nodes', idOf('nodes', node))?.record;
  return machine?.online !== true || record?.schedulable !== true || world.troubledNodes.has(node);
}

/** As far as its writer is concerned. */
function admits(world: World, tenant: PlaneTenant, { id }: VolumeRecord, node: string): boolean {
  const store = world.plane.store.forTenant(tenant.id);
  const writer = store.get('volume-claims', idOf('volume-claims', id))?.record.writer;
  const spec = writer === undefined ? undefined : world.deployment(tenant, writer)?.spec;
  return admitted(
    store.get('nodes', idOf('nodes', node))?.record.labels ?? {},
    spec?.placement?.residency ?? {},
  );
}
