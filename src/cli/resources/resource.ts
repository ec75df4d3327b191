import { reasonOf } from '../../core/model/reason.ts';
import type { Client } from '../client.ts';
import { textOf } from '../fields.ts';
import type { Column, Listing } from '../output.ts';
import { age, expiry } from '../table.ts';

/** A kind of record that `get` lists and prints. */
export interface Resource<T = object> extends Listing<T> {
  /** Plural, as typed. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly list: (client: Client, options: ListOptions) => Promise<readonly T[]>;
  /** Absent: one is found in the list. */
  readonly one?: (client: Client, name: string) => Promise<T>;
  /** Its place in the dashboard; absent: it has none of its own. */
  readonly page?: (record: T) => string;
  /** Said of an empty list. */
  readonly nothing: string;
  /** The command that puts the first one there. */
  readonly next?: string;
}

/** With the pages of this control plane's dashboard. It shows the tenant of who is signed in, so that of another has no link. */
export function withPages<T>(resource: Resource<T>, { target: { server, tenant } }: Client): Resource<T> {
  const { page } = resource;
  if (page === undefined || tenant !== undefined) return resource;
  return { ...resource, pageOf: (record) => `${server.replace(/\/$/, '')}${page(record)}` };
}

export interface ListOptions {
  /** For kinds that belong to a deployment. */
  readonly deployment?: string | undefined;
}

export const field = <T>(header: string, read: (record: T) => unknown, wide = false): Column<T> => ({
  header,
  cell: (record) => textOf(read(record)),
  ...(wide ? { wide } : {}),
});
export const ageOf = <T>(read: (record: T) => unknown, header = 'AGE'): Column<T> => ({
  header,
  cell: (record, now) => age(textOf(read(record)), now),
});
/** As a span: the whole time is longer than all that a terminal has room for beside the rest, and `-o json` has it. */
export const expiresOf = <T>(read: (record: T) => unknown): Column<T> => ({
  header: 'EXPIRES',
  cell: (record, now) => expiry(textOf(read(record)), now),
});

/** Beginning with the reason. */
export const messageOf = <T>(read: (record: T) => unknown): Column<T> => ({
  header: 'MESSAGE',
  cell: (record) => reasonOf(textOf(read(record))),
});

export function labelsOf({ labels = {} }: { readonly labels?: object | undefined }): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');
}
