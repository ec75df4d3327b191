import type { Resources } from './deployment.ts';
import { parseMemory } from './quantity.ts';

/** What a container counts against a quota that says nothing of itself. */
export interface DefaultRequest {
  readonly cpu: number;
  readonly memoryBytes: number;
}

export const NO_DEFAULT: DefaultRequest = { cpu: 0, memoryBytes: 0 };

export type CountedAs = 'request' | 'limit' | 'default';

/** Its request, else its limit, else the default, of cpu and memory separately: leaving one out does not evade a quota. */
export function countedResources(
  resources: Resources | undefined,
  fallback: DefaultRequest,
): {
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly as: { readonly cpu: CountedAs; readonly memory: CountedAs };
} {
  const { requests, limits } = resources ?? {};
  const cpu = requests?.cpu ?? limits?.cpu;
  const memory = requests?.memory ?? limits?.memory;
  const bytes = memory === undefined ? fallback.memoryBytes : parseMemory(memory);
  if (bytes === undefined) throw new Error(`stored memory request cannot be read: ${memory}`);
  return {
    cpu: cpu ?? fallback.cpu,
    memoryBytes: bytes,
    as: {
      cpu: countedAs(requests?.cpu, limits?.cpu),
      memory: countedAs(requests?.memory, limits?.memory),
    },
  };
}

function countedAs(request: unknown, limit: unknown): CountedAs {
  if (request !== undefined) return 'request';
  return limit === undefined ? 'default' : 'limit';
}
