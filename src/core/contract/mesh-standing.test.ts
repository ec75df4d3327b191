import { describe, expect, it } from 'vitest';
import { NO_PART } from '../model/mesh.ts';
import { meshStanding, namesOf, waysText, wayTo } from './mesh-standing.ts';

const mesh = { subnet: '10.210.0.0/24', port: 51_820, addresses: ['192.0.2.1'], peers: [] };

describe('how a node stands in its tenant network', () => {
  it.each([
    ['with a subnet', { mesh }, { state: 'joined' }],
    ['without one yet', { mesh: { port: 1, addresses: [] } }, { state: 'joining' }],
    [
      'without a free one',
      { mesh: { problem: 'all 256 subnets of 10.210.0.0/16 are taken' } },
      {
        state: 'apart',
        why: 'all 256 subnets of 10.210.0.0/16 are taken',
        fix: expect.stringContaining('network.prefix'),
      },
    ],
    [
      'without a program',
      { features: ['mesh'], problems: ['other', `${NO_PART}nft is not installed`] },
      { state: 'apart', why: 'nft is not installed', fix: expect.stringContaining('nftables') },
    ],
    ['turned off', { features: ['mesh'] }, { state: 'apart', why: expect.stringContaining('--mesh off') }],
    ['of an earlier release', {}, { state: 'apart', why: expect.stringContaining('earlier release') }],
    [
      'broken while it takes part',
      { mesh, problems: [`${NO_PART}nft failed`] },
      { state: 'joined', why: 'nft failed' },
    ],
    [
      'with a route of its machine in the way',
      { mesh: { ...mesh, problem: 'its subnet overlaps' } },
      { state: 'joined', why: 'its subnet overlaps', fix: expect.stringContaining('drain the node') },
    ],
  ])('%s', (_, node, standing) => {
    expect(meshStanding(node)).toMatchObject(standing);
  });
});

describe('the way to a peer', () => {
  const peer = { node: 'b', path: 'direct', carries: true, address: '192.0.2.2:51820' };
  const ready = { name: 'b', status: 'ready', mesh: { ...mesh, port: 7000 } };
  it.each([
    ['direct', peer, ready, { state: 'direct', address: '192.0.2.2:51820' }],
    [
      'relayed',
      { ...peer, path: 'relay' },
      ready,
      { state: 'relayed', fix: expect.stringContaining('7000 and 7001') },
    ],
    [
      'silent',
      { ...peer, carries: false },
      ready,
      { state: 'none', why: expect.stringContaining('neither') },
    ],
    [
      'of a silent node',
      { ...peer, carries: false },
      { ...ready, status: 'failed' },
      { state: 'none', why: 'b is silent' },
    ],
    ['of a node that is gone', { ...peer, path: 'none', carries: false }, undefined, { state: 'none' }],
  ])('%s', (_, one, to, way) => {
    expect(wayTo(one, to)).toMatchObject(way);
  });

  it('is counted', () => {
    expect(waysText([{ state: 'none' }, { state: 'direct' }, { state: 'direct' }])).toBe(
      '2 direct, 1 unreachable',
    );
    expect(waysText([])).toBe('');
    expect(namesOf('web').own).toBe('web.berth.internal');
  });
});
