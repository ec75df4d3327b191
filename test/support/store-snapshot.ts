import { isDeepStrictEqual } from 'node:util';
import { parseKey, leadingId } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { OWNERS, type RecordKind, type Subject } from '../../src/server/store/owners.ts';

export interface Snapshot {
  readonly revision: number;
  readonly values: ReadonlyMap<string, string>;
}

type Members = Readonly<Record<string, unknown>>;

/** Events that a request causes; the others are published by controllers. */
const REQUEST_EVENTS = new RegExp(
  `"kind":"(?:${[
    'deployment\\.(?:created|updated|rotated|rolled_back|restored|deleted)',
    'deployment\\.canary_(?:started|promoted)',
    'deployment\\.restart_requested',
    'deployment\\.scaling_policy_[a-z]+',
    'secret\\.written',
    'node\\.(?:enrolled|reenrolled|key_replaced|cordoned|uncordoned|draining|deleted|claimed|claim_released)',
    'volume\\.(?:created|deleting|resized|replicas_set)',
    'backup\\.[a-z]+',
    'network\\.(?:created|deleted)',
    'job\\.(?:created|deleted|run_requested|cancel_requested)',
  ].join('|')})"`,
);

export async function snapshot(kv: Kv): Promise<Snapshot> {
  const values = new Map<string, string>();
  let revision = 0;
  for (const prefix of ['h/', 'c/']) {
    const range = await kv.range(prefix);
    revision = range.revision;
    for (const { key, value } of range.entries) values.set(key, value);
  }
  return { revision, values };
}

function members(value: string): Members {
  try {
    return JSON.parse(value) as Members;
  } catch {
    return {};
  }
}

function isOwned(kind: string): kind is RecordKind {
  return Object.hasOwn(OWNERS, kind);
}

/** Whether what a record belongs to is stored: in the tenant's own range, or platform-wide. */
function isStored({ kind, at }: Subject, key: string, value: string, { values }: Snapshot): boolean {
  const { base = '', id = '' } = parseKey(key) ?? {};
  const subject = at === undefined ? leadingId(id) : at(id, members(value));
  if (subject === undefined) return false;
  return values.has(`${base.replace(/^c\//, 'h/t/')}${kind}/${subject}`);
}

/** Whether the server makes such a change without any request (`src/server/store/owners.ts`). */
function isUnasked(key: string, before: Snapshot, after: Snapshot): boolean {
  const kind = parseKey(key)?.kind ?? '';
  if (!isOwned(kind)) return false;
  const [was, is] = [before.values.get(key), after.values.get(key)];
  const { unasked } = OWNERS[kind];
  if (is === undefined) return unasked?.removes === true;
  if (was === undefined) {
    if (kind === 'events') return !REQUEST_EVENTS.test(is);
    return unasked?.creates?.some((subject) => isStored(subject, key, is, after)) === true;
  }
  const { updates = [] } = unasked ?? {};
  if (updates === 'all') return true;
  const [old, now] = [members(was), members(is)];
  const changed = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (member) => !isDeepStrictEqual(old[member], now[member]),
  );
  return changed.length > 0 && changed.every((member) => updates.includes(member));
}

/** Keys that differ and that only a request could have changed. */
export function askedChanges(before: Snapshot, after: Snapshot): string[] {
  const keys = new Set([...before.values.keys(), ...after.values.keys()]);
  return [...keys].filter(
    (key) => before.values.get(key) !== after.values.get(key) && !isUnasked(key, before, after),
  );
}
