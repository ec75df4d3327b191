import { entries } from './entry.ts';

/** Placement blocks and residency. */
export const residencyCodes = entries({
  placement_invalid: {
    status: 422,
    field: 'placement.<field>',
    title: 'The placement block is malformed.',
    cause:
      '`constraints` is a map of node label to the value it must equal; `antiAffinity` is a list of deployment names not to share a node with (its own name spreads its instances); `residency` holds `country`, `region` and `blockedCountries`. An empty residency block constrains nothing, and an empty label or value matches nothing: such a filter would leave the deployment without a place to run.',
    accepted:
      '{ "residency": { … }, "constraints": { "<label>": "<value>" }, "antiAffinity": ["<deployment name>"] }',
    failing: '{ "placement": { "constraints": { "disk": "" } } }',
    corrected: '{ "placement": { "constraints": { "disk": "ssd" } } }',
    origin: 'extension',
  },
  residency_label_handwritten: {
    status: 422,
    field: 'labels.<key>',
    title: 'Residency is written as a label instead of the typed block.',
    cause:
      'The label form is no longer accepted: a mistyped label key or value was stored without a check, and the data went anywhere. The typed block is checked on write and produces the same labels, shown in `storedLabels`. As keys of `placement.constraints` they are refused too: no node has these labels, so that the deployment would wait for ever. The `expected` field of the rejection prints the block filled with the values you sent.',
    accepted: 'placement.residency with country, region or blockedCountries',
    failing: '{ "labels": { "berth.io/data-residency-country": "DE" } }',
    corrected: '{ "placement": { "residency": { "country": "DE" } } }',
    origin: 'extension',
  },
  residency_label_conflict: {
    status: 422,
    field: 'labels.<key>',
    title: 'Residency is given both as a label and in the placement block.',
    cause:
      'Two statements about where data may be: if they differ, either choice could break the law one of them was written for. Even when they agree, the label form is no longer accepted. Remove the label.',
    accepted: 'placement.residency only, without data-residency labels',
    failing:
      '{ "labels": { "berth.io/data-residency-country": "DE" }, "placement": { "residency": { "country": "FR" } } }',
    corrected: '{ "placement": { "residency": { "country": "FR" } } }',
    origin: 'extension',
  },
  residency_region_undeclared: {
    status: 422,
    field: 'placement.residency.region',
    title: 'The control plane does not declare a region of this name.',
    cause:
      'A region stands for a set of countries which the operator declares; an undeclared one covers none, so no node could ever match. The rejection lists the declared names; `GET /api/v1/scheduler/regions` shows them with their countries.',
    accepted: 'a declared region; by default eu, eea, dach, nordics, benelux, uk, north-america or apac',
    failing: '{ "placement": { "residency": { "region": "europe" } } }',
    corrected: '{ "placement": { "residency": { "region": "eu" } } }',
    origin: 'extension',
  },
  residency_country_invalid: {
    status: 422,
    field: 'placement.residency.country',
    title: 'A country is not an ISO 3166-1 alpha-2 code.',
    cause:
      'Countries are compared with what nodes advertise, so both use the two-letter code. Lower case is accepted and stored in upper case, which is announced. Names, three-letter codes and codes that are not assigned (`UK` is one; the code is `GB`) are refused. The field is `placement.residency.blockedCountries[<i>]` for an entry of that list.',
    accepted: 'an ISO 3166-1 alpha-2 code such as "DE"',
    failing: '{ "placement": { "residency": { "country": "Germany" } } }',
    corrected: '{ "placement": { "residency": { "country": "DE" } } }',
    origin: 'extension',
  },
});
