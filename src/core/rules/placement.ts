import { isCountry } from '../model/countries.ts';
import { LABEL_DOMAIN, RESIDENCY_LABELS } from '../model/labels.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isName } from './name.ts';
import { type DeploymentInput, type Rule, reading } from './rule.ts';

const COUNTRY = /^[A-Z]{2}$/;
const LABEL_KEY = /^[A-Za-z0-9](?:[A-Za-z0-9_./-]{0,251}[A-Za-z0-9])?$/;
const MAX_LABEL_VALUE = 4096;
const RESERVED_PREFIXES = [LABEL_DOMAIN, 'traefik.'];

/**
 * Hand-written residency labels are refused, and the refusal prints the typed block filled in. No node has them, so that as
 * constraints they leave no place to run.
 */
function handwrittenRejection(
  field: 'labels' | 'placement.constraints',
  labels: Readonly<Record<string, string>>,
  { draft }: DeploymentInput,
): Rejection | undefined {
  const written = Object.values(RESIDENCY_LABELS).filter((label) => Object.hasOwn(labels, label));
  const first = written[0];
  if (first === undefined) return undefined;
  const blocked = labels[RESIDENCY_LABELS.blockedCountries];
  const block = {
    placement: {
      residency: {
        ...(labels[RESIDENCY_LABELS.country] === undefined
          ? {}
          : { country: labels[RESIDENCY_LABELS.country] }),
        ...(labels[RESIDENCY_LABELS.region] === undefined ? {} : { region: labels[RESIDENCY_LABELS.region] }),
        ...(blocked === undefined ? {} : { blockedCountries: blocked.split(',').map((part) => part.trim()) }),
      },
    },
  };
  const both = draft.placement?.residency !== undefined;
  return reject(both ? 'residency_label_conflict' : 'residency_label_handwritten', {
    field: `${field}.${first}`,
    received: received(labels[first]),
    expected: both ? 'the placement.residency block alone; remove the label' : JSON.stringify(block),
    why: both
      ? 'The residency is set twice: by a label written by hand and by the typed block.'
      : 'Residency is declared with the typed placement.residency block; the label form is no longer accepted.',
  });
}

export function labelsRule(
  labels: Readonly<Record<string, string>>,
  field = 'labels',
): Rejection | undefined {
  for (const [key, value] of Object.entries(labels)) {
    const prefix = RESERVED_PREFIXES.find((reserved) => key.toLowerCase().startsWith(reserved));
    if (prefix !== undefined) {
      return reject('label_reserved', {
        field: `${field}.${key}`,
        received: received(value),
        why: `Labels that start with ${prefix} are written by the platform alone.`,
      });
    }
    if (!LABEL_KEY.test(key) || value.length > MAX_LABEL_VALUE || /[\u0000-\u001f]/.test(value)) {
      return reject('labels_invalid', {
        field: `${field}.${key.slice(0, 64)}`,
        received: received(value),
        why: 'A label key has letters, digits and _ . / - only, and a value has no control characters.',
      });
    }
  }
  return undefined;
}

export function countryRule(field: string, country: string): Rejection | undefined {
  if (COUNTRY.test(country) && isCountry(country)) return undefined;
  return reject('residency_country_invalid', {
    field,
    received: received(country),
    why: 'A country is an ISO 3166-1 alpha-2 code.',
  });
}

function residencyRule({ draft, limits }: DeploymentInput): Rejection | undefined {
  const residency = draft.placement?.residency;
  if (residency === undefined) return undefined;
  if (residency.country !== undefined) {
    const rejection = countryRule('placement.residency.country', residency.country);
    if (rejection) return rejection;
  }
  const { region } = residency;
  if (region !== undefined && !limits.regions.some((declared) => declared.name === region)) {
    const names = limits.regions.map((declared) => declared.name).join(', ');
    return reject('residency_region_undeclared', {
      field: 'placement.residency.region',
      received: received(region),
      expected: names === '' ? 'no region is declared on this control plane' : `one of: ${names}`,
      why: 'The control plane declares no region of this name.',
    });
  }
  for (const [index, country] of (residency.blockedCountries ?? []).entries()) {
    const rejection = countryRule(`placement.residency.blockedCountries[${index}]`, country);
    if (rejection) return rejection;
  }
  if (Object.keys(residency).length === 0) {
    return reject('placement_invalid', {
      field: 'placement.residency',
      received: received(residency),
      expected: 'country, region or blockedCountries; or no residency block',
      why: 'An empty residency block constrains nothing.',
    });
  }
  return undefined;
}

function filtersRule({ draft }: DeploymentInput): Rejection | undefined {
  for (const [key, value] of Object.entries(draft.placement?.constraints ?? {})) {
    if (key !== '' && value !== '' && key.length <= 253 && value.length <= MAX_LABEL_VALUE) continue;
    return reject('placement_invalid', {
      field: `placement.constraints.${key.slice(0, 64)}`,
      received: received(value),
      expected: 'a non-empty node label and its value',
      why: 'A constraint compares a node label with a value; both must be given.',
    });
  }
  for (const [index, name] of (draft.placement?.antiAffinity ?? []).entries()) {
    if (isName(name)) continue;
    return reject('placement_invalid', {
      field: `placement.antiAffinity[${index}]`,
      received: received(name),
      expected: 'the name of a deployment',
      why: 'antiAffinity lists names of deployments not to share a node with.',
    });
  }
  return undefined;
}

export const placementRules: readonly Rule<DeploymentInput>[] = [
  reading(['labels'], (input) => handwrittenRejection('labels', input.draft.labels ?? {}, input)),
  reading(['labels'], ({ draft }) => labelsRule(draft.labels ?? {})),
  reading(['placement'], (input) =>
    handwrittenRejection('placement.constraints', input.draft.placement?.constraints ?? {}, input),
  ),
  reading(['placement'], residencyRule),
  reading(['placement'], filtersRule),
];
