import type { DeploymentSpec } from '../model/deployment.ts';
import type { DeploymentDraft } from './deployment-body.ts';
import { deploymentBody } from './deployment-body.ts';

const FIELDS = Object.keys(deploymentBody.fields) as (keyof DeploymentDraft)[];

/**
 * A draft that passed every rule becomes a spec: a fixed order of fields, and no write-time secret material.
 * The rules have established what the types below claim.
 */
export function specOfDraft(draft: DeploymentDraft): DeploymentSpec {
  const spec: Record<string, unknown> = {};
  for (const field of FIELDS) {
    if (draft[field] !== undefined) spec[field] = draft[field];
  }
  spec['secrets'] = (draft.secrets ?? []).map(({ name, vault_path, anchor, rotation }) => ({
    name,
    vault_path,
    anchor,
    rotation,
  }));
  return spec as unknown as DeploymentSpec;
}
