import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentSpec } from '../model/deployment.ts';
import type { NodeName, TenantId } from '../model/ids.ts';
import type { NetworkRecord } from '../model/network.ts';
import type { NodeRecord } from '../model/node.ts';
import type { VolumeRecord } from '../model/volume.ts';
import { type Announced, announcedBy, KNOWN_SOURCES } from './attachment-facts.ts';
import type { DeploymentField } from './rule.ts';
import {
  type DeploymentFacts,
  dependencyWarnings,
  deploymentFactsRejection,
  refersToRecords,
} from './deployment-facts.ts';

const SPEC = {
  kind: 'Deployment',
  name: 'web',
  image: 'shop/web:1',
  replicas: 1,
  secrets: [],
  secretsVersion: 0,
} as const satisfies DeploymentSpec;

const VOLUME = {
  class: 'replicated',
  phase: 'Ready',
  primaryNodeId: 'n1' as NodeName,
} as VolumeRecord;

interface World {
  readonly nodes?: readonly string[];
  readonly own?: string;
  readonly volumes?: Readonly<Record<string, Partial<VolumeRecord>>>;
  readonly writers?: Readonly<Record<string, readonly string[]>>;
  readonly deployments?: Readonly<Record<string, Partial<DeploymentSpec>>>;
  /** By name: the node. */
  readonly networks?: Readonly<Record<string, string>>;
  readonly isAnnounced?: Announced;
}

function networkOn(name: string, node: string): NetworkRecord {
  const nodeId = node as NodeRecord['name'];
  return {
    name,
    nodeId,
    driver: 'bridge',
    labels: {},
    internal: false,
    tenantId: 't' as TenantId,
    createdAt: '',
  };
}

function factsOf({
  own: ownNode,
  nodes = [],
  volumes = {},
  writers = {},
  deployments = {},
  networks = {},
  isAnnounced,
}: World): DeploymentFacts {
  const records = nodes.map((name) => ({ name }) as NodeRecord);
  const own = <T>(from: Readonly<Record<string, T>>, key: string): T | undefined =>
    Object.hasOwn(from, key) ? from[key] : undefined;
  return {
    tenantId: 't' as TenantId,
    nodes: () => records,
    node: (name) => records.find((record) => record.name === name),
    closedToTenant: (name) => name === ownNode,
    volume: (id) => {
      const volume = own(volumes, id);
      return volume && { ...VOLUME, ...volume };
    },
    otherWriter: (id) => own(writers, id)?.[0],
    deployment: (name) => {
      const spec = own(deployments, name);
      return spec && { ...SPEC, name, ...spec };
    },
    network: (name) => {
      const node = own(networks, name);
      return node === undefined ? undefined : networkOn(name, node);
    },
    isWorkload: (name) => own(deployments, name) !== undefined,
    ...(isAnnounced && { isAnnounced }),
  };
}

function refuse(spec: Partial<DeploymentSpec>, world: World = {}) {
  const rejection = deploymentFactsRejection({ ...SPEC, ...spec }, factsOf(world));
  // Of a spec that says it refers to nothing, no rule is asked.
  if (rejection) expect(refersToRecords({ ...SPEC, ...spec })).toBe(true);
  return rejection && [rejection.code, rejection.field];
}

const mount = (volumeId: string, readOnly = false) => ({ volumeId, mountPath: `/${volumeId}`, readOnly });

