import type { ItemOf } from '../sdk/index.ts';
import type { Sent, SentBy } from './sent.ts';

/** Records as a control plane sends them, under the names that commands speak of. */
export type Deployment = SentBy<'GET /api/v1/deployments/{name}'>;
export type DeploymentWritten = SentBy<'PUT /api/v1/deployments/{name}'>;
export type Instance = Sent<ItemOf<'GET /api/v1/deployments/{name}/instances'>>;
export type Archive = Sent<ItemOf<'GET /api/v1/archives/deployments/{name}'>>;
export type Backup = Sent<ItemOf<'GET /api/v1/backups'>>;
export type Canary = SentBy<'GET /api/v1/deployments/{name}/canary'>;
export type ScalingPolicy = SentBy<'GET /api/v1/deployments/{name}/scaling-policy'>;
export type Event = Sent<ItemOf<'GET /api/v1/events'>>;
export type Explanation = SentBy<'GET /api/v1/deployments/{name}/explain'>;
export type Job = SentBy<'GET /api/v1/jobs/{name}'>;
export type JobRun = NonNullable<NonNullable<Job['status']>['runs']>[number];
export type JoinToken = Sent<ItemOf<'GET /api/v1/join-tokens'>>;
export type Network = SentBy<'GET /api/v1/networks/{name}'>;
export type Node = SentBy<'GET /api/v1/nodes/{name}'>;
export type DrainReport = SentBy<'POST /api/v1/nodes/{name}/drain'>;
export type Recommendation = Sent<ItemOf<'GET /api/v1/dvm/recommendations'>>;
export type Secret = Sent<ItemOf<'GET /api/v1/secrets/resources'>>;
export type Tenant = SentBy<'GET /api/v1/tenants/{tenant}'>;
export type ImagePolicy = SentBy<'GET /api/v1/tenants/{tenant}/image-policy'> & {
  readonly removed?: readonly string[] | undefined;
};
export type SecretConsumer = Sent<ItemOf<'GET /api/v1/secrets/resources/{name}/consumers'>>;
export type Token = Sent<ItemOf<'GET /api/v1/tokens'>>;
export type Volume = SentBy<'GET /api/v1/dvm/volumes/{id}'>;
export type VolumeCopy = NonNullable<Volume['replicas']>[number];
export type VolumeWritten = SentBy<'POST /api/v1/dvm/volumes'>;
export type Snapshot = Sent<ItemOf<'GET /api/v1/tenants/{tenant}/volumes/{id}/snapshots'>>;

/** What any write announces. */
export type Announced = Pick<DeploymentWritten, 'alterations' | 'warnings'>;
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
