import type { VolumeClass, VolumePhase, VolumeType } from '../../../core/model/volume.ts';
import { useRecord, useRecords } from '../../app/use-records.ts';
import type { Event, Node } from '../../lib/records.ts';

export interface VolumeCopy {
  readonly nodeId: string;
  readonly state: 'syncing' | 'live' | 'failed';
  readonly lagSeconds: number | null;
  /** It was the primary until this epoch and may hold bytes of its own. */
  readonly formerEpoch?: number;
  /** Why it cannot take over, although it is kept. */
  readonly misplaced?: string;
}

export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly class: VolumeClass;
  readonly type: VolumeType;
  readonly phase: VolumePhase;
  readonly message?: string;
  readonly sizeBytes: number;
  readonly usedBytes: number | null;
  readonly measuredAt: string | null;
  readonly primaryNodeId: string | null;
  readonly wantedReplicas: number;
  readonly replicas: readonly VolumeCopy[];
  readonly accessMode: string;
  readonly hostPath?: string;
  readonly epoch: number;
  readonly createdAt: string;
  readonly consumers: readonly {
    readonly deployment?: string;
    readonly job?: string;
    readonly readOnly: boolean;
  }[];
}

const VOLUMES = '/api/v1/dvm/volumes';
/** How far copies are behind moves without events. */
const MEASURED_MS = 5000;

export function volumePath(id: string): string {
  return `${VOLUMES}/${encodeURIComponent(id)}`;
}

export function copiesPath(tenant: string, id: string): string {
  return `/api/v1/tenants/${tenant}/volumes/${encodeURIComponent(id)}/replicas`;
}

export function useVolumes() {
  return useRecords<Volume>('volumes', VOLUMES, { everyMs: MEASURED_MS });
}

export function useVolume(id: string) {
  return useRecord<Volume>('volumes', volumePath(id), { everyMs: MEASURED_MS });
}

export function useVolumeEvents(id: string) {
  return useRecord<readonly Event[]>(
    'events',
    `/api/v1/events?limit=1000&subject=${encodeURIComponent(`Volume/${id}`)}`,
  );
}

/** Nodes that a volume or a copy may be put on. */
export function useNodeNames(): readonly string[] {
  const { data = [] } = useRecords<Node>('nodes', '/api/v1/nodes');
  return data.map(({ name }) => name);
}
