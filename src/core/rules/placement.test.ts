import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { DeploymentDraft } from '../contract/deployment-body.ts';
import { placementRules } from './placement.ts';
import { firstRejection } from './rule.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

function rejectionOf(draft: DeploymentDraft) {
  return firstRejection(placementRules, { draft, limits });
}

function refuse(draft: DeploymentDraft) {
  const rejection = rejectionOf(draft);
  return rejection && [rejection.code, rejection.field];
}

describe('labels', () => {
  it('accepts plain ones', () => {
    const labels = { team: 'shop', 'example.com/a_b-c': '', constructor: 'x', berth: 'y', 'traefik-x': 'z' };
    expect(refuse({ labels })).toBeUndefined();
    expect(refuse({ labels: { ['a'.repeat(253)]: 'x'.repeat(4096) } })).toBeUndefined();
  });

  it.each([
    'berth.io/tenant',
    'berth.io/',
    'BERTH.io/instance',
    'berth.io/country',
    'traefik.enable',
    'Traefik.http.routers.x.rule',
  ])('refuses the reserved %s', (key) => {
    expect(refuse({ labels: { [key]: 'x' } })).toEqual(['label_reserved', `labels.${key}`]);
  });

  it.each<readonly [string, string]>([
    ['', 'x'],
    ['-a', 'x'],
    ['a-', 'x'],
    ['a b', 'x'],
    ['a=b', 'x'],
    ['ä', 'x'],
    ['a\n', 'x'],
    ['a'.repeat(254), 'x'],
    ['a', 'x\ny'],
    ['a', 'x\u0000'],
    ['a', 'x'.repeat(4097)],
  ])('refuses %j: %j', (key, value) => {
    expect(refuse({ labels: { [key]: value } })).toEqual(['labels_invalid', `labels.${key.slice(0, 64)}`]);
  });

  it('takes little time on ten thousand labels and on long keys', () => {
    const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`label-${index}`, 'x']));
    const started = performance.now();
    expect(refuse({ labels })).toBeUndefined();
    expect(refuse({ labels: { [`${'a/'.repeat(5e5)}!`]: 'x' } })?.[0]).toBe('labels_invalid');
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe('residency labels written by hand', () => {
  const labels = {
    'berth.io/data-residency-country': 'DE',
    'berth.io/data-residency-region': 'eu',
    'berth.io/blocked-countries': 'RU, BY',
  };

  it('are refused, and the typed block is printed with their values', () => {
    const rejection = rejectionOf({ labels });
    expect(rejection?.code).toBe('residency_label_handwritten');
    expect(rejection?.field).toBe('labels.berth.io/data-residency-country');
    const block = JSON.parse(rejection?.expected ?? '') as DeploymentDraft;
    expect(block).toEqual({
      placement: { residency: { country: 'DE', region: 'eu', blockedCountries: ['RU', 'BY'] } },
    });
    expect(refuse(block)).toBeUndefined();
  });

  it.each(Object.entries(labels))('alone: %s', (key, value) => {
    expect(refuse({ labels: { [key]: value } })).toEqual(['residency_label_handwritten', `labels.${key}`]);
  });

  it('are refused as constraints too, which no node could meet', () => {
    const rejection = rejectionOf({ placement: { constraints: { disk: 'ssd', ...labels } } });
    expect(rejection?.code).toBe('residency_label_handwritten');
    expect(rejection?.field).toBe('placement.constraints.berth.io/data-residency-country');
    const { placement } = JSON.parse(rejection?.expected ?? '') as DeploymentDraft;
    expect(placement?.residency).toEqual({ country: 'DE', region: 'eu', blockedCountries: ['RU', 'BY'] });
    expect(refuse({ placement: { residency: { country: 'DE' }, constraints: labels } })?.[0]).toBe(
      'residency_label_conflict',
    );
  });

  it('do not keep a record that has them as constraints from being changed in something else', () => {
    const draft = { placement: { constraints: labels } };
    const judged = (field: 'replicas' | 'placement') =>
      firstRejection(placementRules, { draft, limits, judged: new Set([field] as const) });
    expect(judged('replicas')).toBeUndefined();
    expect(judged('placement')?.code).toBe('residency_label_handwritten');
  });

  it('conflict with a block beside them', () => {
    expect(refuse({ labels, placement: { residency: { country: 'DE' } } })?.[0]).toBe(
      'residency_label_conflict',
    );
  });
});

describe('residency', () => {
  it.each([
    { country: 'DE' },
    { region: 'eu' },
    { blockedCountries: ['RU'] },
    { country: 'GB', region: 'uk', blockedCountries: [] },
  ])('accepts %j', (residency) => {
    expect(refuse({ placement: { residency } })).toBeUndefined();
  });

  it.each<readonly [NonNullable<NonNullable<DeploymentDraft['placement']>['residency']>, string, string]>([
    [{}, 'placement_invalid', 'placement.residency'],
    [{ country: 'de' }, 'residency_country_invalid', 'placement.residency.country'],
    [{ country: 'XX' }, 'residency_country_invalid', 'placement.residency.country'],
    [{ country: 'DEU' }, 'residency_country_invalid', 'placement.residency.country'],
    [{ country: '' }, 'residency_country_invalid', 'placement.residency.country'],
    [{ region: 'EU' }, 'residency_region_undeclared', 'placement.residency.region'],
    [{ region: '' }, 'residency_region_undeclared', 'placement.residency.region'],
    [
      { blockedCountries: ['RU', 'ZZ'] },
      'residency_country_invalid',
      'placement.residency.blockedCountries[1]',
    ],
    [{ country: 'XX', region: 'mars' }, 'residency_country_invalid', 'placement.residency.country'],
  ])('refuses %j with %s', (residency, code, field) => {
    expect(refuse({ placement: { residency } })).toEqual([code, field]);
  });

  it('lists the declared regions', () => {
    expect(rejectionOf({ placement: { residency: { region: 'mars' } } })?.expected).toBe('one of: eu, uk');
  });
});

describe('other filters', () => {
  it.each<readonly [NonNullable<DeploymentDraft['placement']>, string | undefined]>([
    [{}, undefined],
    [{ constraints: { disk: 'ssd', 'berth.io/country': 'DE' } }, undefined],
    [{ constraints: { ['k'.repeat(253)]: 'v' } }, undefined],
    [{ constraints: { ['k'.repeat(254)]: 'v' } }, `placement.constraints.${'k'.repeat(64)}`],
    [{ constraints: { disk: '' } }, 'placement.constraints.disk'],
    [{ constraints: { '': 'ssd' } }, 'placement.constraints.'],
    [{ antiAffinity: ['web', 'db-1'] }, undefined],
    [{ antiAffinity: ['web', 'Web'] }, 'placement.antiAffinity[1]'],
    [{ antiAffinity: [''] }, 'placement.antiAffinity[0]'],
    [{ antiAffinity: ['a'.repeat(64)] }, 'placement.antiAffinity[0]'],
  ])('%j', (placement, field) => {
    expect(refuse({ placement })).toEqual(field === undefined ? undefined : ['placement_invalid', field]);
  });
});
