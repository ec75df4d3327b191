import { describe, expect, it } from 'vitest';
import { DEFAULT_PREFIXES, type VirtualAddressRecord } from '../../model/mesh.ts';
import {
  type AddressInput,
  DISPUTED_MS,
  HELD_MS,
  planAddresses,
  planVirtual,
  whyWithoutSubnet,
} from './addresses.ts';

const NOW = 1_795_000_000_000;

function input(more: Partial<AddressInput> = {}): AddressInput {
  return {
    prefixes: DEFAULT_PREFIXES,
    nodes: new Map(),
    isBusy: () => false,
    subnets: new Map(),
    deployments: new Set(),
    virtual: new Map(),
    nowMs: NOW,
    ...more,
  };
}

describe('addresses of a tenant network', () => {
  it('are the same for one deployment that comes or goes as for all of them', () => {
    const stored = new Map<string, VirtualAddressRecord>([
      ['web', { address: '10.211.0.1' }],
      ['gone', { address: '10.211.0.3' }],
      ['held', { address: '10.211.0.2', releasedAtMs: NOW - 5 }],
    ]);
    const deployments = new Set(['web', 'new', 'held']);
    const all = planAddresses(input({ deployments, virtual: stored }));
    const taken = new Set([...stored.values()].map(({ address }) => address));
    const some = planVirtual({
      ...input(),
      deployments: new Set(['new', 'held']),
      virtual: new Map([...stored].filter(([name]) => name !== 'web')),
      taken,
      from: 1,
    });
    expect(new Map(some.virtual)).toEqual(new Map(all.virtual));
    expect(some).toMatchObject({ next: 4, withoutAddress: [], rechecks: [HELD_MS] });
    expect(new Map(all.virtual)).toEqual(
      new Map<string, VirtualAddressRecord>([
        ['new', { address: '10.211.0.4' }],
        ['held', { address: '10.211.0.2' }],
        ['gone', { address: '10.211.0.3', releasedAtMs: NOW }],
      ]),
    );
    const next = planVirtual({
      ...input(),
      deployments: new Set(['another']),
      taken: new Set([...taken, '10.211.0.4']),
      from: some.next,
    });
    expect([...next.virtual]).toEqual([['another', { address: '10.211.0.5' }]]);
  });

  it('gives each node and each deployment the first that is free', () => {
    const plan = planAddresses(
      input({
        nodes: new Map([
          ['a', []],
          ['b', []],
        ]),
        subnets: new Map([['c', { subnet: '10.210.1.0/24', releasedAtMs: NOW }]]),
        deployments: new Set(['web', 'db']),
      }),
    );
    expect([...plan.subnets]).toEqual([
      ['a', { subnet: '10.210.0.0/24' }],
      ['b', { subnet: '10.210.2.0/24' }],
    ]);
    expect([...plan.virtual]).toEqual([
      ['web', { address: '10.211.0.1' }],
      ['db', { address: '10.211.0.2' }],
    ]);
  });

  it('changes nothing once everybody has one', () => {
    const plan = planAddresses(
      input({
        nodes: new Map([['a', ['192.168.0.0/16']]]),
        subnets: new Map([['a', { subnet: '10.210.7.0/24' }]]),
        deployments: new Set(['web']),
        virtual: new Map([['web', { address: '10.211.0.9' }]]),
      }),
    );
    expect([plan.subnets.size, plan.virtual.size, plan.without.size, plan.recheckInMs]).toEqual([
      0,
      0,
      0,
      undefined,
    ]);
  });

  it('holds what was released for a day, and gives it back to the same name', () => {
    const virtual = new Map([['web', { address: '10.211.0.1' }]]);
    const released = planAddresses(input({ virtual }));
    const held = released.virtual.get('web');
    expect(held).toEqual({ address: '10.211.0.1', releasedAtMs: NOW });
    expect(released.recheckInMs).toBe(HELD_MS);
    const kept = new Map([['web', { address: '10.211.0.1', releasedAtMs: NOW }]]);
    const other = planAddresses(input({ virtual: kept, deployments: new Set(['db']) }));
    expect(other.virtual.get('db')).toEqual({ address: '10.211.0.2' });
    expect(planAddresses(input({ virtual: kept, deployments: new Set(['web']) })).virtual.get('web')).toEqual(
      {
        address: '10.211.0.1',
      },
    );
    const later = planAddresses(input({ virtual: kept, nowMs: NOW + HELD_MS }));
    expect([...later.virtual]).toEqual([['web', undefined]]);
  });

  it('goes round the routes of a machine, and says when there is nothing left', () => {
    const one = planAddresses(input({ nodes: new Map([['a', ['10.210.0.0/17', '172.17.0.0/16']]]) }));
    expect(one.subnets.get('a')).toEqual({ subnet: '10.210.128.0/24' });
    const none = planAddresses(input({ nodes: new Map([['a', ['10.0.0.0/8']]]) }));
    expect(none.without.get('a')).toContain('overlaps a route of the machine: 10.0.0.0/8');
    const moved = planAddresses(
      input({
        nodes: new Map([['a', ['10.210.3.0/24']]]),
        subnets: new Map([['a', { subnet: '10.210.3.0/24' }]]),
      }),
    );
    expect(moved.subnets.get('a')).toEqual({ subnet: '10.210.0.0/24' });
  });

  it('gives no part to a machine that has a route to virtual addresses, since they would be taken from it', () => {
    for (const route of ['10.211.0.0/16', '10.211.7.0/24']) {
      const plan = planAddresses(input({ nodes: new Map([['a', [route]]]) }));
      expect([plan.subnets.size, plan.without.get('a')]).toEqual([
        0,
        `10.211.0.0/16, the prefix of virtual addresses, overlaps a route of the machine: ${route}`,
      ]);
    }
  });

  it('leaves containers their subnet when a route comes up, says so, and moves it when they are gone', () => {
    const held = {
      nodes: new Map([['a', ['10.210.3.0/25']]]),
      subnets: new Map([['a', { subnet: '10.210.3.0/24' }]]),
    };
    const busy = planAddresses(input({ ...held, isBusy: () => true }));
    expect([busy.subnets.size, busy.disputed.get('a'), busy.recheckInMs]).toEqual([
      0,
      'its subnet 10.210.3.0/24 overlaps a route of the machine: 10.210.3.0/25',
      DISPUTED_MS,
    ]);
    expect(planAddresses(input(held)).subnets.get('a')).toEqual({ subnet: '10.210.0.0/24' });
    const all = { ...held, nodes: new Map([['a', ['10.0.0.0/8']]]) };
    expect(planAddresses(input({ ...all, isBusy: () => true })).subnets.size).toBe(0);
  });

  it('chooses what no machine of the tenant has a way of its own to, and says which one has', () => {
    const vpn = ['10.210.0.0/23'];
    const apart = planAddresses(
      input({
        nodes: new Map([
          ['a', []],
          ['b', vpn],
        ]),
      }),
    );
    expect([...apart.subnets.values()]).toEqual([{ subnet: '10.210.2.0/24' }, { subnet: '10.210.3.0/24' }]);
    expect(apart.disputed.size).toBe(0);
    const late = planAddresses(
      input({
        nodes: new Map([
          ['a', []],
          ['b', vpn],
        ]),
        subnets: new Map([
          ['a', { subnet: '10.210.1.0/24' }],
          ['b', { subnet: '10.210.7.0/24' }],
        ]),
      }),
    );
    expect([...late.disputed]).toEqual([
      ['b', 'packets for a (10.210.1.0/24) go elsewhere by a route of the machine: 10.210.0.0/23'],
    ]);
  });

  it('gives 256 nodes a subnet, and not one more', () => {
    const nodes = new Map(Array.from({ length: 257 }, (_, at) => [`n${at}`, []] as const));
    const plan = planAddresses(input({ nodes }));
    expect(plan.subnets.size).toBe(256);
    expect(plan.without.get('n256')).toBe('all 256 subnets of 10.210.0.0/16 are taken');
  });

  it('leaves the address on which nodes answer names, and says who gets none', () => {
    const names = Array.from({ length: 14 }, (_, at) => `d${at + 1}`);
    const prefixes = { ...DEFAULT_PREFIXES, virtual: '10.9.0.0/28' };
    const plan = planAddresses(input({ prefixes, deployments: new Set(names) }));
    expect(plan.virtual.get('d13')).toEqual({ address: '10.9.0.13' });
    expect(plan.withoutAddress).toEqual(['d14']);
  });

  it('says why a node has no subnet', () => {
    const prefixes = { ...DEFAULT_PREFIXES, nodes: '10.210.0.0/23' };
    const both = ['10.210.0.0/24', '10.210.1.0/24'];
    expect(whyWithoutSubnet(prefixes, both, [])).toBe('all 2 subnets of 10.210.0.0/23 are taken');
    expect(whyWithoutSubnet(prefixes, ['10.210.0.0/24'], ['10.210.1.0/24'])).toContain(
      'overlaps a route of the machine: 10.210.1.0/24',
    );
    expect(whyWithoutSubnet(prefixes, ['10.210.0.0/24'], [])).toBeUndefined();
  });
});
