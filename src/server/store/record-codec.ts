import { isRecord } from '../../core/model/values.ts';
import { ConfigError } from '../config-values.ts';
import { parseKey } from './keys.ts';
import type { Members, Migration } from './migrations.ts';

/** A store, or a record of it, in a format that this release cannot use. Waiting or starting again does not help. */
export class StoreFormatError extends ConfigError {}

/** The ingress of a spec was one object, and meant labels for Traefik. Quotes within texts are escaped: this is found in none. */
const OLD_INGRESS = '"ingress":{"host":"';
const OLD_INGRESSES = /"ingress":\{("host":"[a-z0-9.-]{1,253}","port":[0-9]{1,5})\}/g;
const INGRESS_LIST = '"ingress":[{$1,"provider":"traefik"}]';

function withIngressList(text: string): string {
  return text.includes(OLD_INGRESS) ? text.replace(OLD_INGRESSES, INGRESS_LIST) : text;
}

const VERSION = /^\{"v":(\d{1,6})[,}]/;

/** Records to text and back. Each text begins with the format that it was written in. */
export class RecordCodec {
  readonly oldest: number;
  readonly newest: number;
  readonly #migrations: readonly Migration[];
  /** Before the record's own members, so that both ways need no copy of it. */
  readonly #prefix: string;
  readonly #empty: string;
  /** Of earlier formats in which every record reads as today. */
  readonly #alike: readonly string[];

  constructor(oldest: number, migrations: readonly Migration[]) {
    this.oldest = oldest;
    this.newest = oldest + migrations.length;
    this.#migrations = migrations;
    this.#prefix = `{"v":${this.newest},`;
    this.#empty = `{"v":${this.newest}}`;
    const changed = migrations.findLastIndex(({ kinds }) => kinds.length > 0);
    this.#alike = migrations.slice(changed + 1).map((_, at) => `{"v":${oldest + changed + 1 + at},`);
  }

  encode(record: object): string {
    const text = JSON.stringify(record);
    return text === '{}' ? this.#empty : this.#prefix + text.slice(1);
  }

  /** Whether its members are as this release has them. */
  isCurrent(text: string): boolean {
    return this.#prefixOf(text) !== undefined;
  }

  /** The same of a text in UTF-8. */
  isCurrentAt(texts: Uint8Array, from: number, to: number): boolean {
    const starts = (prefix: string): boolean => prefix.length <= to - from && startsAt(prefix, texts, from);
    return starts(this.#prefix) || this.#alike.some(starts);
  }

  /** The members alone; undefined when they are those of another format. */
  membersIn(text: string): string | undefined {
    if (text === this.#empty) return '{}';
    const prefix = this.#prefixOf(text);
    return prefix === undefined ? undefined : withIngressList(`{${text.slice(prefix.length)}`);
  }

  #prefixOf(text: string): string | undefined {
    return text.startsWith(this.#prefix) ? this.#prefix : this.#alike.find((each) => text.startsWith(each));
  }

  /**
   * Members of a record of an earlier format, as this release has them. Records without a change since are not written again, so that they may
   * have a format before the oldest: that none with a change does is what `StoreFormat` sees to.
   */
  migrated(key: string, text: string): Members {
    const format = formatOf(text);
    if (format === undefined || format < 1 || format > this.newest)
      throw new StoreFormatError(
        `the stored record ${key} has format ${format ?? 'of no release'}, and this release reads formats up to ${this.newest}: start the release that wrote it, or restore a backup of before the upgrade`,
      );
    return this.#steps(key, format).reduce(
      (members, { kind, migration }) => migration.up(kind, members),
      membersOf(text),
    );
  }

  /** What `encode` wrote, as a release of an earlier format reads it. */
  downgraded(key: string, text: string, format: number): string {
    const steps = this.#steps(key, format);
    if (steps.length === 0) return text.replace(VERSION, (found) => `{"v":${format}${found.slice(-1)}`);
    const members = steps.reduceRight(
      (later, { kind, migration }) => migration.down(kind, later),
      membersOf(text),
    );
    return JSON.stringify({ v: format, ...members });
  }

  /** Whether a record is of an earlier format and reads otherwise today. */
  isOutdated(key: string, text: string): boolean {
    const format = formatOf(text) ?? this.newest;
    return format < this.newest && this.#steps(key, format).length > 0;
  }

  /** Whether any record of this format reads otherwise today. */
  isAnyOutdated(format: number): boolean {
    return this.#migrations.slice(Math.max(0, format - this.oldest)).some(({ kinds }) => kinds.length > 0);
  }

  /** What a format brought, for people. */
  about(format: number): string {
    return this.#migrations[format - this.oldest - 1]?.about ?? '';
  }

  #steps(key: string, from: number): readonly { readonly kind: string; readonly migration: Migration }[] {
    const kind = parseKey(key)?.kind ?? '';
    return this.#migrations
      .slice(Math.max(0, from - this.oldest))
      .filter(({ kinds }) => kinds.includes(kind))
      .map((migration) => ({ kind, migration }));
  }
}

function startsAt(beginning: string, texts: Uint8Array, from: number): boolean {
  for (let at = 0; at < beginning.length; at += 1)
    if (texts[from + at] !== beginning.charCodeAt(at)) return false;
  return true;
}

function formatOf(text: string): number | undefined {
  const [, format] = VERSION.exec(text) ?? [];
  return format === undefined ? undefined : Number(format);
}

function membersOf(text: string): Members {
  const parsed: unknown = JSON.parse(withIngressList(text));
  const { v: _, ...members } = isRecord(parsed) ? parsed : {};
  return members;
}
