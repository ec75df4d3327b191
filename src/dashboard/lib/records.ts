import type { session, tenant } from '../../core/contract/answers/access.ts';
import type {
  deployment,
  deploymentWritten,
  instance,
  scalingPolicy,
} from '../../core/contract/answers/deployment.ts';
import type { archive, event } from '../../core/contract/answers/history.ts';
import type { node } from '../../core/contract/answers/node.ts';
import type { explanation, fieldChange, placementPlan } from '../../core/contract/answers/placement.ts';
import type { recommendation } from '../../core/contract/answers/volume.ts';
import type { Answer } from '../../core/contract/shape.ts';

/** Records as the wire carries them: the shapes of the answers, which the server and its OpenAPI document are made from. */
export type Deployment = Answer<typeof deployment>;
export type DeploymentWritten = Answer<typeof deploymentWritten>;
export type ScalingPolicyView = Answer<typeof scalingPolicy>;
export type Instance = Answer<typeof instance>;
export type Node = Answer<typeof node>;
export type Archive = Answer<typeof archive>;
export type Event = Answer<typeof event>;
export type Explanation = Answer<typeof explanation>;
export type PlacementPlan = Answer<typeof placementPlan>;
export type FieldChange = Answer<typeof fieldChange>;
export type Recommendation = Answer<typeof recommendation>;
export type TenantSummary = Pick<Answer<typeof tenant>, 'id' | 'slug' | 'name'>;
export type SessionView = Answer<typeof session>;
