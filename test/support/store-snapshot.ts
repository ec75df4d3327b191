import { isDeepStrictEqual } from 'node:util';
import { parseKey, leadingId } from '../../src/server/store/keys.ts';
import type { Kv, KvChangeBatch, Watch } from '../../src/server/store/kv.ts';
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

const PREFIXES = ['h/', 'c/'];

async function snapshot(kv: Kv): Promise<Snapshot> {
  const values = new Map<string, string>();
  const revisions = new Set<number>();
  for (const prefix of PREFIXES) {
    const range = await kv.range(prefix);
    revisions.add(range.revision);
    for (const { key, value } of range.entries) values.set(key, value);
  }
  const [revision = 0] = revisions;
  return revisions.size === 1 ? { revision, values } : snapshot(kv);
}

/**
 * What is stored at each moment, kept by watching: reading all of it around every request took longer than the requests. It knows what was
 * committed under a revision; what got round that is found in the end, by reading everything once more.
 */
export class Mirror {
  readonly #kv: Kv;
  #values = new Map<string, string>();
  #revision = 0;
  #watch: Watch | undefined;
  #taken: Snapshot | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  /** As of now. */
  async take(): Promise<Snapshot> {
    const head = await this.#kv.head();
    if (this.#taken?.revision === head) return this.#taken;
    // Not told yet, or no longer.
    if (this.#watch === undefined || this.#revision < head) await this.#read();
    this.#taken = { revision: this.#revision, values: new Map(this.#values) };
    return this.#taken;
  }

  async #read(): Promise<void> {
    const { revision, values } = await snapshot(this.#kv);
    this.#values = new Map(values);
    this.#revision = revision;
    this.#watch ??= this.#kv.watch('', revision, {
      onBatch: (batch) => this.#apply(batch),
      onLost: () => {
        this.#watch = undefined;
      },
    });
  }

  #apply({ revision, changes }: KvChangeBatch): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const { key, entry } of changes) {
      if (entry === undefined) this.#values.delete(key);
      else if (PREFIXES.some((prefix) => key.startsWith(prefix))) this.#values.set(key, entry.value);
    }
  }

  /** Keys that are not as the revisions told. Empty also when the store cannot be read any more, or moves on meanwhile. */
  async end(): Promise<readonly string[]> {
    if (this.#watch === undefined) return [];
    const whole = await snapshot(this.#kv).catch(() => undefined);
    this.#watch.close();
    if (whole === undefined || whole.revision !== this.#revision) return [];
    const keys = new Set([...whole.values.keys(), ...this.#values.keys()]);
    return [...keys].filter((key) => whole.values.get(key) !== this.#values.get(key));
  }
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
