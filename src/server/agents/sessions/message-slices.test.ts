import { expect, it } from 'vitest';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { InstanceId } from '../../../core/model/ids.ts';
import { messageSlices } from './message-slices.ts';

it('slices of a large report say together what it says, in order, and the last has the beat', () => {
  const observations = Array.from({ length: 3000 }, (_, at) => ({
    id: `ins_${at}` as InstanceId,
    phase: 'running' as const,
    message: 'x'.repeat(at % 500),
  }));
  const usage = observations.map(({ id }) => ({ instanceId: id, cpuPercent: 1, memoryBytes: 2 }));
  const report: Report = {
    type: 'report',
    epoch: 3,
    generation: 4,
    full: true,
    observations,
    usage,
    engineProblem: 'timeout',
    beat: 7,
    volumes: [{ volumeId: 'v', role: 'primary', epoch: 1, state: 'ready' }],
    networks: [{ name: 'n', state: 'ready' }],
  };
  const slices = messageSlices(report) as readonly Report[];
  expect(slices.length).toBeGreaterThan(20);
  expect(slices.flatMap((slice) => slice.observations)).toEqual(observations);
  expect(slices.flatMap((slice) => slice.usage ?? [])).toEqual(usage);
  for (const slice of slices) {
    expect(slice).toMatchObject({ type: 'report', epoch: 3, generation: 4, engineProblem: 'timeout' });
    expect(JSON.stringify(slice).length).toBeLessThan(40_000);
  }
  expect(slices.map(({ beat }) => beat).filter((beat) => beat !== undefined)).toEqual([7]);
  expect(slices.at(-1)?.beat).toBe(7);
  expect(slices.filter(({ volumes, networks }) => volumes !== undefined || networks !== undefined)).toEqual([
    slices[0],
  ]);
});
