import { type TenantId, tenantId } from '../../core/model/ids.ts';

/**
 * The only file that spells a key.
 *   h/g/<kind>/<id>            platform-wide records, held in memory
 *   h/t/<tenant>/<kind>/<id>   a tenant's live records, held in memory
 *   c/<tenant>/<kind>/<id>     a tenant's cold records (history, secret documents): read from the store when asked for
 *   l/loading                  there while a restore or a migration writes the store: what is beside it is not whole
 * Hot keys share one prefix, so that one watch sees every hot key of a commit in one batch.
 * An id may have several segments joined with '/'; each segment is encoded, so no user text can leave its place. What they are is in
 * the kind's row of owners.ts; record-ids.ts is how everybody else makes and reads ids.
 */
export const HOT_PREFIX = 'h/';
export const LOADING_KEY = 'l/loading';
const GLOBAL = 'h/g/';
const TENANT = 'h/t/';

/** Where parts of the hot records begin that are about equal where there are many tenants, whose ids are random, in order. */
export const SMALL_PARTS: readonly string[] = Array.from('123456789abcdef', (digit) => TENANT + digit);
/** Fewer of them. */
export const LARGE_PARTS: readonly string[] = Array.from('48c', (digit) => TENANT + digit);
/** Kinds of which a tenant may have very many, in order. */
const MANY = ['deployment-status', 'deployments', 'instances', 'observations', 'rollouts'];

/** Where the large folders of the tenant begin that one of its folders is of, in order. */
export function partsOfTenant(folder: string): string[] {
  const kindAt = folder.startsWith(TENANT) ? folder.indexOf('/', TENANT.length) + 1 : 0;
  return kindAt === 0 ? [] : MANY.map((kind) => `${folder.slice(0, kindAt)}${kind}/`);
}

export function isHot(key: string): boolean {
  return key.startsWith(HOT_PREFIX);
}

/** What stays as it is: names and ids, which most segments are. */
const PLAIN = /^[\w.~-]*$/;

function encodeSegment(segment: string): string {
  return PLAIN.test(segment) ? segment : encodeURIComponent(segment);
}

export function joinId(...segments: readonly string[]): string {
  const [first = ''] = segments;
  let id = encodeSegment(first);
  for (let at = 1; at < segments.length; at += 1) id += `/${encodeSegment(segments[at] ?? '')}`;
  return id;
}

/** The segments that were joined. */
export function splitId(id: string): string[] {
  // Most are a name and nothing else.
  const segments = id.includes('/') ? id.split('/') : [id];
  return id.includes('%') ? segments.map(decodeURIComponent) : segments;
}

/** The first segment as it is in the id: by itself the id of what the record belongs to. */
export function leadingId(id: string): string {
  const slash = id.indexOf('/');
  return slash === -1 ? id : id.slice(0, slash);
}

export function globalKey(kind: string, id: string): string {
  return `${GLOBAL}${kind}/${id}`;
}

export function tenantKey(tenantId: TenantId, kind: string, id: string): string {
  return `${TENANT}${tenantId}/${kind}/${id}`;
}

export function coldKey(tenantId: TenantId, kind: string, id: string): string {
  return `c/${tenantId}/${kind}/${id}`;
}

const ERASED = /^c\/[^/]+\/(secret-key|secret-docs)\//;

/** Whether the store must keep no trace of the value once it is deleted, or replaced: secrets, and the keys that wrap them. */
export function isErased(key: string, how: 'deleted' | 'replaced'): boolean {
  const kind = ERASED.exec(key)?.[1];
  // A document's head is replaced with every version, and has no values in it.
  return how === 'deleted' ? kind !== undefined : kind === 'secret-key';
}

/** Everything of one tenant, for deletion and for the law that a rejection stores nothing. */
export function tenantPrefixes(tenantId: TenantId): readonly string[] {
  return [`${TENANT}${tenantId}/`, `c/${tenantId}/`];
}

/** Where it names its tenant; 0: nowhere. */
function tenantAt(key: string): number {
  return key.startsWith(TENANT) ? TENANT.length : key.startsWith('c/') ? 2 : 0;
}

/** Absent for platform-wide records. */
export function tenantOfKey(key: string): TenantId | undefined {
  const from = tenantAt(key);
  return from === 0 ? undefined : tenantId(key.slice(from, key.indexOf('/', from)));
}

export interface HotKey {
  /** Absent for platform-wide records. */
  readonly tenantId?: TenantId | undefined;
  readonly kind: string;
  readonly id: string;
}

/** Of the key that was parsed last: the records of a commit are of one tenant, and most of them of one name. */
const last = { prefix: TENANT, tenantId: tenantId(''), id: '' };

/** The texts are shared with those of the key before, where they are the same: what is held by them is held once, and its hash is known. */
export function parseHotKey(key: string): HotKey | undefined {
  if (key.startsWith(GLOBAL)) {
    const slash = key.indexOf('/', GLOBAL.length);
    return slash === -1 ? undefined : { kind: key.slice(GLOBAL.length, slash), id: key.slice(slash + 1) };
  }
  if (!key.startsWith(TENANT)) return undefined;
  if (last.prefix === TENANT || !key.startsWith(last.prefix)) {
    const end = key.indexOf('/', TENANT.length);
    if (end === -1) return undefined;
    last.prefix = key.slice(0, end + 1);
    last.tenantId = tenantId(key.slice(TENANT.length, end));
  }
  const kindAt = last.prefix.length;
  const idAt = key.indexOf('/', kindAt) + 1;
  if (idAt === 0) return undefined;
  const id = key.slice(idAt);
  if (id !== last.id) last.id = id;
  return { tenantId: last.tenantId, kind: key.slice(kindAt, idAt - 1), id: last.id };
}

/** All of a hot key that comes before the id; undefined: it is none of a record. */
export function beforeId(key: string): string | undefined {
  const id = parseHotKey(key)?.id;
  return id === undefined ? undefined : key.slice(0, key.length - id.length);
}

/** Of any key, hot or cold. */
export function kindOfKey(key: string): string {
  const from = key.startsWith(GLOBAL) ? GLOBAL.length : key.indexOf('/', tenantAt(key)) + 1;
  return key.slice(from, key.indexOf('/', from));
}

export interface ParsedKey {
  /** Up to the kind. */
  readonly base: string;
  readonly kind: string;
  readonly id: string;
}

/** The parts of any key, hot or cold. */
export function parseKey(key: string): ParsedKey | undefined {
  const [, base, kind, id] = /^(h\/g\/|h\/t\/[^/]+\/|c\/[^/]+\/)([^/]+)\/(.*)$/.exec(key) ?? [];
  return base === undefined || kind === undefined || id === undefined ? undefined : { base, kind, id };
}
