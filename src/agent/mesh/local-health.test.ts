import { expect, it } from 'vitest';
import { type LocalPlace, withLocalHealth } from './local-health.ts';

it('takes of its own node what the engine says, and of the others what the map says', () => {
  const instances = ['a', 'b', 'c', 'd'].map((id, at) => ({
    id,
    node: id === 'd' ? 'n2' : 'n1',
    address: `10.210.1.${at + 2}`,
  }));
  const places = new Map<string, LocalPlace>([
    ['a', 'none'],
    ['b', { address: '10.210.1.9' }],
    ['d', 'none'],
  ]);
  const [web] = withLocalHealth([{ name: 'web', instances }], 'n1', (id) => places.get(id));
  expect(web?.instances.map(({ id, address }) => `${id} ${address}`)).toEqual([
    'b 10.210.1.9',
    'c 10.210.1.4',
    'd 10.210.1.5',
  ]);
});
