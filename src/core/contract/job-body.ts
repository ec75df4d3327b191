import type { JobSpec } from '../model/job.ts';
import { deploymentBody } from './deployment-body.ts';
import { DURATION, NODE_NAME } from './forms.ts';
import { type Draft, shape } from '../schema/shape.ts';

const shared = deploymentBody.fields;

export const jobBody = shape({
  type: 'object',
  fields: {
    kind: { type: 'any', schema: { type: 'string', enum: ['Job'] } },
    name: shared.name,
    image: shared.image,
    command: shared.command,
    user: shared.user,
    readOnlyRootFilesystem: shared.readOnlyRootFilesystem,
    capabilities: shared.capabilities,
    environment: shared.environment,
    secrets: shared.secrets,
    composedEnvironment: shared.composedEnvironment,
    volumes: shared.volumes,
    placement: shared.placement,
    resources: shared.resources,
    nodeId: { type: 'string', form: NODE_NAME, ownCode: 'job_node_not_found' },
    labels: shared.labels,
    schedule: {
      type: 'any',
      schema: { type: 'string', example: '0 3 * * *' },
      description: 'Cron, UTC: five fields, or six with seconds first. Absent: runs once, when created.',
    },
    timeout: {
      type: 'any',
      schema: { type: 'string', ...DURATION, example: '30m' },
      description: 'Of one attempt, from the start of its container; absent: none.',
    },
    retries: {
      type: 'any',
      schema: { type: 'integer', minimum: 0, maximum: 10, default: 0 },
      description: 'Attempts after the first.',
    },
  },
  ignored: deploymentBody.ignored,
  nullClears: true,
  required: ['name', 'image'],
  named: 'JobDescription',
});

export type JobDraft = Draft<typeof jobBody>;

const FIELDS = Object.keys(jobBody.fields) as (keyof JobDraft)[];

/** The fields of a body, without server-owned keys; `null` and absent are the same. */
export function jobDraftOfBody(body: Readonly<Record<string, unknown>>): JobDraft {
  const draft: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const value = body[field];
    if (value !== undefined && value !== null) draft[field] = value;
  }
  return draft;
}

/** A draft that passed every rule becomes a spec: a fixed order of fields, and no write-time secret material. */
export function jobSpecOfDraft(draft: JobDraft): JobSpec {
  const spec: Record<string, unknown> = {};
  for (const field of FIELDS) if (draft[field] !== undefined) spec[field] = draft[field];
  spec['secrets'] = (draft.secrets ?? []).map(({ name, vault_path, anchor, rotation }) => ({
    name,
    vault_path,
    anchor,
    rotation,
  }));
  return spec as unknown as JobSpec;
}
