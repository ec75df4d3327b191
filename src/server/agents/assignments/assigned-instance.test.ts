import { describe, expect, it } from 'vitest';
import { PLATFORM_CONTAINER_DEFAULTS } from '../../../core/model/container-defaults.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import type { InstanceId, NodeName, TenantId } from '../../../core/model/ids.ts';
import { assignedInstance, ingressLabels } from './assigned-instance.ts';

const spec: DeploymentSpec = {
  kind: 'Deployment',
  name: 'web',
  image: 'r.example/web:1',
  replicas: 1,
  secrets: [],
  secretsVersion: 0,
};
const record = {
  id: 'ins_1' as InstanceId,
  tenantId: 't' as TenantId,
  deployment: 'web',
  specHash: 'h',
  secretsVersion: 0,
  nodeId: 'n1' as NodeName,
  wanted: 'run',
  createdAt: '',
  attempt: 2,
} as const;
const facts = (one: DeploymentSpec | undefined) => ({
  tenantSlug: 'shop',
  features: ['confinement', 'networks'],
  defaults: PLATFORM_CONTAINER_DEFAULTS,
  nodeMemoryBytes: 10 * 2 ** 30,
  spec: () => one,
  volume: () => undefined,
  hasStarted: () => false,
});

describe('an assigned instance', () => {
  it('of a bare spec', () => {
    expect(assignedInstance(record, facts(spec))).toEqual({
      id: 'ins_1',
      deployment: 'web',
      wanted: 'run',
      specHash: 'h',
      secretsVersion: 0,
      attempt: 2,
      container: {
        image: 'r.example/web:1',
        environment: {},
        needsSecrets: false,
        bounds: { memoryBytes: 9 * 2 ** 30, pids: 4096, cpuWeight: 100, logBytes: 30_000_000 },
        ports: [],
        labels: {},
        mounts: [],
        alias: 'web',
      },
    });
  });

  it('is nothing without its spec or its volume, but a stop needs neither', () => {
    expect(assignedInstance(record, facts(undefined))).toBeUndefined();
    expect(
      assignedInstance(
        record,
        facts({ ...spec, volumes: [{ volumeId: 'vol_x', mountPath: '/d', readOnly: true }] }),
      ),
    ).toBeUndefined();
    expect(assignedInstance({ ...record, wanted: 'stop' }, facts(undefined))).toMatchObject({
      wanted: 'stop',
    });
  });

  it('carries what a workload gives up, and is nothing where the agent would ignore it', () => {
    const confined = { user: '1000', readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
    const asked = facts({ ...spec, ...confined });
    expect(assignedInstance(record, asked)?.container).toMatchObject(confined);
    for (const one of [
      { user: '1000' },
      { readOnlyRootFilesystem: true },
      { capabilities: { drop: ['ALL'] } },
      { networks: ['backend'] },
    ])
      expect(assignedInstance(record, { ...facts({ ...spec, ...one }), features: [] })).toBeUndefined();
    expect(assignedInstance(record, { ...facts(spec), features: [] })).toBeDefined();
  });

  it('takes the name as the id of its router, verbatim', () => {
    const ingress = [{ host: 'a.example', port: 80, provider: 'traefik' }] as const;
    expect(ingressLabels({ ...spec, name: 'b-c', ingress }, 'a')).toEqual({
      'traefik.enable': 'true',
      'traefik.docker.network': 'berth-a',
      'traefik.http.routers.b-c.rule': 'Host(`a.example`)',
      'traefik.http.routers.b-c.service': 'b-c',
      'traefik.http.services.b-c.loadbalancer.server.port': '80',
    });
  });
});
