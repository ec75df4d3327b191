import type { Resources } from './deployment.ts';
import { parseMemory } from './quantity.ts';
import { isIntegerWithin } from './values.ts';

/** What every container is bounded by unless its workload says otherwise. No part of a spec: changing it recreates nothing. */
export interface ContainerDefaults {
  /** Of workloads without a memory limit: an amount, or a part of the node's memory such as `90%`. */
  readonly memory: string;
  /** Processes and threads. */
  readonly pids: number;
  /** Share of a busy processor, relative to other containers: one of 200 gets twice as much as one of 100. */
  readonly cpuWeight: number;
  /** What is kept of a container's output, older files included. */
  readonly logSize: string;
}

/** One container cannot take all of a machine, and none that ran without limits is likely to notice. */
export const PLATFORM_CONTAINER_DEFAULTS: ContainerDefaults = {
  memory: '90%',
  pids: 4096,
  cpuWeight: 100,
  logSize: '30M',
};

export const CONTAINER_DEFAULT_FIELDS = ['memory', 'pids', 'cpuWeight', 'logSize'] as const;
export type ContainerDefaultField = (typeof CONTAINER_DEFAULT_FIELDS)[number];

const MIN_MEMORY = 16 * 2 ** 20;
const LOG = { min: 1e6, max: 1e12 } as const;
const PERCENT = /^([1-9]\d?|100)%$/;

function bytesOf(value: unknown): number {
  return (typeof value === 'string' ? parseMemory(value) : undefined) ?? -1;
}

export const ACCEPTED_CONTAINER_DEFAULTS: Readonly<
  Record<ContainerDefaultField, { readonly form: string; readonly fits: (value: unknown) => boolean }>
> = {
  memory: {
    form: 'a part of the node such as "90%", or an amount of at least 16Mi such as "512Mi"',
    fits: (value) => (typeof value === 'string' && PERCENT.test(value)) || bytesOf(value) >= MIN_MEMORY,
  },
  pids: { form: 'an integer from 16 to 4194304', fits: (value) => isIntegerWithin(value, 16, 4_194_304) },
  cpuWeight: { form: 'an integer from 1 to 10000', fits: (value) => isIntegerWithin(value, 1, 10_000) },
  logSize: {
    form: 'an amount from 1M to 1T such as "30M"',
    fits: (value) => bytesOf(value) >= LOG.min && bytesOf(value) <= LOG.max,
  },
};

/** In the engine's units. */
export interface ContainerBounds {
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpuWeight: number;
  readonly logBytes: number;
}

function memoryBytes(text: string, nodeBytes: number): number {
  const percent = PERCENT.exec(text)?.[1];
  return percent === undefined ? bytesOf(text) : Math.floor((nodeBytes * Number(percent)) / 100);
}

/** On a node of that much memory. A workload that requests more than the default is not bounded below its request. */
export function containerBounds(
  defaults: ContainerDefaults,
  nodeBytes: number,
  resources: Resources | undefined,
): ContainerBounds {
  const { memory, pids, cpuWeight, logSize } = defaults;
  const bytes = Math.max(
    MIN_MEMORY,
    memoryBytes(memory, nodeBytes),
    bytesOf(resources?.requests?.memory ?? '0'),
  );
  return { memoryBytes: bytes, pids, cpuWeight, logBytes: bytesOf(logSize) };
}

/** Those of the defaults that a workload is bounded by. */
export function appliedDefaults(
  { memory, ...others }: ContainerDefaults,
  resources: Resources | undefined,
): Omit<ContainerDefaults, 'memory'> & Partial<Pick<ContainerDefaults, 'memory'>> {
  return resources?.limits?.memory === undefined ? { memory, ...others } : others;
}

/** `memory 90%, pids 4096, …` */
export function boundsText(defaults: Readonly<Record<string, unknown>> | Partial<ContainerDefaults>): string {
  return Object.entries(defaults)
    .map(([field, value]) => `${field} ${String(value)}`)
    .join(', ');
}