describe('volumes', () => {
  const volumes = { vol_1: {}, vol_2: { class: 'ephemeral' } } as const;

  it('accepts a ready volume, read-write by one instance or read-only by many', () => {
    expect(refuse({ volumes: [mount('vol_1'), mount('vol_2')] }, { volumes })).toBeUndefined();
    expect(
      refuse({ replicas: 9, volumes: [mount('vol_1', true)] }, { volumes, writers: { vol_1: ['db'] } }),
    ).toBeUndefined();
  });

  it.each<readonly [Partial<DeploymentSpec>, World, string, string]>([
    [{ volumes: [mount('vol_9')] }, {}, 'volume_not_found', 'volumes[0].volumeId'],
    [{ volumes: [mount('constructor')] }, {}, 'volume_not_found', 'volumes[0].volumeId'],
    [
      { volumes: [mount('vol_1'), mount('vol_3')] },
      { volumes: { vol_1: {}, vol_3: { class: 'object' } } },
      'volume_class_not_wired',
      'volumes[1].volumeId',
    ],
    [
      { volumes: [mount('vol_1', true)] },
      { volumes: { vol_1: { phase: 'Degraded' } } },
      'volume_not_ready',
      'volumes[0].volumeId',
    ],
    [
      { volumes: [mount('vol_1')] },
      { volumes: { vol_1: {} }, writers: { vol_1: ['db'] } },
      'volume_access_mode_conflict',
      'volumes[0].readOnly',
    ],
    [
      { replicas: 2, volumes: [mount('vol_1')] },
      { volumes: { vol_1: {} } },
      'volume_access_mode_conflict',
      'volumes[0].readOnly',
    ],
    [
      { nodeId: 'n2', volumes: [mount('vol_1')] },
      { volumes: { vol_1: {} }, nodes: ['n1', 'n2'] },
      'volume_primary_mismatch',
      'nodeId',
    ],
    [
      { volumes: [mount('vol_1'), mount('vol_2')] },
      { volumes: { vol_1: { hostPath: '/srv/shop/a' }, vol_2: { hostPath: '/srv/shop/a/b' } } },
      'volume_binds_nested',
      'volumes[1].volumeId',
    ],
    [
      { volumes: [mount('vol_1', true), mount('vol_2', true)] },
      { volumes: { vol_1: { hostPath: '/srv/shop/a/b' }, vol_2: { hostPath: '/srv/shop/a' } } },
      'volume_binds_nested',
      'volumes[1].volumeId',
    ],
  ])('refuses %j in %j', (spec, world, code, field) => {
    expect(refuse(spec, world)).toEqual([code, field]);
  });

  it.each([
    ['/srv/shop/a', '/srv/shop/ab'],
    ['/srv/shop/a', '/srv/shop/a'],
    ['/srv/shop/a', undefined],
  ])('accepts binds side by side: %j and %j', (one, other) => {
    const world = {
      vol_1: { hostPath: one },
      vol_2: other === undefined ? {} : { hostPath: other },
    };
    expect(refuse({ volumes: [mount('vol_1'), mount('vol_2')] }, { volumes: world })).toBeUndefined();
  });

  it('binds only writers to the primary', () => {
    const world = { volumes, nodes: ['n1', 'n2'] };
    expect(refuse({ nodeId: 'n2', volumes: [mount('vol_1', true)] }, world)).toBeUndefined();
    expect(refuse({ nodeId: 'n1', volumes: [mount('vol_1')] }, world)).toBeUndefined();
  });
});

describe('an update', () => {
  const judge = (spec: Partial<DeploymentSpec>, world: World, ...fields: DeploymentField[]) =>
    deploymentFactsRejection({ ...SPEC, ...spec }, factsOf(world), new Set(fields))?.code;

  it('is judged by the fields that it sends and by what they touch', () => {
    const gone = { volumes: [mount('vol_9')], nodeId: 'n9', dependsOn: { web: 'healthy' } } as const;
    expect(judge(gone, {}, 'labels', 'replicas')).toBeUndefined();
    expect(judge(gone, {}, 'volumes')).toBe('volume_not_found');
    expect(judge(gone, {}, 'nodeId')).toBe('node_candidates_unresolvable');
    expect(judge(gone, { nodes: ['n9'] }, 'dependsOn')).toBe('depends_on_cycle');
    const mounted = { volumes: [mount('vol_1')] };
    const world = { volumes: { vol_1: {} }, nodes: ['n1', 'n2'] };
    expect(judge({ ...mounted, replicas: 2 }, world, 'replicas')).toBe('volume_access_mode_conflict');
    expect(judge({ ...mounted, replicas: 2 }, world, 'labels')).toBeUndefined();
    expect(judge({ ...mounted, nodeId: 'n2' }, world, 'nodeId')).toBe('volume_primary_mismatch');
    expect(judge({ ...mounted, nodeId: 'n2' }, world, 'replicas')).toBeUndefined();
  });
});

