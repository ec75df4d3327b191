import { formatBytes } from '../core/model/quantity.ts';
import { QUOTA_KINDS } from '../core/model/quota.ts';
import { rows } from './describing.ts';
import { textOf } from './fields.ts';
import type { Tenant } from './records.ts';
import type { Style } from './style.ts';

/** Limits of a tenant's quota that are no columns of the list, and what it has stored of what it may; empty when the answer tells neither. */
export function storedText(tenant: Tenant, style: Style): string {
  const entries = QUOTA_KINDS.flatMap((kind): (readonly [string, string])[] => {
    const of = (measure: 'records' | 'bytes', show: (value: number) => string): string => {
      const { used, limit } = tenant.usage?.[measure]?.[kind] ?? {};
      if (used === undefined || limit === undefined) return '';
      const isSet = tenant.quota?.[measure]?.[kind] !== undefined;
      return `${show(used)} of ${show(limit)}${isSet ? ' (quota)' : ''}`;
    };
    const records = of('records', String);
    return records === '' ? [] : [[kind, `${records.padEnd(24)} ${of('bytes', formatBytes)}`]];
  });
  const streams = textOf(tenant.quota?.streams);
  if (streams !== '') entries.push(['streams', `at most ${streams} at a time (quota)`]);
  return entries.length === 0 ? '' : `\n${style.bold('Stored')}\n${rows(entries)}`;
}
