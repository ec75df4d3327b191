import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressClass, canonicalAddress, classifyAddress } from './addresses.ts';

const table: Readonly<Record<AddressClass, readonly string[]>> = {
  public: [
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001::1',
    '::ffff:1.1.1.1',
    '64:ff9b::101:101',
    '2002:101:101::1',
  ],
  inside: [
    '127.0.0.1',
    '10.255.255.255',
    '172.16.0.0',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.0',
    '198.19.255.255',
    '::1',
    'fc00::',
    'fdff:ffff::1',
    'fec0::1',
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    '::ffff:0:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::10.0.0.1',
    '2002:7f00:1::',
    '2606:4700::5efe:192.168.1.1',
    '2606:4700::200:5efe:192.168.1.1',
  ],
  guarded: [
    '169.254.169.254',
    '168.63.129.16',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '255.255.255.255',
    '224.0.0.1',
    '240.0.0.1',
    '192.0.2.1',
    '203.0.113.9',
    '::',
    '::ffff:0.0.0.0',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '64:ff9b:1::1',
    '4000::1',
    '100::1',
    '127.1',
    '0x7f.1',
    'localhost',
    '',
  ],
};

describe('classifyAddress', () => {
  for (const [wanted, addresses] of Object.entries(table)) {
    it.each(addresses)(`%s is ${wanted}`, (address) => {
      expect(classifyAddress(address)).toBe(wanted);
    });
  }

  it('judges every form that carries an IPv4 address as that address', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const hex = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16));
        const plain = classifyAddress(`${a}.${b}.${c}.${d}`);
        expect(classifyAddress(`::ffff:${a}.${b}.${c}.${d}`)).toBe(plain);
        expect(classifyAddress(`0:0:0:0:0:FFFF:${hex.join(':')}`)).toBe(plain);
        expect(classifyAddress(`64:ff9b::${hex.join(':')}`)).toBe(plain);
        expect(classifyAddress(`2002:${hex.join(':')}::1`)).toBe(plain);
      }),
    );
  });
});

describe('canonicalAddress', () => {
  it('is the same for all spellings of one address', () => {
    const spellings = ['fe80::1%eth0', 'FE80:0:0:0:0:0:0:1', 'fe80::0.0.0.1'].map(canonicalAddress);
    expect(new Set(spellings).size).toBe(1);
    expect(canonicalAddress('fe80::2')).not.toBe(spellings[0]);
    expect(canonicalAddress('10.0.0.1')).toBe('10.0.0.1');
  });
});
