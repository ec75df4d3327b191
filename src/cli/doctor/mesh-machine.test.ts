import { describe, expect, it } from 'vitest';
import { judgeNetwork, routesOf } from './mesh.ts';
import { judgePorts, judgePrograms, judgeRoutes, type MeshMachine } from './mesh-machine.ts';

const ALL = ['wg', 'nft', 'ip', 'bridge', 'wireguard-go'];
const machine = (more: Partial<MeshMachine> = {}): MeshMachine => ({
  system: { family: 'fedora', name: 'Fedora', hasApt: false },
  isNode: true,
  isJoined: false,
  programs: new Set(ALL),
  kernelWireGuard: false,
  tunDevice: true,
  portsTaken: [],
  forwards: true,
  routes: ['192.168.1.0/24'],
  ...more,
});
const without = (...gone: readonly string[]): Partial<MeshMachine> => ({
  programs: new Set(ALL.filter((program) => !gone.includes(program))),
});

describe('what a machine needs for the network of its tenant', () => {
  it.each([
    ['everything', judgePrograms, {}, 'good', 'WireGuard by wireguard-go'],
    [
      'the kernel',
      judgePrograms,
      { kernelWireGuard: true, ...without('wireguard-go') },
      'good',
      'by the kernel',
    ],
    ['no WireGuard', judgePrograms, without('wireguard-go'), 'bad', 'missing: wireguard-go'],
    [
      'no programs',
      judgePrograms,
      without('wg', 'nft', 'ip', 'bridge'),
      'bad',
      'missing: wireguard-tools, nftables, iproute2',
    ],
    [
      'no node',
      judgePrograms,
      { isNode: false, ...without('nft') },
      'unknown',
      'only if this machine is to be a node',
    ],
    ['no tun', judgePrograms, { tunDevice: false }, 'bad', '/dev/net/tun'],
    ['free ports', judgePorts, {}, 'good', '51820 and 51821 are free'],
    ['a port taken', judgePorts, { portsTaken: [51_820] }, 'bad', 'UDP 51820 in use'],
    ['its own ports', judgePorts, { isJoined: true, portsTaken: [51_820] }, 'good', 'used by the agent'],
    ['no forwarding', judgeRoutes, { forwards: false, isJoined: true }, 'bad', 'ip_forward is 0'],
    [
      'a route over all',
      judgeRoutes,
      { routes: ['10.0.0.0/8'] },
      'bad',
      'the route 10.0.0.0/8 overlaps what network.prefix',
    ],
    ['a route within', judgeRoutes, { routes: ['10.210.4.0/24'] }, 'good', 'no route'],
    ['a virtual one', judgeRoutes, { routes: ['10.211.9.0/24'] }, 'bad', 'network.virtualPrefix'],
  ] as const)('%s', (_, judge, more, state, text) => {
    const finding = judge(machine(more));
    expect(finding).toMatchObject({ state, text: expect.stringContaining(text) });
    if (state === 'bad') expect(finding.advice?.[0]).not.toBe('');
  });

  it('says what to type on the system that it is', () => {
    const missing = (family: 'debian' | 'fedora' | 'alpine' | 'other') =>
      judgePrograms(
        machine({ system: { family, name: '', hasApt: family === 'debian' }, ...without('wg', 'ip') }),
      ).advice?.[0];
    expect(missing('debian')).toContain('(apt-get install -y wireguard-tools iproute2)');
    expect(missing('fedora')).toContain('(dnf install -y wireguard-tools iproute)');
    expect(missing('alpine')).toContain('(apk add wireguard-tools iproute2)');
    expect(missing('other')).toContain('(install wireguard-tools iproute2)');
  });

  it('reads the routes of the kernel', () => {
    const table = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'berth-1a2b\t0000D20A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
      'tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0',
    ];
    expect(routesOf(table.join('\n'))).toEqual(['192.168.1.0/24', '10.0.0.0/8']);
  });
});

describe('the network as the control plane knows it', () => {
  const peer = { node: 'b', path: 'direct', carries: true };
  const node = (name: string, more: object = {}) => ({
    name,
    status: 'ready',
    features: ['mesh'],
    mesh: { subnet: '10.210.0.0/24', port: 51_820, peers: [] },
    ...more,
  });
  const reaching = (way: object) =>
    node('a', { mesh: { subnet: '10.210.1.0/24', port: 51_820, peers: [{ ...peer, ...way }] } });
  it.each([
    ['nobody', [], 'unknown', 'no node yet'],
    ['a direct path', [reaching({}), node('b')], 'good', '2 of 2 nodes take part; paths: 1 direct'],
    ['the relay', [reaching({ path: 'relay' }), node('b')], 'unknown', '1 relayed'],
    ['no path', [reaching({ carries: false }), node('b')], 'bad', '1 unreachable'],
    ['a node apart', [node('a', { mesh: undefined })], 'bad', '0 of 1'],
  ])('%s', (_, nodes, state, text) => {
    const finding = judgeNetwork(nodes);
    expect(finding).toMatchObject({ state, text: expect.stringContaining(text) });
    if (text.includes('1 relayed')) expect(finding.advice?.[0]).toContain('let UDP 51820 and 51821 in at b');
  });
});
