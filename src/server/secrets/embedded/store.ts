import type { TenantId } from '../../../core/model/ids.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { type Commit, type Kv, KvUnavailableError } from '../../store/kv.ts';
import {
  documentsPrefix,
  headKey,
  headLabel,
  headPrefix,
  tenantKeyKey,
  versionKey,
  versionPrefix,
} from '../embedded-keys.ts';
import {
  type DescribedSecret,
  failure,
  type SecretConflict,
  type SecretFailure,
  type SecretsStatus,
  type SecretsStore,
} from '../port.ts';
import { openHead, openVersion } from './documents.ts';
import { SecretIntegrityError } from './envelope.ts';
import { planWrites, type PlannedWrite, type WritePlan } from './plan-writes.ts';
import type { RootKeys } from './root-keys.ts';
import { readTenantKey, rewrapTenantKey, SecretsSealedError, unsealed } from './tenant-key.ts';

export interface EmbeddedSecretsOptions {
  readonly kv: Kv;
  /** Asked on every operation, so that a key put in place later unseals without a restart. */
  readonly rootKeys: () => RootKeys;
  /** Versions kept per document; at least 10, as in KV v2. */
  readonly keepVersions?: number;
  readonly now?: () => Date;
}

export interface RewrapSummary {
  readonly rewrapped: number;
  /** Already wrapped by the active root key. */
  readonly current: number;
  readonly absent: number;
  /** Not rewrapped: the needed root key is not loaded, or the stored key is damaged. */
  readonly blocked: readonly { readonly tenant: TenantId; readonly problem: string }[];
}

export interface EmbeddedSecrets extends SecretsStore {
  readonly kind: 'embedded';
  /** Like `write`, but the caller commits: see `WritePlan`. */
  planWrites(
    tenant: TenantId,
    writes: readonly PlannedWrite[],
  ): Promise<WritePlan | SecretConflict | SecretFailure>;
  /** Like `remove`, but the caller commits. */
  planRemoval(tenant: TenantId, path: SecretPath): Promise<RemovalPlan | SecretFailure>;
  /** Root key rotation. May be stopped and run again at any point; the retired key may go when nothing is blocked. */
  rewrapTenantKeys(tenants: Iterable<TenantId>): Promise<RewrapSummary>;
}

/** To be joined into the caller's commit, which fails when the document was written meanwhile. */
export interface RemovalPlan {
  readonly ok: true;
  readonly parts: Required<Pick<Commit, 'guards' | 'deletes'>>;
}

const MIN_KEEP = 10;
/** Writers of one document that meet retry; each round one of them wins, so that this many may meet. */
const MAX_ATTEMPTS = 64;
const DELETE_BATCH = 100;
const PATIENCE_MS = 5_000;

