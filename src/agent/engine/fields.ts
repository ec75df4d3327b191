import { isRecord } from '../../core/model/values.ts';

/** Reads of the engine's JSON, which differs between versions and engines: what is absent or of another type is undefined. */
export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Of text that may be no JSON at all. */
export function fieldsIn(json: string): Fields {
  try {
    return fields(JSON.parse(json));
  } catch {
    return {};
  }
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function texts(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(fields(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}
