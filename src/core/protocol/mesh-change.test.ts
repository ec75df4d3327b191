import { describe, expect, it } from 'vitest';
import type { MeshMap } from './agent-protocol.ts';
import { MAX_FRAME_BYTES } from './agent-protocol.ts';
import { changedMap, meshChange, meshMessages } from './mesh-change.ts';

type Service = MeshMap['services'][number];

const instances = (service: number, count: number): Service['instances'] =>
  Array.from({ length: count }, (_, at) => ({
    id: `s${service}-${String(at).padStart(5, '0')}`,
    node: `node-${at % 256}`,
    address: `10.210.${at % 256}.${2 + (service % 250)}`,
  }));

function map(services: number, each: number, nodes = 2): MeshMap {
  return {
    type: 'mesh',
    prefix: '10.210.0.0/16',
    virtualPrefix: '10.211.0.0/16',
    nodes: Array.from({ length: nodes }, (_, at) => ({
      name: `node-${String(at).padStart(3, '0')}`,
      publicKey: 'k'.repeat(44),
      port: 51_820,
      addresses: ['203.0.113.7', '192.168.1.10'],
      subnet: `10.210.${at}.0/24`,
    })),
    services: Array.from({ length: services }, (_, at) => ({
      name: `service-${String(at).padStart(4, '0')}`,
      address: `10.211.0.${at % 250}`,
      instances: instances(at, each),
    })),
  };
}

function told(messages: ReturnType<typeof meshMessages>): MeshMap {
  const [first, ...changes] = messages;
  if (first?.type !== 'mesh') throw new Error('a whole map begins with one');
  let now = first;
  for (const change of changes) {
    expect(now.more).toBe(true);
    if (change.type === 'mesh-change') now = changedMap(now, change);
  }
  return now;
}

describe('changes of the map of a network', () => {
  it('says nothing of what is the same', () => {
    expect(meshChange(map(3, 2), map(3, 2))).toBeUndefined();
  });

  it('says what came, changed and went, and leaves the rest', () => {
    const before = map(3, 3, 3);
    const [one, two] = before.services;
    if (one === undefined || two === undefined) throw new Error('no services');
    const after: MeshMap = {
      ...before,
      nodes: before.nodes.slice(1).map((node, at) => (at === 0 ? { ...node, publicKey: 'n' } : node)),
      services: [{ ...one, instances: one.instances.slice(1) }, two, { name: 'zz', instances: [] }],
    };
    const change = meshChange(before, after);
    if (change === undefined || change === 'whole') throw new Error('a change');
    expect(change.goneNodes).toEqual(['node-000']);
    expect(change.nodes.map(({ name }) => name)).toEqual(['node-001']);
    expect(change.goneServices).toEqual(['service-0002']);
    expect(change.services).toEqual([
      { ...one, instances: [], kept: true, goneInstances: ['s0-00000'] },
      { name: 'zz', instances: [] },
    ]);
    expect(changedMap(before, change)).toEqual(after);
  });

  it('begins again when something else differs', () => {
    expect(meshChange(map(1, 1), { ...map(1, 1), prefix: '10.9.0.0/16' })).toBe('whole');
  });

  it.each([
    [1, 1],
    [400, 5],
    [1, 2_000],
    [3, 5_001],
    [2_500, 0],
    [9_000, 4],
  ])('tells %i services of %i instances whole, in messages that fit', (services, each) => {
    const whole = map(services, each, 256);
    const messages = meshMessages(whole);
    expect(told(messages)).toEqual(whole);
    for (const message of messages) expect(JSON.stringify(message).length).toBeLessThan(MAX_FRAME_BYTES / 4);
  });

  it('tells of one instance in a few hundred bytes, however large the map', () => {
    const before = map(1, 2_000, 256);
    const after = map(1, 2_000, 256);
    const [service] = after.services;
    if (service === undefined) throw new Error('no service');
    const change = meshChange(before, {
      ...after,
      services: [{ ...service, instances: service.instances.slice(1) }],
    });
    expect(JSON.stringify(change).length).toBeLessThan(500);
  });
});
