import type { Warning } from '../../../core/model/announcement.ts';
import type { JobRecord } from '../../../core/model/job.ts';
import { type JobName, jobOwner } from '../../../core/model/owner.ts';
import type { Announced } from '../../../core/rules/attachment-facts.ts';
import type { JobFacts } from '../../../core/rules/job.ts';
import { segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Admission, Caller } from '../admission.ts';
import { deploymentFacts } from '../deployments/deployment-stored.ts';

export function jobFacts(
  admission: Pick<Admission, 'clusters'>,
  caller: Caller,
  name: JobName,
  isAnnounced?: Announced,
): JobFacts {
  const { tenant } = caller;
  return {
    ...deploymentFacts(admission, caller, jobOwner(name), isAnnounced),
    reachable: () =>
      tenant
        .list('nodes')
        .filter(({ id }) => tenant.get('node-liveness', id)?.record.status === 'ready')
        .map(({ record }) => record.name),
  };
}

export function readsCredential({ spec }: Pick<JobRecord, 'spec'>, path: string): boolean {
  return spec.secrets.some(({ vault_path }) => vault_path === path);
}

/** Credentials whose rotation runs the job. */
function hookedCredentials(tenant: TenantStore, job: string): readonly string[] {
  return tenant
    .list('credentials')
    .filter(({ record: { hooks } }) => hooks?.apply === job || hooks?.revoke === job)
    .map(({ id }) => segmentsOf('credentials', id).join('/'));
}

/** Of the credentials whose rotation runs the job: those that it can no longer rotate. */
export function missingHooks(
  tenant: TenantStore,
  job: string,
  isMissing: (path: string) => boolean = () => true,
): readonly Warning[] {
  return hookedCredentials(tenant, job)
    .filter(isMissing)
    .map((path) => ({
      code: 'rotation_hook_missing',
      field: 'name',
      why: `${job} is a hook of ${path}: its rotation stops at the phase that needs it until a job of this name reads ${path} again, or the hooks are changed.`,
    }));
}
