import type { Json } from './client.ts';

/** Reads of answers whose shape is the control plane's affair: a missing field is empty, never a crash. */
export function textOf(record: Json | undefined, path: string): string {
  const value = valueOf(record, path);
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function numberOf(record: Json | undefined, path: string): number | undefined {
  const value = valueOf(record, path);
  return typeof value === 'number' ? value : undefined;
}

export function listOf(record: Json | undefined, path: string): readonly Json[] {
  const value = valueOf(record, path);
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export function textsOf(record: Json | undefined, path: string): readonly string[] {
  const value = valueOf(record, path);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

export function mapOf(record: Json | undefined, path: string): Json {
  const value = valueOf(record, path);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function valueOf(record: Json | undefined, path: string): unknown {
  let value: unknown = record;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[key];
  }
  return value;
}
