import { describe, expect, it } from 'vitest';
import { type Found, Names } from './names.ts';

const names = new Names([
  {
    name: 'web',
    address: '10.211.0.5',
    instances: [
      { id: 'ins_a', node: 'n1', address: '10.210.1.2' },
      { id: 'ins_b', node: 'n2', address: '10.210.2.2' },
    ],
  },
  { name: 'old', instances: [{ id: 'ins_c', node: 'n1', address: '10.210.1.3' }] },
  { name: 'down', address: '10.211.0.6', instances: [] },
]);

describe('names of the tenant network', () => {
  it.each<[string, Found]>([
    ['web', ['10.211.0.5']],
    ['WEB.', ['10.211.0.5']],
    ['web.berth.internal', ['10.211.0.5']],
    ['instances.web.berth.internal', ['10.210.1.2', '10.210.2.2']],
    ['ins-b.web.berth.internal', ['10.210.2.2']],
    ['down', ['10.211.0.6']],
    ['instances.down.berth.internal', []],
    ['old', ['10.210.1.3']],
    ['stranger.berth.internal', 'unknown'],
    ['ins-z.web.berth.internal', 'unknown'],
    ['a.b.web.berth.internal', 'unknown'],
    ['berth.internal', undefined],
    ['example.com', undefined],
    ['web.example.com', undefined],
    ['stranger', undefined],
    ['', undefined],
  ])('%s', (asked, expected) => {
    expect(names.addresses(asked)).toEqual(expected);
  });
});
