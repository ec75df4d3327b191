import { describe, expect, it } from 'vitest';
import type { InstanceId, NodeName, TenantId } from '../model/ids.ts';
import type { ClusterState } from './cluster.ts';
import {
  clusterSample,
  GI,
  instanceSample,
  nodeSample,
  reasonsFor,
  requestSample,
} from '../../../test/support/samples/cluster.ts';

const place = (
  cluster: ClusterState,
  count: number,
  request = requestSample({ cpu: 1 }),
): readonly (string | undefined)[] =>
  Array.from(
    { length: count },
    (_, at) => cluster.place(`${request.deployment}-${at}` as InstanceId, request)?.node,
  );

describe('score', () => {
  it('spreads a deployment before anything else', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'), nodeSample('c', { cpu: 2 }));
    cluster.addInstance(instanceSample('x', 'b', { deployment: 'db', cpu: 2 }));
    expect(place(cluster, 8)).toEqual(['b', 'a', 'c', 'b', 'c', 'a', 'a', 'a']);
    expect(cluster.choose(requestSample({ cpu: 1 }))).toBeUndefined();
  });

  it('goes by clocks until most nodes have another time, and again when they have not', () => {
    const wrong = { conditions: [{ kind: 'clock' as const, message: 'a day ahead' }] };
    const nodes = ['a', 'b', 'c', 'd'];
    const cluster = clusterSample({}, ...nodes.map((name) => nodeSample(name)));
    const takes = (): string | undefined => cluster.choose(requestSample({ cpu: 1 }))?.node;
    expect(takes()).toBe('a');
    cluster.setNode(nodeSample('a', wrong));
    cluster.setNode(nodeSample('b', wrong));
    expect(takes()).toBe('c');
    cluster.setNode(nodeSample('c', wrong));
    expect(takes()).toBe('a');
    // A node that is away says nothing about time.
    cluster.setNode(nodeSample('c', { ...wrong, connected: false }));
    expect(takes()).toBe('a');
    cluster.setNode(nodeSample('c'));
    expect(takes()).toBe('c');
  });

  it('then takes the fullest node, by the larger of cpu and memory', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'), nodeSample('c'));
    cluster.addInstance(instanceSample('x', 'b', { deployment: 'db', cpu: 2 }));
    cluster.addInstance(instanceSample('y', 'c', { deployment: 'db', memoryBytes: 5 * GI }));
    expect(cluster.choose(requestSample())?.node).toBe('c');
  });

  it('then takes the first by name', () => {
    expect(
      clusterSample({}, nodeSample('b'), nodeSample('a10'), nodeSample('a9')).choose(requestSample())?.node,
    ).toBe('a10');
  });
});

describe('a cluster', () => {
  it('refuses a node of another tenant', () => {
    const cluster = clusterSample();
    const foreign = nodeSample('x', { tenantId: 'other' as TenantId });
    expect(() => cluster.setNode(foreign)).toThrow('node x belongs to another tenant');
    expect(cluster.choose(requestSample())).toBeUndefined();
  });

  it('counts instances that are known before their node, and after it is gone', () => {
    const cluster = clusterSample();
    cluster.addInstance(instanceSample('x', 'a', { cpu: 3.5 }));
    expect(cluster.containers).toBe(1);
    cluster.setNode(nodeSample('a'));
    expect(cluster.choose(requestSample({ cpu: 1 }))).toBeUndefined();
    cluster.removeNode('a' as NodeName);
    expect(cluster.nodes()).toEqual([]);
    cluster.setNode(nodeSample('a'));
    expect(cluster.choose(requestSample({ cpu: 1 }))).toBeUndefined();
    cluster.removeInstance('x' as InstanceId);
    expect(cluster.choose(requestSample({ cpu: 1 }))?.node).toBe('a');
  });

  it('replaces an instance that is added again', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'));
    cluster.addInstance(instanceSample('x', 'a', { cpu: 2 }));
    cluster.addInstance(instanceSample('x', 'b', { cpu: 3 }));
    expect(cluster.containers).toBe(1);
    expect(cluster.total).toEqual({ cpuMicros: 3_000_000, memoryBytes: 0, diskBytes: 0 });
    expect(cluster.node('a' as NodeName)?.usedCpuMicros).toBe(0);
    cluster.removeInstance('x' as InstanceId);
    cluster.removeInstance('x' as InstanceId);
    expect(cluster.total).toEqual({ cpuMicros: 0, memoryBytes: 0, diskBytes: 0 });
  });

  it('gives everything back when an instance goes', () => {
    const cluster = clusterSample({ quota: { containers: 1 } }, nodeSample('a'));
    const wants = requestSample({ cpu: 4, hostPorts: [80], placement: { antiAffinity: ['web', 'db'] } });
    expect(cluster.place('x' as InstanceId, wants)?.node).toBe('a');
    cluster.quota = {};
    const reasons = (deployment: string): readonly string[] =>
      reasonsFor(cluster, 'a', { ...wants, deployment }).map((reason) => reason.filter);
    expect(reasons('web')).toEqual(['anti-affinity', 'capacity', 'host-port']);
    expect(reasons('db')).toEqual(['anti-affinity', 'capacity', 'host-port']);
    cluster.removeInstance('x' as InstanceId);
    expect([...reasons('web'), ...reasons('db')]).toEqual([]);
    expect(cluster.containers).toBe(0);
  });

  it('sees a node replaced by one of another name between two decisions', () => {
    const cluster = clusterSample({}, nodeSample('b'), nodeSample('c'));
    expect(cluster.choose(requestSample())?.node).toBe('b');
    cluster.removeNode('b' as NodeName);
    cluster.setNode(nodeSample('d'));
    expect(cluster.choose(requestSample())?.node).toBe('c');
    cluster.removeNode('c' as NodeName);
    cluster.setNode(nodeSample('a'));
    expect(cluster.choose(requestSample())?.node).toBe('a');
  });

  it('chooses the same node again when a choice was not taken and the node reported meanwhile', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'));
    const request = requestSample();
    expect(cluster.choose(request)?.node).toBe('a');
    cluster.setNode(nodeSample('a', { cpu: 8 }));
    expect(cluster.choose(request)?.node).toBe('a');
  });

  it('keeps sums of fractions exact', () => {
    const cluster = clusterSample({}, nodeSample('a', { cpu: 1 }));
    expect(place(cluster, 11, requestSample({ cpu: 0.1 })).filter((node) => node === 'a')).toHaveLength(10);
  });

  it('follows a quota that is changed', () => {
    const cluster = clusterSample({ quota: { containers: 1 } }, nodeSample('a'));
    expect(place(cluster, 2)).toEqual(['a', undefined]);
    cluster.quota = { containers: 2 };
    expect(cluster.choose(requestSample())?.node).toBe('a');
  });

  it('keeps running placements on the control-plane node and adds none', () => {
    const cluster = clusterSample(
      { controlPlaneNodes: new Set(['a' as NodeName]) },
      nodeSample('a'),
      nodeSample('b'),
    );
    cluster.addInstance(instanceSample('x', 'a', { cpu: 1 }));
    expect(cluster.node('a' as NodeName)?.usedCpuMicros).toBe(1_000_000);
    expect(place(cluster, 2, requestSample({ deployment: 'new' }))).toEqual(['b', 'b']);
  });
});
