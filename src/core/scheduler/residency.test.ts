import { describe, expect, it } from 'vitest';
import type { Residency } from '../model/deployment.ts';
import { COUNTRIES, isCountry } from '../model/countries.ts';
import { DEFAULT_REGIONS, findRegion } from './regions.ts';
import { type AdvertisingNode, residencyWarning } from './residency.ts';

const node = (country?: string, region?: string, reachable = true): AdvertisingNode => ({
  labels: {
    ...(country && { 'berth.io/country': country }),
    ...(region && { 'berth.io/geo-region': region }),
  },
  reachable,
});
const warning = (residency: Residency | undefined, nodes: readonly AdvertisingNode[], enforcement = true) =>
  residencyWarning({ ...(residency && { placement: { residency } }) }, nodes, enforcement, DEFAULT_REGIONS);

describe('the residency warning', () => {
  it.each<[string, Residency | undefined, readonly AdvertisingNode[], boolean, string | undefined]>([
    ['nothing asked, enforcement off', undefined, [], false, undefined],
    ['an empty block', { blockedCountries: [] }, [], false, undefined],
    ['a matching node', { country: 'DE' }, [node('FR'), node('DE')], true, undefined],
    ['a region by label', { region: 'eu' }, [node(undefined, 'eu')], true, undefined],
    ['a region by country', { region: 'eu' }, [node('FR')], true, undefined],
    [
      'enforcement off, even with a match',
      { country: 'DE' },
      [node('DE')],
      false,
      'residency_enforcement_off',
    ],
    ['no node', { country: 'DE' }, [], true, 'residency_no_matching_node'],
    [
      'a match that is not reachable',
      { country: 'DE' },
      [node('DE', 'eu', false)],
      true,
      'residency_no_matching_node',
    ],
    [
      'halves on two nodes',
      { country: 'DE', region: 'uk' },
      [node('DE'), node('GB')],
      true,
      'residency_no_matching_node',
    ],
    ['every node blocked', { blockedCountries: ['RU'] }, [node('RU')], true, 'residency_no_matching_node'],
  ])('%s', (_, residency, nodes, enforcement, code) => {
    expect(warning(residency, nodes, enforcement)?.code).toBe(code);
  });

  it('lists what reachable nodes advertise', () => {
    const why = warning({ country: 'DE' }, [node('fr', 'eu'), node('US'), node('AT', 'x', false)])?.why;
    expect(why).toContain('country DE');
    expect(why).toContain('berth.io/country: FR, US; berth.io/geo-region: eu');
    expect(why).toContain('waits');
    expect(warning({ country: 'DE' }, [])?.why).toContain('No node of the tenant is reachable');
  });
});

describe('regions and countries', () => {
  it('has the 249 codes of ISO 3166-1', () => {
    expect(COUNTRIES.size).toBe(249);
    expect(['DE', 'GB', 'US', 'XK', 'UK', 'EU', 'de', ''].filter(isCountry)).toEqual(['DE', 'GB', 'US']);
  });

  it('declares the decided regions, of known countries, each once', () => {
    expect(DEFAULT_REGIONS.map((region) => region.name)).toEqual([
      'eu',
      'eea',
      'dach',
      'nordics',
      'benelux',
      'uk',
      'north-america',
      'apac',
    ]);
    for (const { countries } of DEFAULT_REGIONS) {
      expect(countries.filter((code) => !isCountry(code))).toEqual([]);
      expect(new Set(countries).size).toBe(countries.length);
    }
    expect(findRegion(DEFAULT_REGIONS, 'eu')?.countries).toHaveLength(27);
    expect(findRegion(DEFAULT_REGIONS, 'eea')?.countries).toHaveLength(30);
  });
});
