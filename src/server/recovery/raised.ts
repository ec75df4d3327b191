import type { InstanceRecord } from '../../core/model/instance.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import { raisedAbove } from '../../core/model/raised.ts';
import type { VolumeClaims, VolumeRecord } from '../../core/model/volume.ts';
import { parseHotKey } from '../store/keys.ts';
import type { KvEntry } from '../store/kv.ts';
import { decodeRecord, encodeRecord } from '../store/records.ts';

/**
 * What was given out after the backup was made, also by a store that was restored from it before, is given to nobody else: every number
 * that agents or clients compare continues above whatever it can have reached since. These are for a clock that was set back.
 */
const SESSIONS = 1_000_000;
const PROMOTIONS = 1_000_000;
const ATTEMPTS = 1_000;
const COMMITS = 1_000_000_000;
/** Revisions that a millisecond is worth: a store that went through etcd and back is above where it was, too. */
const REVISIONS_PER_MS = 100;

export interface Raise {
  /** Of the backup. */
  readonly revision: number;
  /** Of the restored store. */
  readonly head: number;
  readonly nowMs: number;
}

/** `ordersHeld.start` of a node whose store was restored. */
export const RESTORED = 'restore';

/** Who mounts a replicated volume, gathered from every entry of a store. */
export class Mounting {
  readonly #replicated = new Set<string>();
  readonly #claims: { readonly volume: string; readonly owners: readonly string[] }[] = [];

  add({ key, value }: KvEntry): void {
    const hot = parseHotKey(key);
    if (hot?.tenantId === undefined) return;
    const volume = `${hot.tenantId}/${hot.id}`;
    if (hot.kind === 'volumes' && decodeRecord<VolumeRecord>(key, value).class === 'replicated')
      this.#replicated.add(volume);
    if (hot.kind !== 'volume-claims') return;
    const { writer, readers } = decodeRecord<VolumeClaims>(key, value);
    const owners = [...readers, ...(writer === undefined ? [] : [writer])];
    this.#claims.push({ volume, owners: owners.map((owner) => `${hot.tenantId}/${owner}`) });
  }

  owners(): ReadonlySet<string> {
    const mounted = this.#claims.filter(({ volume }) => this.#replicated.has(volume));
    return new Set(mounted.flatMap(({ owners }) => owners));
  }
}

export function raisedHead(revision: number, nowMs: number): number {
  return raisedAbove(revision, nowMs * REVISIONS_PER_MS, COMMITS);
}

/**
 * A record as a restored store has it; undefined: it has none. Nodes are held, as their agents may have orders that the backup knows nothing
 * of. Replicated volumes get another epoch, so that who was promoted since is an earlier primary like any other; the folder of a volume is named
 * by it, so containers of `mounting` (tenant and owner) are made anew. Browser sessions end.
 */
export function raisedEntry(
  entry: KvEntry,
  { revision, head, nowMs }: Raise,
  mounting: ReadonlySet<string> = new Set(),
): KvEntry | undefined {
  const hot = parseHotKey(entry.key);
  if (hot?.kind === 'sessions' && hot.tenantId === undefined) return undefined;
  if (hot?.tenantId === undefined) return entry;
  const changed = (record: object): KvEntry => ({
    ...entry,
    value: encodeRecord(record),
    modRevision: head,
  });
  if (hot.kind === 'nodes') {
    const node = decodeRecord<NodeRecord>(entry.key, entry.value);
    return changed({
      ...node,
      sessionEpoch: raisedAbove(node.sessionEpoch, nowMs, SESSIONS),
      schedulable: false,
      ordersHeld: { start: RESTORED, revision },
    } satisfies NodeRecord);
  }
  if (hot.kind === 'instances') {
    const instance = decodeRecord<InstanceRecord>(entry.key, entry.value);
    if (!mounting.has(`${hot.tenantId}/${instance.deployment}`)) return entry;
    const attempt = raisedAbove(instance.attempt, nowMs, ATTEMPTS);
    return changed({ ...instance, attempt } satisfies InstanceRecord);
  }
  if (hot.kind !== 'volumes') return entry;
  const volume = decodeRecord<VolumeRecord>(entry.key, entry.value);
  if (volume.class !== 'replicated') return entry;
  const epoch = raisedAbove(volume.epoch, nowMs, PROMOTIONS);
  return changed({ ...volume, epoch } satisfies VolumeRecord);
}
