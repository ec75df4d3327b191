import type { AnswerTo, ItemOf } from '../../sdk/index.ts';

/** Records under the names that pages speak of: what the operations answer. */
export type Deployment = AnswerTo<'GET /api/v1/deployments/{name}'>;
export type DeploymentWritten = AnswerTo<'PUT /api/v1/deployments/{name}'>;
export type Instance = ItemOf<'GET /api/v1/deployments/{name}/instances'>;
export type InstanceDetail = AnswerTo<'GET /api/v1/deployments/{name}/instances/{instance}'>;
export type Failure = ItemOf<'GET /api/v1/deployments/{name}/failures'>;
export type Node = AnswerTo<'GET /api/v1/nodes/{name}'>;
export type Archive = ItemOf<'GET /api/v1/archives/deployments/{name}'>;
export type Backup = ItemOf<'GET /api/v1/backups'>;
export type Event = ItemOf<'GET /api/v1/events'>;
export type Explanation = AnswerTo<'GET /api/v1/deployments/{name}/explain'>;
export type PlacementPlan = NonNullable<DeploymentWritten['plan']>;
export type FieldChange = NonNullable<PlacementPlan['diff']>[number];
export type Recommendation = ItemOf<'GET /api/v1/dvm/recommendations'>;
export type TenantView = ItemOf<'GET /api/v1/tenants'>;
export type TenantSummary = Pick<TenantView, 'id' | 'slug' | 'name'>;
export type SessionView = AnswerTo<'GET /api/v1/session'>;
export type Volume = AnswerTo<'GET /api/v1/dvm/volumes/{id}'>;
export type Job = AnswerTo<'GET /api/v1/jobs/{name}'>;
