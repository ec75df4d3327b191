import { describe, expect, it } from 'vitest';
import { nearest, nearestFew } from './nearest.ts';

const FIELDS = ['name', 'image', 'replicas', 'healthCheck', 'environment', 'secrets', 'vault_path', 'nodeId'];

describe('nearest', () => {
  it.each([
    ['healthcheck', 'healthCheck'],
    ['health_check', 'healthCheck'],
    ['HEALTHCHECK', 'healthCheck'],
    ['vaultPath', 'vault_path'],
    ['replcias', 'replicas'],
    ['replica', 'replicas'],
    ['enviroment', 'environment'],
    ['imgae', 'image'],
    ['node_id', 'nodeId'],
  ])('takes %s for %s', (word, expected) => {
    expect(nearest(word, FIELDS)).toBe(expected);
  });

  it.each([[''], ['x'], ['volumes'], ['podSecurityContext'], ['nmae2x']])('finds nothing near %j', (word) => {
    expect(nearest(word, FIELDS)).toBeUndefined();
  });

  it('counts a swap of neighbours as one step', () => {
    expect(nearest('abdc', ['abcd'])).toBe('abcd');
    expect(nearest('bacd', ['abcd'])).toBe('abcd');
    expect(nearest('badc', ['abcd'])).toBeUndefined();
  });

  it('matches names too short to be mistyped only when they are equal but for case', () => {
    expect(nearest('ID', ['id'])).toBe('id');
    expect(nearest('it', ['id'])).toBeUndefined();
  });

  it('keeps the order of equally near candidates', () => {
    expect(nearest('cart', ['card', 'care', 'cat'])).toBe('card');
    expect(nearest('cart', ['cat', 'card', 'care'])).toBe('cat');
    expect(nearestFew('cart', ['cars', 'cart', 'card'], 2)).toEqual(['cart', 'cars']);
  });

  it('prefers an exact match wherever it stands', () => {
    expect(nearest('secrets', ['secret', 'secrets'])).toBe('secrets');
  });

  it('has an answer for no candidates and for a very long word', () => {
    expect(nearest('name', [])).toBeUndefined();
    expect(nearest('n'.repeat(1_000_000), FIELDS)).toBeUndefined();
  });
});
