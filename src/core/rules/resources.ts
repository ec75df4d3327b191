import { parseMemory } from '../model/quantity.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { type DeploymentInput, invalid } from './rule.ts';

const MAX_CPU = 1024;
const MIN_BYTES = 4 * 2 ** 20;

function bytesRule(field: string, amount: string | undefined, what: string): Rejection | undefined {
  if (amount === undefined || (parseMemory(amount) ?? 0) >= MIN_BYTES) return undefined;
  return invalid(
    'resources_invalid',
    `resources.${field}`,
    amount,
    'bytes with a unit, e.g. 256Mi or 1Gi, at least 4Mi',
    `${what} is an amount of bytes.`,
  );
}

function amountsRule(part: 'requests' | 'limits', { draft }: DeploymentInput): Rejection | undefined {
  const amounts = draft.resources?.[part];
  if (amounts === undefined) return undefined;
  const { cpu, memory } = amounts;
  if (cpu !== undefined && !(cpu > 0 && cpu <= MAX_CPU)) {
    return invalid(
      'resources_invalid',
      `resources.${part}.cpu`,
      cpu,
      `cores, above 0 and at most ${MAX_CPU}`,
      'cpu is a number of cores.',
    );
  }
  return bytesRule(`${part}.memory`, memory, 'memory');
}

export function resourcesRule(input: DeploymentInput): Rejection | undefined {
  const rejection =
    amountsRule('requests', input) ??
    bytesRule('requests.disk', input.draft.resources?.requests?.disk, 'disk') ??
    amountsRule('limits', input);
  if (rejection) return rejection;
  const { requests, limits } = input.draft.resources ?? {};
  const wanted = parseMemory(requests?.memory ?? '0') ?? 0;
  if (limits?.memory !== undefined && wanted > (parseMemory(limits.memory) ?? 0)) {
    return invalid(
      'resources_invalid',
      'resources.limits.memory',
      limits.memory,
      `at least the request of ${requests?.memory}`,
      'The limit is below the request.',
    );
  }
  if (limits?.cpu !== undefined && (requests?.cpu ?? 0) > limits.cpu) {
    return invalid(
      'resources_invalid',
      'resources.limits.cpu',
      limits.cpu,
      `at least the request of ${requests?.cpu}`,
      'The limit is below the request.',
    );
  }
  return undefined;
}