describe('a named node', () => {
  it('must be one of the tenant', () => {
    expect(refuse({ nodeId: 'n1' }, { nodes: ['n1'] })).toBeUndefined();
    expect(refuse({ nodeId: 'n2' }, { nodes: ['n1'] })).toEqual(['node_not_a_placement_candidate', 'nodeId']);
    expect(refuse({ nodeId: 'n1' })).toEqual(['node_candidates_unresolvable', 'nodeId']);
    expect(refuse({}, {})).toBeUndefined();
    expect(refuse({ nodeId: 'n1' }, { nodes: ['n1', 'n2'], own: 'n1' })).toEqual([
      'node_not_a_placement_candidate',
      'nodeId',
    ]);
  });
});

describe('dependencies', () => {
  const deployments = {
    db: { dependsOn: { cache: 'started' } },
    cache: { dependsOn: { web: 'healthy' } },
  } as const;

  it('refuses a cycle through what is stored and tells the way', () => {
    const rejection = deploymentFactsRejection(
      { ...SPEC, dependsOn: { other: 'started', db: 'healthy' } },
      factsOf({ deployments }),
    );
    expect(rejection).toMatchObject({ code: 'depends_on_cycle', field: 'dependsOn.db' });
    expect(rejection?.why).toContain('web → db → cache → web');
  });

  it('a cycle that the new spec is no part of is not its fault', () => {
    const world = {
      deployments: { a: { dependsOn: { b: 'started' } }, b: { dependsOn: { a: 'started' } } },
    } as const;
    expect(refuse({ dependsOn: { a: 'started' } }, world)).toBeUndefined();
  });

  it('what the spec itself depended on before does not count', () => {
    const world = { deployments: { web: { dependsOn: { db: 'started' } }, db: {} } } as const;
    expect(refuse({ dependsOn: {} }, world)).toBeUndefined();
    expect(refuse({ dependsOn: { db: 'started' } }, world)).toBeUndefined();
  });

  it('follows a chain of fifty thousand deployments', () => {
    const length = 50_000;
    const chain = (last: Partial<DeploymentSpec>) =>
      Object.fromEntries(
        Array.from({ length }, (_, index) => [
          `d${index}`,
          index === length - 1 ? last : { dependsOn: { [`d${index + 1}`]: 'started' as const } },
        ]),
      );
    const spec = { dependsOn: { d0: 'started' } } as const;
    expect(refuse(spec, { deployments: chain({}) })).toBeUndefined();
    expect(refuse(spec, { deployments: chain({ dependsOn: { web: 'started' } }) })).toEqual([
      'depends_on_cycle',
      'dependsOn.d0',
    ]);
  });

  it('refuses exactly when the deployment can be reached from itself', () => {
    const names = ['web', 'a', 'b', 'c', 'd'] as const;
    const edges = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), {
      selector: (edge) => edge.join(' '),
    });
    fc.assert(
      fc.property(edges, (graph) => {
        const dependsOn = (from: string) =>
          Object.fromEntries(graph.flatMap(([a, b]) => (a === from ? [[b, 'started' as const]] : [])));
        const reached = new Set<string>();
        for (let grown = true; grown; ) {
          const before = reached.size;
          for (const [a, b] of graph) if (a === 'web' || reached.has(a)) reached.add(b);
          grown = reached.size > before;
        }
        const deployments = Object.fromEntries(names.map((name) => [name, { dependsOn: dependsOn(name) }]));
        const rejected = refuse({ dependsOn: dependsOn('web') }, { deployments });
        expect(rejected?.[0]).toBe(reached.has('web') ? 'depends_on_cycle' : undefined);
      }),
    );
  });

  it('warns of an unknown dependency and of a gate that never opens', () => {
    const healthCheck = { type: 'exec', command: ['x'] } as const;
    const facts = factsOf({ deployments: { db: {}, cache: { healthCheck }, queue: {} } });
    const dependsOn = { db: 'healthy', cache: 'healthy', queue: 'started', constructor: 'started' } as const;
    expect(dependencyWarnings({ ...SPEC, dependsOn }, facts).map(({ code, field }) => [code, field])).toEqual(
      [
        ['depends_on_without_healthcheck', 'dependsOn.db'],
        ['depends_on_unknown', 'dependsOn.constructor'],
      ],
    );
    expect(dependencyWarnings(SPEC, facts)).toEqual([]);
    expect(refersToRecords(SPEC)).toBe(false);
  });
});

