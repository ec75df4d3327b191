import type { DeploymentSpec } from './deployment.ts';
import type { ArchiveRecord } from './event.ts';
import type { ScalingPolicy } from './scaling.ts';

/** Newest versions of the archive that a backup takes along. */
export const BACKUP_REVISIONS = 100;

/**
 * Spec and history together; the spec always has its place. The commit also holds the answer for its Idempotency-Key, an
 * export must fit the body limit of an import (1 MiB), and etcd takes 1.5 MiB in one request.
 */
export const BACKUP_CONTENT_BYTES = 384 * 1024;

/** What is needed to start it again beside the spec of the backup. */
export interface BackupCanary {
  readonly replicas: number;
  readonly weight?: number;
  readonly spec: DeploymentSpec;
  readonly imageDigest?: string;
}

/** Secrets are references by the type of the spec; of volumes only the mounts are kept, never bytes. */
export interface BackupContent {
  readonly spec: DeploymentSpec;
  /** What the image was, so that a restore runs the same bytes; absent: the registry could not be asked. */
  readonly imageDigest?: string;
  /** Null: the deployment has none. */
  readonly scalingPolicy: ScalingPolicy | null;
  readonly canary: BackupCanary | null;
  /** Oldest first. */
  readonly revisions: readonly ArchiveRecord<DeploymentSpec>[];
}

/** Where an imported backup came from, as the document says. */
export interface BackupOrigin {
  readonly id: string;
  readonly createdAt: string;
}

interface BackupHeading {
  readonly id: string;
  readonly deploymentName: string;
  /** Archive version of the spec at the time of the backup, in the control plane that made it. */
  readonly version: number;
  readonly specHash: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly imported?: BackupOrigin;
}

/** Never changed after it is made. */
export interface BackupRecord extends BackupHeading {
  readonly content: BackupContent;
}

/** What a list shows: the heading and the size of what is left out. */
export interface BackupSummary extends BackupHeading {
  readonly image: string;
  readonly revisions: number;
  readonly sizeBytes: number;
}
