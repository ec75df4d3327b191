import { useRecord, useRecords } from '../../app/use-records.ts';
import type { Volume } from '../../lib/records.ts';

export type VolumeCopy = Volume['replicas'][number];

/** How far copies are behind moves without events. */
const MEASURED_MS = 5000;

export function useVolumes() {
  return useRecords('volumes', 'GET /api/v1/dvm/volumes', { everyMs: MEASURED_MS });
}

export function useVolume(id: string) {
  return useRecord('volumes', 'GET /api/v1/dvm/volumes/{id}', { params: { id } }, { everyMs: MEASURED_MS });
}

export function useVolumeEvents(id: string) {
  return useRecord('events', 'GET /api/v1/events', { query: { limit: 1000, subject: `Volume/${id}` } });
}

/** Nodes that a volume or a copy may be put on. */
export function useNodeNames(): readonly string[] {
  const { data = [] } = useRecords('nodes', 'GET /api/v1/nodes');
  return data.map(({ name }) => name);
}