it('volumes before the node before dependencies', () => {
  const world = { deployments: { db: { dependsOn: { web: 'started' } } } } as const;
  const spec = { dependsOn: { db: 'started' }, nodeId: 'n9', volumes: [mount('vol_9')] } as const;
  expect(refuse(spec, world)?.[0]).toBe('volume_not_found');
  expect(refuse({ ...spec, volumes: [] }, world)?.[0]).toBe('node_candidates_unresolvable');
  expect(refuse({ dependsOn: spec.dependsOn }, world)?.[0]).toBe('depends_on_cycle');
});

describe('networks and access', () => {
  const networks = { back: 'n1', front: 'n1', far: 'n2' };
  const deployments = { api: {} };
  it.each([
    [{ networks: ['back', 'tenant', 'front'] }, {}, undefined],
    [{ networks: ['back'], nodeId: 'n1' }, { nodes: ['n1'] }, undefined],
    [{ networks: ['gone'] }, {}, ['network_not_found', 'networks[0]']],
    [{ networks: ['back', 'far'] }, {}, ['network_node_mismatch', 'networks[1]']],
    [{ networks: ['back'], nodeId: 'n2' }, { nodes: ['n1', 'n2'] }, ['network_node_mismatch', 'nodeId']],
    [{ networks: ['gone'] }, { isAnnounced: () => true }, undefined],
    [{ access: { from: ['api', 'ingress', 'web'] } }, {}, undefined],
    [{ access: { from: ['api', 'wbe'] } }, {}, ['access_source_unknown', 'access.from[1]']],
    [{ access: { from: ['wbe'] } }, { isAnnounced: KNOWN_SOURCES }, undefined],
    [{ networks: ['gone'] }, { isAnnounced: KNOWN_SOURCES }, ['network_not_found', 'networks[0]']],
    [{ networks: ['gone'] }, { isAnnounced: announcedBy(['gone'], true) }, undefined],
    [
      { networks: ['gone'] },
      { isAnnounced: announcedBy(['gone'], false) },
      ['network_not_found', 'networks[0]'],
    ],
  ])('%j', (spec, world, expected) => {
    const facts = factsOf({ networks, deployments, ...world });
    const rejection = deploymentFactsRejection({ ...SPEC, ...spec }, facts);
    if (rejection) expect(refersToRecords({ ...SPEC, ...spec })).toBe(true);
    expect(rejection && [rejection.code, rejection.field]).toEqual(expected);
  });

  it('are not judged again by an update that sends neither', () => {
    const spec = { ...SPEC, networks: ['gone'], access: { from: ['wbe'] } };
    expect(deploymentFactsRejection(spec, factsOf({}), new Set<DeploymentField>(['image']))).toBeUndefined();
  });
});
