import { countedResources, type DefaultRequest } from '../model/counted.ts';
import type { Resources } from '../model/deployment.ts';
import { formatBytes, parseMemory } from '../model/quantity.ts';

const MICRO = 1_000_000;

/**
 * What a container asks for, or a node has. Cores are counted in whole millionths, so that adding and removing in any order
 * gives the same sum to the last bit: choices must not depend on the history of a node.
 */
export interface Amounts {
  readonly cpuMicros: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

export const NOTHING: Amounts = { cpuMicros: 0, memoryBytes: 0, diskBytes: 0 };

export function amountsOf(cpu: number, memoryBytes: number, diskBytes = 0): Amounts {
  return { cpuMicros: microCores(cpu), memoryBytes: Math.ceil(memoryBytes), diskBytes };
}

export function microCores(cpu: number): number {
  return Math.round(cpu * MICRO);
}

/** Of specs without requests, which most are: one for all. Not `NOTHING`, which stands for a spec that is not known. */
const NONE_REQUESTED = amountsOf(0, 0);
const defaultAmounts = new WeakMap<DefaultRequest, Amounts>();

/** The spec is valid here, so a text that cannot be read is a fault and not a request for nothing. */
export function requestedAmounts(resources: Resources | undefined): Amounts {
  if (resources?.requests === undefined) return NONE_REQUESTED;
  const { cpu = 0, memory, disk } = resources.requests;
  return amountsOf(cpu, bytesOf('memory', memory), bytesOf('disk', disk));
}

function bytesOf(what: string, text: string | undefined): number {
  const bytes = text === undefined ? 0 : parseMemory(text);
  if (bytes === undefined) throw new Error(`stored ${what} request cannot be read: ${text}`);
  return bytes;
}

/** What it takes of the tenant's quota, which knows no disk; of its node it takes what it asks for. */
export function countedAmounts(resources: Resources | undefined, fallback: DefaultRequest): Amounts {
  const known = resources === undefined ? defaultAmounts.get(fallback) : undefined;
  if (known !== undefined) return known;
  const { cpu, memoryBytes } = countedResources(resources, fallback);
  const amounts = amountsOf(cpu, memoryBytes);
  if (resources === undefined) defaultAmounts.set(fallback, amounts);
  return amounts;
}

export function cores(micros: number): string {
  const count = micros / MICRO;
  // Rounding down to three places could print "needs 0.001, 0.001 free" for a refusal; print small amounts in full.
  const text = String(Number(count.toFixed(6)));
  return text === '1' ? '1 core' : `${text} cores`;
}

/** Two amounts that differ must not print the same (`8 GiB` needed, `8 GiB` free), hence bytes when rounding hides it. */
export function bytesApart(a: number, b: number): readonly [string, string] {
  const [first, second] = [formatBytes(a), formatBytes(b)];
  return a !== b && first === second ? [`${a} bytes`, `${b} bytes`] : [first, second];
}
