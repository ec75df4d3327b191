import type { Workload } from '../../core/model/deployment.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import { standsStill, type VolumeRecord } from '../../core/model/volume.ts';
import type { ClosedGate } from '../../core/plan/rollout/dependencies.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { TenantClusters } from './tenant-clusters.ts';

function writtenBy(spec: Pick<Workload, 'volumes'> | undefined): readonly string[] {
  return (spec?.volumes ?? []).filter((mount) => !mount.readOnly).map((mount) => mount.volumeId);
}

const NONE: readonly VolumeRecord[] = [];

function mounted(tenant: TenantStore, spec: Pick<Workload, 'volumes'> | undefined): readonly VolumeRecord[] {
  if (spec?.volumes === undefined || spec.volumes.length === 0) return NONE;
  return spec.volumes.flatMap(
    ({ volumeId }) => tenant.get('volumes', idOf('volumes', volumeId))?.record ?? [],
  );
}

/**
 * It mounts a volume whose primary is elsewhere by now: the node was fenced before that was decided, and with the mount its writers
 * and its readers ended. Or one whose primary is about to move, for which all of them have to end first.
 */
export function isFenced(
  tenant: TenantStore,
  spec: Pick<Workload, 'volumes'> | undefined,
  { nodeId }: InstanceRecord,
): boolean {
  return mounted(tenant, spec).some(
    (volume) =>
      volume.primaryNodeId !== undefined && (volume.primaryNodeId !== nodeId || standsStill(volume)),
  );
}

/** The move of its volume away from there was given up: a drain that stopped it again and again would help nobody. */
export function staysWithVolume(
  tenant: TenantStore,
  spec: Pick<Workload, 'volumes'> | undefined,
  { nodeId }: InstanceRecord,
): boolean {
  return mounted(tenant, spec).some(
    ({ primaryNodeId, switchoverFailed }) => primaryNodeId === nodeId && switchoverFailed !== undefined,
  );
}

/** While its volume moves to another node nothing new mounts it: it starts where the volume is afterwards. */
export function moveGates(
  tenant: TenantStore,
  spec: Pick<Workload, 'name' | 'volumes'>,
): readonly ClosedGate[] {
  return mounted(tenant, spec).flatMap((volume) => {
    if (!standsStill(volume)) return [];
    const message = `waiting for volume ${volume.name}, which moves to ${volume.switchover?.to ?? ''}`;
    return [{ dependency: spec.name, message }];
  });
}

/**
 * A claim moves with the spec, but the container of the deployment that gave it up writes until its agent says that it is gone:
 * until then the next writer does not start (fault INV-5).
 */
export function writerGates(
  tenant: TenantStore,
  clusters: TenantClusters,
  spec: Workload,
): readonly ClosedGate[] {
  const waiting = new Set<string>();
  for (const volumeId of writtenBy(spec)) {
    const primary = tenant.get('volumes', idOf('volumes', volumeId))?.record.primaryNodeId;
    if (primary === undefined) continue;
    for (const record of clusters.instancesOn(tenant.tenantId, primary)) {
      if (record.deployment === spec.name) continue;
      const other = tenant.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
      if (writtenBy(other).includes(volumeId)) waiting.add(record.deployment);
    }
  }
  return [...waiting].map((dependency) => ({
    dependency,
    message: `waiting for ${dependency} to stop writing to a volume that it gave up`,
  }));
}
