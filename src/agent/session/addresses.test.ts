import { describe, expect, it } from 'vitest';
import { Addresses } from './addresses.ts';

const IDENTITY = { server: 'https://a', nodeName: 'n1', nodeToken: 'secret' };

describe('addresses of control planes', () => {
  it('stay with the only one there is', () => {
    const addresses = new Addresses(IDENTITY);
    addresses.moveOn();
    expect(addresses.current).toBe('https://a');
  });

  it('go on to any other one, never to the one that just failed', () => {
    const given = { ...IDENTITY, moreServers: ['https://b', 'https://c'] };
    const seen = new Set<string>();
    const addresses = new Addresses(given);
    for (let index = 0; index < 100; index += 1) {
      const before = addresses.current;
      addresses.moveOn();
      expect(addresses.current).not.toBe(before);
      seen.add(addresses.current);
    }
    expect(seen).toEqual(new Set(['https://a', 'https://b', 'https://c']));
  });

  it('are learned in place of what was learned before, beside what was given', () => {
    const addresses = new Addresses({ ...IDENTITY, moreServers: ['https://b'] }, () => 0.99);
    expect(addresses.learn(['https://d', 'https://a'])).toBe(true);
    expect(addresses.learn(['https://a', 'https://d'])).toBe(false);
    // Given ones first, then learned ones, then all over again.
    const order = ['https://b', 'https://d', 'https://b'];
    for (const next of order) {
      addresses.moveOn();
      expect(addresses.current).toBe(next);
    }
    expect(addresses.learn(['https://e'])).toBe(true);
    const after = ['https://a', 'https://e', 'https://b'];
    for (const next of after) {
      addresses.moveOn();
      expect(addresses.current).toBe(next);
    }
  });

  it('do not leave TLS, and are addresses', () => {
    const addresses = new Addresses(IDENTITY);
    expect(addresses.learn(['http://plain', 'ftp://x', 'https://', '../x'])).toBe(false);
    expect(new Addresses({ ...IDENTITY, server: 'http://a' }).learn(['http://plain'])).toBe(true);
  });
});
