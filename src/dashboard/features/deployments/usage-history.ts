import { useEffect, useState } from 'react';
import type { Instance } from '../../lib/records.ts';

export interface UsageSample {
  /** Seconds since 1970. */
  readonly time: number;
  /** Per cent of one core, all instances together. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
}

const MAX_SAMPLES = 360;

type Measured = Pick<Instance, 'usage'>;

export function sampleOf(instances: readonly Measured[], nowMs: number): UsageSample | undefined {
  const measured = instances.flatMap(({ usage }) => usage ?? []);
  if (measured.length === 0) return undefined;
  return {
    time: Math.round(nowMs / 1000),
    cpuPercent: measured.reduce((sum, { cpuPercent }) => sum + cpuPercent, 0),
    memoryBytes: measured.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  };
}

/** The control plane keeps the newest measurement only: the history is what this page has seen. */
export function useUsageHistory(
  instances: readonly Measured[] | undefined,
  readAt: number,
): readonly UsageSample[] {
  const [samples, setSamples] = useState<readonly UsageSample[]>([]);
  useEffect(() => {
    const sample = sampleOf(instances ?? [], readAt);
    if (sample === undefined) return;
    setSamples((before) =>
      before.at(-1)?.time === sample.time ? before : [...before.slice(1 - MAX_SAMPLES), sample],
    );
  }, [instances, readAt]);
  return samples;
}
