import type { Region } from '../model/region.ts';

const EU = codes('AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK');
const APAC = codes('AU BD BN CN FJ HK ID IN JP KH KR LA LK MM MN MO MY NP NZ PG PH PK SG TH TL TW VN');

/** What a control plane declares when its configuration names no regions. */
export const DEFAULT_REGIONS: readonly Region[] = [
  { name: 'eu', countries: EU },
  { name: 'eea', countries: [...EU, 'IS', 'LI', 'NO'] },
  { name: 'dach', countries: ['AT', 'CH', 'DE'] },
  { name: 'nordics', countries: ['DK', 'FI', 'IS', 'NO', 'SE'] },
  { name: 'benelux', countries: ['BE', 'LU', 'NL'] },
  { name: 'uk', countries: ['GB'] },
  { name: 'north-america', countries: ['CA', 'MX', 'US'] },
  { name: 'apac', countries: APAC },
];

export function findRegion(regions: readonly Region[], name: string): Region | undefined {
  return regions.find((region) => region.name === name);
}

function codes(text: string): readonly string[] {
  return text.split(' ');
}
