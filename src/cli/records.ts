import type { ItemOf } from '../sdk/index.ts';
import type { Answered, AnsweredBy } from './answered.ts';

/** Records as a control plane sends them, under the names that commands speak of. */
export type Deployment = AnsweredBy<'GET /api/v1/deployments/{name}'>;
export type DeploymentWritten = AnsweredBy<'PUT /api/v1/deployments/{name}'>;
export type Instance = Answered<ItemOf<'GET /api/v1/deployments/{name}/instances'>>;
export type InstanceDetail = AnsweredBy<'GET /api/v1/deployments/{name}/instances/{instance}'>;
export type KeptFailure = Answered<ItemOf<'GET /api/v1/deployments/{name}/failures'>>;
export type Archive = Answered<ItemOf<'GET /api/v1/archives/deployments/{name}'>>;
export type Backup = Answered<ItemOf<'GET /api/v1/backups'>>;
export type Canary = AnsweredBy<'GET /api/v1/deployments/{name}/canary'>;
export type ScalingPolicy = AnsweredBy<'GET /api/v1/deployments/{name}/scaling-policy'>;
export type Audit = Answered<ItemOf<'GET /api/v1/audit'>>;
export type Event = Answered<ItemOf<'GET /api/v1/events'>>;
export type Explanation = AnsweredBy<'GET /api/v1/deployments/{name}/explain'>;
export type Job = AnsweredBy<'GET /api/v1/jobs/{name}'>;
export type JobWritten = AnsweredBy<'PUT /api/v1/jobs/{name}'>;
export type JobRun = NonNullable<NonNullable<Job['status']>['runs']>[number];
export type JoinToken = Answered<ItemOf<'GET /api/v1/join-tokens'>>;
export type Network = AnsweredBy<'GET /api/v1/networks/{name}'>;
export type Node = AnsweredBy<'GET /api/v1/nodes/{name}'>;
export type DrainReport = AnsweredBy<'POST /api/v1/nodes/{name}/drain'>;
export type Recommendation = Answered<ItemOf<'GET /api/v1/dvm/recommendations'>>;
export type Secret = Answered<ItemOf<'GET /api/v1/secrets'>>;
export type Tenant = AnsweredBy<'GET /api/v1/tenants/{tenant}'>;
export type ImagePolicy = AnsweredBy<'GET /api/v1/tenants/{tenant}/image-policy'> & {
  readonly removed?: readonly string[] | undefined;
};
export type SecretConsumer = Answered<ItemOf<'GET /api/v1/secrets/resources/{name}/consumers'>>;
export type Token = Answered<ItemOf<'GET /api/v1/tokens'>>;
export type Webhook = AnsweredBy<'GET /api/v1/webhooks/{name}'>;
export type DeadLetter = Answered<ItemOf<'GET /api/v1/webhooks/{name}/dead-letters'>>;
export type Volume = AnsweredBy<'GET /api/v1/dvm/volumes/{id}'>;
export type VolumeCopy = NonNullable<Volume['replicas']>[number];
export type VolumeWritten = AnsweredBy<'POST /api/v1/dvm/volumes'>;
export type Snapshot = Answered<ItemOf<'GET /api/v1/tenants/{tenant}/volumes/{id}/snapshots'>>;

export type PlannedDocument = NonNullable<AnsweredBy<'POST /api/v1/apply'>['documents']>[number];

/** What any write announces. */
export type Announcements = Pick<DeploymentWritten, 'alterations' | 'warnings'>;
export type PlacementPlan = NonNullable<DeploymentWritten['plan']>;
export type Difference = NonNullable<PlacementPlan['diff']>[number];
export type RefusedNode = NonNullable<Explanation['nodes']>[number];

/** Of `/healthz`, which is no operation of the interface. */
export interface Health {
  readonly version?: string;
  readonly store?: { readonly kind?: string; readonly connected?: boolean; readonly problem?: string };
  readonly secrets?: {
    readonly kind?: string;
    readonly connected?: boolean;
    readonly sealed?: boolean;
    readonly problem?: string;
  };
  readonly controllers?: {
    readonly janitor?: { readonly audit?: { readonly records?: number; readonly bytes?: number } };
  };
}
