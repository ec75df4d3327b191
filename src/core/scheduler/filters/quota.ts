import { formatBytes } from '../../model/quantity.ts';
import { bytesApart, cores, microCores } from '../amounts.ts';
import type { PlacementRequest } from '../request.ts';
import type { ClusterFacts, Filter } from './filter.ts';

/** A quota that is reached stops new containers; what runs is not shrunk. */
export const quota: Filter = {
  name: 'quota',
  scope: 'tenant',
  steady: false,
  admits: (_state, request, facts) => withinQuota(request, facts),
  required: ({ amounts, counted = amounts }) =>
    `1 container, ${cores(counted.cpuMicros)}, ${formatBytes(counted.memoryBytes)} within the tenant's quota`,
  reported: (_state, _request, facts) => describe(facts),
  refusal: (_state, request, facts) => {
    const over = overruns(request, facts);
    return {
      code: over.length > 1 ? 'quota_reached' : (over[0]?.code ?? 'quota_reached'),
      message: overrunMessage(request, facts),
    };
  },
};

export function overrunMessage(request: PlacementRequest, facts: ClusterFacts): string {
  return overruns(request, facts)
    .map((one) => one.message)
    .join('; ');
}

export function withinQuota({ amounts, counted = amounts }: PlacementRequest, facts: ClusterFacts): boolean {
  const { containers, cpu, memoryBytes } = facts.quota;
  return (
    (containers === undefined || facts.containers + 1 <= containers) &&
    (cpu === undefined || facts.total.cpuMicros + counted.cpuMicros <= microCores(cpu)) &&
    (memoryBytes === undefined || facts.total.memoryBytes + counted.memoryBytes <= memoryBytes)
  );
}

function overruns(
  { amounts, counted = amounts }: PlacementRequest,
  facts: ClusterFacts,
): readonly { code: string; message: string }[] {
  const { containers, cpu, memoryBytes } = facts.quota;
  const found: { code: string; message: string }[] = [];
  if (containers !== undefined && facts.containers + 1 > containers) {
    found.push({
      code: 'quota_containers',
      message: `needs 1 more container, the tenant has ${facts.containers} of ${containers} allowed`,
    });
  }
  if (cpu !== undefined && facts.total.cpuMicros + counted.cpuMicros > microCores(cpu)) {
    found.push({
      code: 'quota_cpu',
      message: `needs ${cores(counted.cpuMicros)} more, the tenant has requested ${cores(facts.total.cpuMicros)} of ${cores(microCores(cpu))} allowed`,
    });
  }
  if (memoryBytes !== undefined && facts.total.memoryBytes + counted.memoryBytes > memoryBytes) {
    const [used, allowed] = bytesApart(facts.total.memoryBytes, memoryBytes);
    found.push({
      code: 'quota_memory',
      message: `needs ${formatBytes(counted.memoryBytes)} of memory more, the tenant has requested ${used} of ${allowed} allowed`,
    });
  }
  return found;
}

function describe(facts: ClusterFacts): string {
  const { containers, cpu, memoryBytes } = facts.quota;
  const parts = [
    ...(containers === undefined ? [] : [`${facts.containers} of ${containers} containers`]),
    ...(cpu === undefined ? [] : [`${cores(facts.total.cpuMicros)} of ${cores(microCores(cpu))}`]),
    ...(memoryBytes === undefined
      ? []
      : [`${formatBytes(facts.total.memoryBytes)} of ${formatBytes(memoryBytes)}`]),
  ];
  return parts.length === 0 ? 'no quota set' : `${parts.join(', ')} used`;
}
