import type { DeploymentStatus } from './deployment.ts';
import type { DeploymentId } from './ids.ts';

/** A spec that was in service: what a rollback returns to. */
export interface RolloutOrigin {
  readonly specHash: string;
  readonly version: number;
}

/**
 * How far the current spec of a deployment has come. Written by the instances controller only, in every commit that creates or
 * stops an instance, so that two decisions made from the same state cannot both be carried out.
 */
export interface RolloutRecord {
  readonly deploymentId: DeploymentId;
  readonly specHash: string;
  readonly version: number;
  readonly state: 'progressing' | 'complete' | 'failed';
  /** The last spec that was completely rolled out before this one. */
  readonly from?: RolloutOrigin;
  /** This spec was put back by a rollback: it is not rolled back once more. */
  readonly isRollback?: boolean;
  /** What failed, where this spec was put back for it. */
  readonly failed?: RolloutOrigin & { readonly message: string };
  /** An instance of the deployment has been placed at least once, of this spec or of an earlier one. */
  readonly placed: boolean;
  /** Digest of the reasons in the last `deployment.unschedulable`, so that it is published when they change. */
  readonly unschedulable?: string;
  /** What the last `deployment.misplaced` said, so that it is published when that changes. */
  readonly misplaced?: string;
  readonly generation: number;
}

/** As it is stored. */
export interface StoredStatus extends DeploymentStatus {
  /** The first one, until it changes: only then is it a record of its own. */
  readonly rollout?: RolloutRecord;
}
