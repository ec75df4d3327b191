import { describe, expect, it } from 'vitest';
import {
  addressAt,
  addressText,
  type Cidr,
  cidrText,
  overlap,
  parseAddress,
  parseCidr,
  subnetAt,
} from './ipv4.ts';

const network = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
};

describe('IPv4 networks', () => {
  it.each(['0.0.0.0/0', '10.210.0.0/16', '192.168.255.0/24', '255.255.255.255/32'])(
    'read and write %s',
    (text) => {
      expect(cidrText(network(text))).toBe(text);
    },
  );

  it.each([
    '',
    '10.210.0.0',
    '10.210.0.0/33',
    '10.210.0.1/16',
    '10.210.0/16',
    '10.210.0.0/16/1',
    '10.256.0.0/16',
    '10.02.0.0/16',
    '::/0',
  ])('refuse %s', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  it('keep addresses above 127 apart', () => {
    expect(addressText(parseAddress('255.254.253.252') ?? 0)).toBe('255.254.253.252');
  });

  it.each([
    ['10.210.0.0/16', '10.210.255.0/24', true],
    ['10.210.1.0/24', '10.210.0.0/16', true],
    ['10.210.0.0/16', '10.211.0.0/16', false],
    ['0.0.0.0/0', '255.255.255.255/32', true],
  ])('%s and %s overlap: %s', (one, other, expected) => {
    expect(overlap(network(one), network(other))).toBe(expected);
  });

  it('are cut into subnets and addresses', () => {
    const all = network('10.210.0.0/16');
    expect(cidrText(subnetAt(all, 24, 255) ?? all)).toBe('10.210.255.0/24');
    expect(subnetAt(all, 24, 256)).toBeUndefined();
    expect(addressAt(all, 257)).toBe('10.210.1.1');
    expect(addressAt(all, 65_536)).toBeUndefined();
  });
});
