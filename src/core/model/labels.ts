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

/** Of a node, as it is typed: KEY=VALUE. Undefined: it is none. */
export function nodeLabelIn(text: string): readonly [key: string, value: string] | undefined {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(0, at));
  const isKey = /^[a-zA-Z0-9](?:[a-zA-Z0-9._/-]{0,251}[a-zA-Z0-9])?$/.test(key);
  return isKey ? [key, text.slice(at + 1)] : undefined;
}
