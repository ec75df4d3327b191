import { describe, expect, it } from 'vitest';
import type { VolumeMount } from '../model/deployment.ts';
import type { NodeName, TenantId, VolumeId } from '../model/ids.ts';
import type { VolumeRecord } from '../model/volume.ts';
import { placementRequest, volumeRequirement } from './request.ts';

const node = (name: string): NodeName => name as NodeName;

const VOLUME: VolumeRecord = {
  id: 'vol_1' as VolumeId,
  tenantId: 't' as TenantId,
  name: 'data',
  class: 'replicated',
  type: 'volume',
  phase: 'Ready',
  sizeBytes: 1,
  primaryNodeId: node('a'),
  replicas: [
    { nodeId: node('b'), state: 'live' },
    { nodeId: node('c'), state: 'syncing' },
  ],
  copies: 2,
  leaving: [],
  leaseMs: 15_000,
  createdAt: '1970-01-01T00:00:00.000Z',
  accessMode: 'ReadWriteOnce',
  epoch: 1,
};
const WRITE: VolumeMount = { volumeId: 'vol_1', mountPath: '/data', readOnly: false };
const READ: VolumeMount = { ...WRITE, readOnly: true };
const { primaryNodeId: _, ...HOMELESS } = VOLUME;

describe('the nodes that can serve a mount', () => {
  it.each<[string, VolumeRecord, VolumeMount, ReturnType<typeof volumeRequirement>]>([
    ['writes go to the primary', VOLUME, WRITE, { volume: 'data', access: 'write', nodes: [node('a')] }],
    ['reads too, not to a copy', VOLUME, READ, { volume: 'data', access: 'read', nodes: [node('a')] }],
    ['writes without a primary to none', HOMELESS, WRITE, { volume: 'data', access: 'write', nodes: [] }],
    [
      'ephemeral data stays where it is',
      { ...VOLUME, class: 'ephemeral' },
      READ,
      { volume: 'data', access: 'local', nodes: [node('a')] },
    ],
    [
      'a bind stays on its machine',
      { ...VOLUME, class: 'ephemeral', type: 'bind' },
      WRITE,
      { volume: 'data', access: 'local', nodes: [node('a')] },
    ],
    [
      'ephemeral data that is nowhere may begin anywhere',
      { ...HOMELESS, class: 'ephemeral' },
      WRITE,
      undefined,
    ],
    ['memory is everywhere', { ...VOLUME, class: 'ephemeral', type: 'tmpfs' }, WRITE, undefined],
    ['object storage is everywhere', { ...VOLUME, class: 'object' }, WRITE, undefined],
  ])('%s', (_name, volume, mount, expected) => {
    expect(volumeRequirement(volume, mount)).toEqual(expected);
  });
});

describe('a placement request', () => {
  it('takes from a spec what placement reads', () => {
    const spec = {
      name: 'web',
      nodeId: 'a',
      placement: { antiAffinity: ['web'] },
      resources: { requests: { cpu: 0.3, memory: '1.5Gi', disk: '10Gi' }, limits: { cpu: 4 } },
      ports: [{ container: 80, host: 8080 }, { container: 81 }],
    };
    expect(placementRequest(spec, { imagePlatforms: ['linux/amd64'] })).toEqual({
      deployment: 'web',
      amounts: { cpuMicros: 300_000, memoryBytes: 1.5 * 2 ** 30, diskBytes: 10 * 2 ** 30 },
      placement: { antiAffinity: ['web'] },
      nodeId: 'a',
      hostPorts: [8080],
      imagePlatforms: ['linux/amd64'],
    });
    expect(placementRequest({ name: 'web' })).toEqual({
      deployment: 'web',
      amounts: { cpuMicros: 0, memoryBytes: 0, diskBytes: 0 },
    });
  });

  it('does not read an unreadable amount as nothing', () => {
    expect(() => placementRequest({ name: 'web', resources: { requests: { memory: 'much' } } })).toThrow(
      'much',
    );
  });
});
