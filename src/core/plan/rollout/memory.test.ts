import { describe, expect, it } from 'vitest';
import type { InstanceId, NodeName, TenantId } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';
import { updateInstanceMemory } from './memory.ts';

const RECORD: InstanceRecord = {
  id: 'ins_1' as InstanceId,
  tenantId: 't' as TenantId,
  deployment: 'web',
  specHash: 'h',
  secretsVersion: 0,
  nodeId: 'n1' as NodeName,
  wanted: 'run',
  createdAt: '2026-01-01T00:00:00.000Z',
  attempt: 0,
};

function toldOf(wanted: 'run' | 'stop', observation: Omit<InstanceObservation, 'id'>): readonly string[] {
  const memory = { instances: new Map([[RECORD.id, { noted: 'started' as const }]]) };
  const seen = { id: RECORD.id, ...observation };
  const { transitions } = updateInstanceMemory(memory, [{ ...RECORD, wanted }], () => seen, 0, 16);
  return transitions.map(({ to }) => to);
}

describe('what is told of an instance', () => {
  it.each([
    ['that ended by itself', 'run', { phase: 'exited', reason: 'container_exited' }, ['failed']],
    ['that ended as ordered', 'stop', { phase: 'exited', exitCode: 143 }, []],
    [
      'that an older agent says ended as ordered',
      'stop',
      { phase: 'exited', reason: 'container_exited' },
      [],
    ],
    ['that cannot be removed', 'stop', { phase: 'exited', reason: 'container_remove_failed' }, ['failed']],
  ] as const)('%s', (_what, wanted, observation, told) => {
    expect(toldOf(wanted, observation)).toEqual(told);
  });
});
