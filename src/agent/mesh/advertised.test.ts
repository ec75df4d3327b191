import { describe, expect, it } from 'vitest';
import { advertisedProblem } from './advertised.ts';
import { outsideOf } from './peers.ts';

const MAP = {
  prefix: '10.210.0.0/16',
  virtualPrefix: '10.211.0.0/16',
  nodes: [
    { name: 'a', publicKey: 'A', port: 51_820, subnet: '10.210.0.0/24', addresses: ['192.0.2.1'] },
    { name: 'b', publicKey: 'B', port: 51_820, subnet: '10.210.1.0/24', addresses: ['192.0.2.2'] },
  ],
};

describe('an address that a node was told to name', () => {
  it.each<[string, string, number, RegExp | undefined]>([
    ['of its own', '192.0.2.1', 51_820, undefined],
    ['of a router', '203.0.113.7', 51_820, undefined],
    ['of a router that another node is behind too, with another port', '192.0.2.2', 51_830, undefined],
    ['of another node', '192.0.2.2', 51_820, /192\.0\.2\.2 with UDP 51820 is where b is/],
    ['within the network', '10.210.0.1', 51_820, /tenant's network itself \(10\.210\.0\.0\/16\)/],
    ['of a deployment', '10.211.0.1', 51_820, /tenant's network itself \(10\.211\.0\.0\/16\)/],
  ])('%s', (_what, address, port, problem) => {
    const said = advertisedProblem({ node: 'a', port, addresses: [address] }, MAP);
    if (problem === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(problem);
  });

  it('is tried only where it can lead to the machine without the network itself', () => {
    const said = ['203.0.113.7', '10.210.0.1', '10.211.0.1', '127.0.0.1', '0.0.0.0', '224.0.0.1', 'x'];
    expect(outsideOf(said, [MAP.prefix, MAP.virtualPrefix])).toEqual(['203.0.113.7']);
  });
});
