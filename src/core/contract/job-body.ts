import { type JobSpec, jobWorkload } from '../model/job.ts';
import { deploymentBody } from './deployment-body.ts';
import { removedEntries } from './deployment-merge.ts';
import { configFiles, secretReferences, volumeMounts } from './deployment-spec.ts';
import { DURATION, NAME, NODE_NAME } from './forms.ts';
import { type Draft, draftOf, inOrder, type Sent, shape } from '../schema/shape.ts';

const shared = deploymentBody.fields;

export const jobBody = shape({
  type: 'object',
  fields: {
    kind: {
      type: 'any',
      schema: { type: 'string', enum: ['Job'] },
      description: 'What the document describes; without it a document in a file is a Deployment.',
      absent: 'Job, on the route of jobs alone',
      example: 'Job',
    },
    name: {
      ...shared.name,
      description: 'Unique among the jobs of the tenant, never changed.',
      example: 'nightly-report',
    },
    image: shared.image,
    command: shared.command,
    user: shared.user,
    readOnlyRootFilesystem: shared.readOnlyRootFilesystem,
    capabilities: shared.capabilities,
    environment: shared.environment,
    secrets: shared.secrets,
    composedEnvironment: shared.composedEnvironment,
    stop: shared.stop,
    files: shared.files,
    volumes: shared.volumes,
    placement: shared.placement,
    resources: shared.resources,
    nodeId: { ...shared.nodeId, form: NODE_NAME, ownCode: 'job_node_not_found' },
    networks: shared.networks,
    labels: shared.labels,
    schedule: {
      type: 'any',
      schema: { type: 'string' },
      description: 'Cron, UTC: five fields, or six with seconds first.',
      absent: 'runs once, when created',
      example: '0 3 * * *',
    },
    timeout: {
      type: 'any',
      schema: { type: 'string', ...DURATION },
      description: 'Of one attempt, from the start of its container; 1s to 720h.',
      absent: 'none',
      example: '30m',
    },
    retries: {
      type: 'any',
      schema: { type: 'integer', minimum: 0, maximum: 10, default: 0 },
      description: 'Attempts after the first.',
      absent: '0',
      example: 3,
    },
    before: {
      type: 'object',
      named: 'BeforeCommandDescription',
      description:
        'A command in a running instance of a deployment, before a run starts its container: a dump before a backup. When it fails or takes too long, the run has failed.',
      absent: 'none',
      example: { deployment: 'pg', command: ['sh', '-c', 'pg_dump -Fc -f /data/backup/shop.dump'] },
      fields: {
        deployment: {
          type: 'string',
          form: NAME,
          description:
            'A deployment of the tenant; an instance of it that runs and is healthy is waited for, five minutes at most.',
          example: 'pg',
        },
        command: {
          type: 'list',
          items: { type: 'string' },
          form: { minItems: 1 },
          sensitive: true,
          description:
            'One element per argument, without a shell. It may run a second time if the control plane ends meanwhile.',
          example: ['sh', '-c', 'pg_dump -Fc -f /data/backup/shop.dump'],
        },
        timeout: {
          type: 'string',
          form: DURATION,
          description: 'How long it may take, 1s to 1h.',
          absent: '10m',
          example: '30m',
        },
      },
      required: ['deployment', 'command'],
    },
  },
  ignored: deploymentBody.ignored,
  nullClears: true,
  required: ['name', 'image'],
  named: 'JobDescription',
});

/** Of an update: what is not sent stays as it is. */
export const jobChange = shape({ ...jobBody, required: [], named: 'JobChange' });

export type JobDraft = Draft<typeof jobBody>;
export type SentJob = Sent<typeof jobBody>;

/** As for a deployment: each field that is sent replaces the stored one whole, `null` clears it, the rest stays. */
export function mergeJobDraft(stored: JobSpec, body: SentJob): JobDraft {
  return draftOf(jobBody, { ...stored, ...body });
}

const OWN_FIELDS = ['schedule', 'timeout', 'retries', 'before'] as const;

/** What a job lost beside what every workload may lose. */
export function removedFromJob(before: JobSpec, after: JobSpec): string[] {
  return [
    ...removedEntries(jobWorkload(before), jobWorkload(after)),
    ...OWN_FIELDS.filter((field) => before[field] !== undefined && after[field] === undefined),
  ];
}

/** A draft that passed every rule becomes a spec: a fixed order of fields, and no write-time secret material. */
export function jobSpecOfDraft(draft: JobDraft): JobSpec {
  const { files, volumes, schedule, timeout, retries, before, ...plain } = draft;
  return inOrder(jobBody, {
    ...plain,
    kind: 'Job',
    name: plain.name ?? '',
    image: plain.image ?? '',
    secrets: secretReferences(plain.secrets),
    ...(files && { files: configFiles(files) }),
    ...(volumes && { volumes: volumeMounts(volumes) }),
    ...(typeof schedule === 'string' && { schedule }),
    ...(typeof timeout === 'string' && { timeout }),
    ...(typeof retries === 'number' && { retries }),
    ...(before && {
      before: { ...before, deployment: before.deployment ?? '', command: before.command ?? [] },
    }),
  });
}
