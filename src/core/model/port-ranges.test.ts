import { describe, expect, it } from 'vitest';
import { portRange, portRangesText, portsOutside } from './port-ranges.ts';

describe('port ranges', () => {
  it.each([
    ['443', { from: 443, to: 443 }],
    ['8000-8999', { from: 8000, to: 8999 }],
    ['1-65535', { from: 1, to: 65_535 }],
  ])('reads %s', (text, range) => {
    expect(portRange(text)).toEqual(range);
  });

  it.each(['', '0', '65536', '9-8', '1-2-3', '-5', '5-', ' 5', '1e3', '5.0', 'http', '08'])(
    'refuses %j',
    (text) => {
      expect(portRange(text)).toBeUndefined();
    },
  );

  it('say what is outside; without any, nothing is', () => {
    expect(portsOutside([22, 443, 8001], ['443', '8000-8999'])).toEqual([22]);
    expect(portsOutside([22], [])).toEqual([22]);
    expect(portsOutside([22], undefined)).toEqual([]);
    expect([undefined, [], ['1', '3-4']].map(portRangesText)).toEqual(['any', 'none', '1, 3-4']);
  });
});
