import type { Warning } from '../../core/model/announcement.ts';
import { countedResources, type DefaultRequest } from '../../core/model/counted.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import type { TenantStore } from '../store/store.ts';

/** Under a quota, what counts although the spec does not request it. */
export function countedWarnings(
  tenant: TenantStore,
  fallback: DefaultRequest,
  { resources }: Pick<DeploymentSpec, 'resources'>,
): readonly Warning[] {
  const quota = tenant.get('quota', 'quota')?.record;
  if (quota === undefined) return [];
  const { cpu, memoryBytes, as } = countedResources(resources, fallback);
  const warnings: Warning[] = [];
  const add = (field: string, amount: string, how: string): void => {
    const from = how === 'limit' ? 'its limit' : 'the default of the platform';
    warnings.push({
      code: 'quota_counts_unrequested',
      field: `resources.requests.${field}`,
      why: `Not set, and the tenant has a quota of ${field}: each container counts ${amount}, ${from}.`,
    });
  };
  if (quota.cpu !== undefined && as.cpu !== 'request' && cpu > 0) add('cpu', `${cpu} cores`, as.cpu);
  if (quota.memoryBytes !== undefined && as.memory !== 'request' && memoryBytes > 0)
    add('memory', formatBytes(memoryBytes), as.memory);
  return warnings;
}
