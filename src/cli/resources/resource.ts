import type { Client, Json } from '../client.ts';
import { mapOf, textOf } from '../fields.ts';
import type { Column, Listing } from '../output.ts';
import { age } from '../table.ts';

/** A kind of record that `get` lists and prints. */
export interface Resource extends Listing {
  /** Plural, as typed. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly list: (client: Client, options: ListOptions) => Promise<readonly Json[]>;
  /** Absent: one is found in the list. */
  readonly one?: (client: Client, name: string) => Promise<Json>;
  /** Said of an empty list. */
  readonly nothing: string;
  /** The command that puts the first one there. */
  readonly next?: string;
}

export interface ListOptions {
  /** For kinds that belong to a deployment. */
  readonly deployment?: string | undefined;
}

export const field = (header: string, path: string, wide = false): Column => ({
  header,
  cell: (record) => textOf(record, path),
  ...(wide ? { wide } : {}),
});
export const ageOf = (path: string, header = 'AGE'): Column => ({
  header,
  cell: (record, now) => age(textOf(record, path), now),
});
export const named =
  (path: string) =>
  (record: Json): string =>
    textOf(record, path);

export function labelsOf(record: Json): string {
  return Object.entries(mapOf(record, 'labels'))
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');
}
