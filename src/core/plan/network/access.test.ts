import { describe, expect, it } from 'vitest';
import type { MeshPeer } from '../../model/mesh.ts';
import { accessVerdict, nodePath } from './access.ts';

const DB = { name: 'db' };
const PLAIN = [{}];

describe('whether one may connect to another', () => {
  it.each([
    ['everybody without a word', DB, PLAIN, true, 'no access field'],
    ['who is named', { ...DB, access: { from: ['web'] } }, PLAIN, true, 'names web'],
    ['nobody else', { ...DB, access: { from: ['api'] } }, PLAIN, false, 'names api, not web'],
    ['nobody for an empty list', { ...DB, access: { from: [] } }, PLAIN, false, 'is empty'],
    ['not to another network', { ...DB, networks: ['back'] }, PLAIN, false, 'db is on back only'],
    ['not from another network', DB, [{ networks: ['back'] }], false, 'web is not on the tenant'],
    [
      'on a common network',
      { ...DB, networks: ['back'] },
      [{ networks: ['back'] }],
      true,
      'both are on the network back',
    ],
    [
      "on the tenant's, which both name",
      { ...DB, networks: ['back', 'tenant'] },
      [{ networks: ['front', 'tenant'] }],
      true,
      'no access field',
    ],
  ] as const)('%s', (_what, to, sources, allowed, rule) => {
    const verdict = accessVerdict(to, 'web', sources);
    expect(verdict.allowed).toBe(allowed);
    expect(verdict.rule).toContain(rule);
  });
});

const PEER: MeshPeer = { node: 'b', path: 'direct', carries: true, receivedBytes: 0, sentBytes: 0 };

describe('the way between nodes', () => {
  const facts = (peer?: Partial<MeshPeer>, out: readonly string[] = []) => ({
    without: (node: string) => (out.includes(node) ? 'no nft' : undefined),
    peer: () => peer && { ...PEER, ...peer },
  });
  it.each([
    ['a', facts(), 'local', 'same node'],
    ['b', facts({ address: '1.2.3.4:5', roundTripMs: 3 }), 'direct', '1.2.3.4:5, 3 ms'],
    ['b', facts({ path: 'relay' }), 'relay', 'through the control plane'],
    ['b', facts({ path: 'relay', carries: false }), 'none', 'no answer'],
    ['b', facts(), 'none', 'has not said'],
    ['b', facts({}, ['b']), 'none', 'no nft'],
  ] as const)('to %s, case %#', (to, known, path, why) => {
    const way = nodePath('a', to, known);
    expect(way.path).toBe(path);
    expect(way.why).toContain(why);
  });
});
