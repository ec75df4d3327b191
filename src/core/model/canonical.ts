import { isRecord } from './values.ts';

/** JSON with keys sorted by their code units, as `sort` does, and without undefined members: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (isRecord(value)) {
    let members = '';
    for (const key of Object.keys(value).sort()) {
      const member = value[key];
      if (member === undefined) continue;
      members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
    }
    return `{${members}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
