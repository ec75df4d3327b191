export const LABEL_DOMAIN = 'berth.io/';

export const NODE_LABELS = {
  country: `${LABEL_DOMAIN}country`,
  region: `${LABEL_DOMAIN}geo-region`,
} as const;

export const RESIDENCY_LABELS = {
  country: `${LABEL_DOMAIN}data-residency-country`,
  region: `${LABEL_DOMAIN}data-residency-region`,
  blockedCountries: `${LABEL_DOMAIN}blocked-countries`,
} as const;

export const CONTAINER_LABELS = {
  tenant: `${LABEL_DOMAIN}tenant`,
  deployment: `${LABEL_DOMAIN}deployment`,
  instance: `${LABEL_DOMAIN}instance`,
  specHash: `${LABEL_DOMAIN}spec-hash`,
  secretsVersion: `${LABEL_DOMAIN}secrets-version`,
  /** Of containers that were started as a canary. */
  canary: `${LABEL_DOMAIN}canary`,
} as const;
