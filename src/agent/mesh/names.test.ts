import { describe, expect, it } from 'vitest';
import { Names } from './names.ts';

const names = new Names([
  {
    name: 'web',
    address: '10.211.0.5',
    ports: [8000, 9000],
    instances: [
      { id: 'ins_a', node: 'n1', address: '10.210.1.2' },
      { id: 'ins_b', node: 'n2', address: '10.210.2.2' },
    ],
  },
  { name: 'old', instances: [{ id: 'ins_c', node: 'n1', address: '10.210.1.3' }] },
  { name: 'down', address: '10.211.0.6', instances: [] },
]);

describe('names of the tenant network', () => {
  it.each<[string, readonly string[] | 'unknown' | undefined]>([
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
    ['berth.internal', []],
    ['_8000._tcp.web.berth.internal', []],
    ['_1._tcp.web.berth.internal', 'unknown'],
    ['_8000._sctp.web.berth.internal', 'unknown'],
    ['example.com', undefined],
    ['web.example.com', undefined],
    ['stranger', undefined],
    ['', undefined],
  ])('%s', (asked, expected) => {
    const found = names.find(asked);
    expect(typeof found === 'object' ? found.addresses : found).toEqual(expected);
  });

  it.each<[string, readonly string[]]>([
    ['web', ['ins-a:8000', 'ins-a:9000', 'ins-b:8000', 'ins-b:9000']],
    ['_8000._tcp.web.berth.internal', ['ins-a:8000', 'ins-b:8000']],
    ['ins-b.web.berth.internal', ['ins-b:8000', 'ins-b:9000']],
    ['old', []],
  ])('ports of %s', (asked, expected) => {
    const found = names.find(asked);
    const places = typeof found === 'object' ? found.places : [];
    expect(places.map(({ target, port }) => `${target.split('.')[0]}:${port}`)).toEqual(expected);
  });
});
