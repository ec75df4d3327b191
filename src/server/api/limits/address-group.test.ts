import { describe, expect, it } from 'vitest';
import { addressGroup, addressList } from './address-group.ts';

describe('addresses', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::9', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s is counted as %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });

  it('are listed one by one or as networks', () => {
    const listed = addressList(['127.0.0.1', '::1', '10.0.0.0/8', '2001:db8::/32']);
    const found = [
      '127.0.0.1',
      '::ffff:127.0.0.1',
      '::1',
      '10.9.9.9',
      '2001:db8:5::1',
      '127.0.0.2',
      '11.0.0.1',
    ];
    expect(found.filter((address) => listed?.(address))).toEqual(found.slice(0, 5));
    for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '', '10.0.0.0/x'])
      expect(addressList([wrong]), wrong).toBeUndefined();
  });
});
