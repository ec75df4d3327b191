import { canonicalJson } from '../model/canonical.ts';
import { isRecord } from '../model/values.ts';

export interface FieldDifference {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Own members only: a map may hold a key such as `constructor`. */
function member(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Field by field, nested objects opened, lists compared whole; absent is null. */
export function fieldDifferences(before: unknown, after: unknown, path = ''): FieldDifference[] {
  if (isRecord(before) && isRecord(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return keys.flatMap((key) =>
      fieldDifferences(member(before, key), member(after, key), path === '' ? key : `${path}.${key}`),
    );
  }
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  return [{ field: path, from: before ?? null, to: after ?? null }];
}