export function createEmbeddedSecrets(options: EmbeddedSecretsOptions): EmbeddedSecrets {
  const { kv, rootKeys } = options;
  const keepVersions = Math.max(MIN_KEEP, options.keepVersions ?? MIN_KEEP);
  const now = options.now ?? (() => new Date());

  const plan = (tenant: TenantId, writes: readonly PlannedWrite[]) =>
    planWrites({ kv, roots: rootKeys(), keepVersions, now }, tenant, writes);

  async function deletePrefix(prefix: string): Promise<void> {
    for (;;) {
      const { entries } = await kv.range(prefix, { limit: DELETE_BATCH });
      if (entries.length === 0) return;
      await kv.commit({ deletes: entries.map((entry) => entry.key) });
    }
  }

  return {
    kind: 'embedded',
    patienceMs: PATIENCE_MS,

    write: (tenant, path, values, writeOptions) =>
      answered(async () => {
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
          const planned = await plan(tenant, [{ path, values, ...writeOptions }]);
          if (!planned.ok) return planned;
          const [written] = planned.written;
          const committed = await kv.commit(planned.parts);
          if (committed.ok && written) return { ok: true, version: written.version, keys: written.keys };
        }
        return failure('unavailable', `${secretPathText(path)} is being written by too many at once`);
      }),

    planWrites: (tenant, writes) => answered(() => plan(tenant, writes)),

    read: (tenant, path, version) =>
      answered(async () => {
        const { held, head } = await readHead(tenant, path);
        const wanted = version ?? head?.version;
        const entry = wanted === undefined ? undefined : await kv.get(versionKey(tenant, path, wanted));
        if (held === undefined || wanted === undefined || entry === undefined) return missing(path, version);
        const document = openVersion(entry.value, held.tenantKey, tenant, path, wanted);
        return { ok: true, version: wanted, ...document };
      }),

    metadata: (tenant, path) =>
      answered(async () => {
        const { head } = await readHead(tenant, path);
        if (head === undefined) return { ok: true, exists: false };
        return { ok: true, exists: true, ...head };
      }),

    describe: (tenant, namespace, labels) =>
      answered(async () => {
        const held = await readTenantKey(kv, tenant, rootKeys());
        const documents = new Map<string, DescribedSecret>();
        if (held === undefined) return { ok: true, documents };
        const wanted = new Set(labels);
        // One range instead of a read per label: a tenant's heads are small and lie together.
        const { entries } = await kv.range(headPrefix(tenant, namespace));
        for (const { key, value } of entries) {
          const label = headLabel(tenant, key);
          if (wanted.has(label))
            documents.set(label, openHead(value, held.tenantKey, tenant, { namespace, label }));
        }
        return { ok: true, documents };
      }),

    list: (tenant, namespace) =>
      answered(async () => {
        unsealed(rootKeys());
        const { entries } = await kv.range(headPrefix(tenant, namespace));
        const labels = entries.map((entry) => headLabel(tenant, entry.key));
        return { ok: true, labels: labels.sort() };
      }),

    remove: (tenant, path) =>
      answered(async () => {
        unsealed(rootKeys());
        // The head goes with the first versions: what is left after a crash is unreachable, and removed with the next call.
        const { entries } = await kv.range(versionPrefix(tenant, path), { limit: DELETE_BATCH });
        await kv.commit({ deletes: [headKey(tenant, path), ...entries.map((entry) => entry.key)] });
        await deletePrefix(versionPrefix(tenant, path));
        return { ok: true };
      }),

    planRemoval: (tenant, path) =>
      answered(async () => {
        unsealed(rootKeys());
        const key = headKey(tenant, path);
        const [head, { entries }] = await Promise.all([
          kv.get(key),
          kv.range(versionPrefix(tenant, path), { limit: DELETE_BATCH }),
        ]);
        const guards = [{ key, modRevision: head?.modRevision ?? 0 }];
        return { ok: true, parts: { guards, deletes: [key, ...entries.map((entry) => entry.key)] } };
      }),

    destroyTenant: (tenant) =>
      answered(async () => {
        // The key first: without it the documents are noise already, whatever happens to the rest of this call.
        await kv.commit({ deletes: [tenantKeyKey(tenant)] });
        await deletePrefix(documentsPrefix(tenant));
        return { ok: true };
      }),

    rewrapTenantKeys: async (tenants) => {
      const counts = { rewrapped: 0, current: 0, absent: 0 };
      const blocked: { tenant: TenantId; problem: string }[] = [];
      for (const tenant of tenants) {
        try {
          let outcome = await rewrapTenantKey(kv, tenant, rootKeys());
          // A conflict means that another process rewrapped or destroyed this very key: read again.
          while (outcome === 'conflict') outcome = await rewrapTenantKey(kv, tenant, rootKeys());
          counts[outcome]++;
        } catch (error) {
          if (!(error instanceof SecretsSealedError || error instanceof SecretIntegrityError)) throw error;
          blocked.push({ tenant, problem: error.message });
        }
      }
      return { ...counts, blocked };
    },

    status: async (): Promise<SecretsStatus> => {
      const roots = rootKeys();
      const store = await kv.status();
      const problem = roots.sealed ? roots.problem : store.problem;
      return {
        kind: 'embedded',
        connected: store.connected,
        sealed: roots.sealed,
        ...(problem === undefined ? {} : { problem }),
      };
    },

    close: async () => {},
  };

  async function readHead(tenant: TenantId, path: SecretPath, key = headKey(tenant, path)) {
    const [held, entry] = await Promise.all([readTenantKey(kv, tenant, rootKeys()), kv.get(key)]);
    return { held, head: held && entry && openHead(entry.value, held.tenantKey, tenant, path) };
  }
}

function missing(path: SecretPath, version: number | undefined): SecretFailure {
  const which = version === undefined ? '' : ` at version ${version}`;
  return failure('missing', `no document ${secretPathText(path)}${which}`);
}

/** Faults that mean "no secret now" become values, so that every caller fails closed in the same way. */
async function answered<T>(operation: () => Promise<T>): Promise<T | SecretFailure> {
  try {
    return await operation();
  } catch (error) {
    // This reaches tenants, in a status and an event; which file the operator has to bring back is in `status`.
    if (error instanceof SecretsSealedError)
      return failure('sealed', 'the secrets store is sealed: its root key is not there');
    if (error instanceof SecretIntegrityError) return failure('unavailable', error.message);
    if (error instanceof KvUnavailableError) {
      return failure('unavailable', 'the key-value store that holds the documents is unavailable');
    }
    throw error;
  }
}
