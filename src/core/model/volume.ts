import type { NodeName, TenantId, VolumeId } from './ids.ts';

export type VolumeClass = 'ephemeral' | 'replicated' | 'object';
export type VolumeType = 'volume' | 'bind' | 'tmpfs';
export type VolumePhase = 'Pending' | 'Materializing' | 'Ready' | 'Degraded' | 'Deleting';

export interface VolumeReplica {
  readonly nodeId: NodeName;
  readonly state: 'syncing' | 'live' | 'failed';
  readonly lagSeconds: number;
}

export interface VolumeRecord {
  readonly id: VolumeId;
  readonly tenantId: TenantId;
  readonly name: string;
  readonly class: VolumeClass;
  readonly type: VolumeType;
  readonly phase: VolumePhase;
  readonly sizeBytes: number;
  readonly usedBytes?: number;
  readonly measuredAt?: string;
  readonly primaryNodeId?: NodeName;
  readonly replicas: readonly VolumeReplica[];
  readonly accessMode: 'ReadWriteOnce';
  readonly hostPath?: string;
  readonly epoch: number;
}
