import { expect, it } from 'vitest';
import { reachWarnings } from './reach-warnings.ts';

const direct = { node: 'b', path: 'direct', carries: true, address: '192.0.2.2:51820' };
const joined = (name: string, ...peers: readonly object[]) => ({
  name,
  status: 'ready',
  mesh: { subnet: '10.210.0.0/24', port: 51_820, peers },
});
const codes = (targets: readonly string[], nodes: Parameters<typeof reachWarnings>[1]) =>
  reachWarnings(new Set(targets), nodes).map(({ code }) => code);

it('says what a plan will not reach, of its own nodes alone', () => {
  const off = { name: 'off', features: ['mesh'] };
  expect(codes(['off'], [joined('a'), off])).toEqual(['node_without_network']);
  expect(codes(['a'], [joined('a', direct), joined('b'), off])).toEqual([]);
  expect(codes(['a'], [joined('a', { ...direct, path: 'relay' }), joined('b')])).toEqual(['network_relayed']);
  expect(codes(['a'], [joined('a', { ...direct, carries: false }), joined('b')])).toEqual([
    'network_unreachable',
  ]);
});

it('says nothing where no node takes part', () => {
  expect(codes(['off'], [{ name: 'off' }, { name: 'other' }])).toEqual([]);
});

it('names the node, why, and what to do', () => {
  const [told] = reachWarnings(new Set(['off']), [joined('a'), { name: 'off', features: ['mesh'] }]);
  expect(told?.why).toBe(
    "off has no part in the tenant's network (its agent runs with --mesh off): instances there and on other nodes do not reach one another by name; start it with --mesh 51820.",
  );
});
