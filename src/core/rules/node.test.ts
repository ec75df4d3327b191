import { describe, expect, it } from 'vitest';
import { isRejection } from '../rejections/reject.ts';
import { foldCountry, nodeDescription, nodeLabelsRule, nodeNameRule } from './node.ts';

const regions = [{ name: 'eu', countries: ['DE', 'FR'] }];

describe('the name of a node', () => {
  it.each(['a', '1', 'berlin-1', 'a.b.c', 'x'.repeat(63), 'a-', 'a.'])('may be %s', (name) => {
    expect(nodeNameRule(name)).toBeUndefined();
  });
  it.each([undefined, '', 'A', '-a', '.a', 'a_b', 'a/b', 'ä', 'a b', 'x'.repeat(64), 'a\n'])(
    'may not be %j',
    (name) => {
      expect(nodeNameRule(name)).toMatchObject({ code: 'node_name_invalid', field: 'nodeName' });
    },
  );
});

describe('labels of a node', () => {
  it.each([
    {},
    { disk: 'ssd' },
    { 'berth.io/country': 'DE' },
    { 'berth.io/geo-region': 'eu' },
    { 'example.com/rack': 'a/b' },
  ])('may be %j', (labels) => {
    expect(nodeLabelsRule(labels, regions)).toBeUndefined();
  });
  it.each([
    [{ 'berth.io/country': 'de' }, 'residency_country_invalid'],
    [{ 'berth.io/country': 'XX' }, 'residency_country_invalid'],
    [{ 'berth.io/geo-region': 'mars' }, 'residency_region_undeclared'],
    [{ 'berth.io/data-residency-country': 'DE' }, 'label_reserved'],
    [{ 'berth.io/tenant': 'x' }, 'label_reserved'],
    [{ 'traefik.enable': 'true' }, 'label_reserved'],
    [{ 'a b': 'x' }, 'labels_invalid'],
    [{ a: 'x\ny' }, 'labels_invalid'],
    [Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`l${index}`, 'x'])), 'labels_invalid'],
  ])('may not be %j', (labels, code) => {
    expect(nodeLabelsRule(labels, regions)).toMatchObject({ code });
  });
  it('have their country folded', () => {
    expect(foldCountry({ 'berth.io/country': 'de', a: 'b' })).toEqual({ 'berth.io/country': 'DE', a: 'b' });
  });
});

describe('the description of a node', () => {
  const whole = {
    capacity: { cpu: 0.5, memoryBytes: 1 },
    platform: 'linux/arm/v7',
    engine: { kind: 'podman', version: '4.3' },
    agentVersion: '1',
  };
  it('is taken when complete', () => {
    expect(nodeDescription(whole)).toEqual(whole);
  });
  it.each([
    ['capacity.cpu', { capacity: undefined }],
    ['capacity.cpu', { capacity: { cpu: Number.NaN, memoryBytes: 1 } }],
    ['capacity.cpu', { capacity: { cpu: 100_001, memoryBytes: 1 } }],
    ['capacity.memoryBytes', { capacity: { cpu: 1, memoryBytes: 1.5 } }],
    ['platform', { platform: 'linux/amd64\n' }],
    ['platform', { platform: undefined }],
    ['engine.kind', { engine: { kind: '', version: '1' } }],
    ['engine.version', { engine: { kind: 'docker' } }],
    ['agentVersion', { agentVersion: 'x'.repeat(129) }],
  ])('is refused at %s', (field, change) => {
    const result = nodeDescription({ ...whole, ...change });
    expect(isRejection(result) && [result.code, result.field]).toEqual(['node_invalid', field]);
  });
});
