import type { Labels } from './engine.ts';
import { UnsafeSpecError } from './errors.ts';

const FULL_ID = /^[0-9a-f]{64}$/;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** An engine takes the beginning of an id for the whole one. */
export function fullId(id: string): string {
  if (!FULL_ID.test(id)) throw new UnsafeSpecError(`not a full id: ${id}`);
  return id;
}

/** Of a container or a network, or its id. */
export function plainName(name: string, what: string): string {
  if (!NAME.test(name)) throw new UnsafeSpecError(`not ${what}`);
  return name;
}

export function labelConditions(labels: Labels): { readonly label?: readonly string[] } {
  const conditions = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return conditions.length === 0 ? {} : { label: conditions };
}

export function labelFilter(labels: Labels): string {
  return JSON.stringify(labelConditions(labels));
}
