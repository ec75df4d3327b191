import type { TenantId } from '../../core/model/ids.ts';
import type { HotKey } from './keys.ts';

/** Shorter ones are shared by the parser. */
const FROM_LENGTH = 10;

/**
 * Equal strings as one, in records that were just parsed. A deployment's name, id, image and the hash of its spec each stand in several of
 * its records, and a tenant's deployments have images in common: as text of their own they would be a third of what a view takes.
 */
export class SharedStrings {
  #known = new Map<string, string>();
  #tenantId: TenantId | undefined;

  /**
   * With an id that does not hold the text of the key, which it was cut from. What follows is of the same tenant: keys come in order, so that
   * only the strings of one tenant are remembered.
   */
  ofKey(key: HotKey): HotKey {
    if (key.tenantId !== this.#tenantId) this.#known = new Map();
    this.#tenantId = key.tenantId;
    const known = this.#known.get(key.id);
    if (known !== undefined) return { ...key, id: known };
    const id = Buffer.from(key.id).toString();
    this.#known.set(id, id);
    return { ...key, id };
  }

  /** Alters the record, which nobody else may have yet. */
  within(record: unknown): void {
    if (Array.isArray(record)) this.#elements(record);
    else if (isAlterable(record)) this.#members(record);
  }

  #members(record: Record<string, unknown>): void {
    // oxlint-disable-next-line guard-for-in -- parsed from JSON: no member is inherited.
    for (const name in record) {
      const value = record[name];
      if (typeof value === 'string') {
        const shared = this.#text(value);
        if (shared !== undefined) record[name] = shared;
      } else this.within(value);
    }
  }

  #elements(list: unknown[]): void {
    for (let at = 0; at < list.length; at += 1) {
      const value = list[at];
      if (typeof value === 'string') list[at] = this.#text(value) ?? value;
      else this.within(value);
    }
  }

  /** Undefined: the text itself is kept. */
  #text(text: string): string | undefined {
    if (text.length < FROM_LENGTH) return undefined;
    const known = this.#known.get(text);
    if (known === undefined) this.#known.set(text, text);
    return known;
  }
}

function isAlterable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
