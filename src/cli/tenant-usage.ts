import { formatBytes } from '../core/model/quantity.ts';
import { QUOTA_KINDS } from '../core/model/quota.ts';
import type { Json } from './client.ts';
import { rows } from './describing.ts';
import { numberOf, textOf } from './fields.ts';
import type { Style } from './style.ts';

/** Limits of a tenant's quota that are no columns of the list, and what it has stored of what it may; empty when the answer tells neither. */
export function storedText(tenant: Json, style: Style): string {
  const entries = QUOTA_KINDS.flatMap((kind): (readonly [string, string])[] => {
    const of = (measure: string, show: (value: number) => string): string => {
      const used = numberOf(tenant, `usage.${measure}.${kind}.used`);
      const limit = numberOf(tenant, `usage.${measure}.${kind}.limit`);
      if (used === undefined || limit === undefined) return '';
      const isSet = numberOf(tenant, `quota.${measure}.${kind}`) !== undefined;
      return `${show(used)} of ${show(limit)}${isSet ? ' (quota)' : ''}`;
    };
    const records = of('records', String);
    return records === '' ? [] : [[kind, `${records.padEnd(24)} ${of('bytes', formatBytes)}`]];
  });
  const streams = textOf(tenant, 'quota.streams');
  if (streams !== '') entries.push(['streams', `at most ${streams} at a time (quota)`]);
  return entries.length === 0 ? '' : `\n${style.bold('Stored')}\n${rows(entries)}`;
}
