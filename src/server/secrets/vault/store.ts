import { textsIn } from '../../../core/model/values.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { type DescribedSecret, type SecretFailure, type SecretMetadata, type SecretsStore } from '../port.ts';
import { count, failureOf, isCasMismatch, isSuccess, isUnrouted, member, text } from './answers.ts';
import { createVaultCalls, type ReachedCall } from './calls.ts';
import { documentOf, readableVersions, unreadable } from './documents.ts';
import { createVaultHttp } from './http.ts';
import { createVaultMounts, mountOf, segment } from './mounts.ts';
import { createVaultSession, type VaultAuth } from './session.ts';
import { noticeChanges, vaultStatus } from './status.ts';

export interface VaultSecretsOptions {
  readonly address: string;
  readonly auth: VaultAuth;
  /** Per call, and for all reads of one request; default 2 s. */
  readonly timeoutMs?: number;
  /** PEM. */
  readonly ca?: string;
  readonly namespace?: string;
  /** What an operator should know: the store is lost or back, a token is going to end. */
  readonly warn?: (details: Readonly<Record<string, unknown>>, message: string) => void;
}

export const DEFAULT_TIMEOUT_MS = 2_000;
/** The server sees no burst of a call per document. */
const DESCRIBED_AT_ONCE = 16;

/** Secrets in Vault or OpenBao, KV v2, one mount per tenant. */
export function createVaultSecrets(options: VaultSecretsOptions): SecretsStore {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const warn = options.warn ?? (() => undefined);
  const http = createVaultHttp({ ...options, timeoutMs });
  const session = createVaultSession(http, options.auth, (message) => warn({}, message));
  const calls = createVaultCalls(http, session, timeoutMs);
  const mounts = createVaultMounts(calls);
  const noticed = noticeChanges(warn);

  async function keysOf(
    tenant: TenantId,
    path: SecretPath,
    version: number,
  ): Promise<readonly string[] | SecretFailure> {
    const where = `${pathOf(tenant, 'subkeys', path)}?version=${version}`;
    const answer = await calls.read(where);
    if ('ok' in answer) return answer;
    if (isSuccess(answer)) return Object.keys(member(member(answer.json, 'data'), 'subkeys') ?? {}).sort();
    if (!isUnrouted(answer)) return failureOf(answer, secretPathText(path), { method: 'GET', path: where });
    // Servers before subkeys: the values have to be read; only their names leave this function.
    const whole = `${pathOf(tenant, 'data', path)}?version=${version}`;
    const document = await calls.read(whole);
    if ('ok' in document) return document;
    if (!isSuccess(document))
      return failureOf(document, secretPathText(path), { method: 'GET', path: whole });
    return Object.keys(member(member(document.json, 'data'), 'data') ?? {}).sort();
  }

  async function metadata(tenant: TenantId, path: SecretPath): Promise<SecretMetadata | SecretFailure> {
    const where = pathOf(tenant, 'metadata', path);
    const answer = await calls.read(where);
    if ('ok' in answer) return answer;
    if (!isSuccess(answer)) {
      const failed = failureOf(answer, secretPathText(path), { method: 'GET', path: where });
      if (failed.reason !== 'missing') return failed;
      return (await mounts.usable(tenant)) ?? { ok: true, exists: false };
    }
    const data = member(answer.json, 'data');
    const versions = readableVersions(answer);
    const currentVersion = count(data, 'current_version');
    const gone = { ok: true, exists: false, ...(currentVersion === 0 ? {} : { currentVersion }) } as const;
    const newest = versions.at(-1);
    if (newest === undefined || newest.version !== currentVersion) return gone;
    const keys = await keysOf(tenant, path, newest.version);
    if ('ok' in keys) return keys.reason === 'missing' ? gone : keys;
    const createdAt = text(data, 'created_time');
    const keeps = count(data, 'max_versions');
    return {
      ok: true,
      exists: true,
      keys,
      version: newest.version,
      createdAt,
      versions,
      ...(keeps === 0 ? {} : { keeps }),
    };
  }

  return {
    kind: 'vault',
    patienceMs: timeoutMs,

    write: async (tenant, path, values, writeOptions) => {
      const call: ReachedCall = {
        method: 'POST',
        path: pathOf(tenant, 'data', path),
        body: {
          data: Object.fromEntries([...values].map(([key, value]) => [key, value.reveal()])),
          options: writeOptions?.expectedVersion === undefined ? {} : { cas: writeOptions.expectedVersion },
        },
      };
      const unusable = await mounts.usable(tenant);
      if (unusable !== undefined) return unusable;
      let answer = await calls.write(call);
      if (!('ok' in answer) && isUnrouted(answer)) {
        const refused = await mounts.create(tenant);
        if (refused !== undefined) return refused;
        answer = await calls.write(call);
      }
      if ('ok' in answer) return answer;
      if (isCasMismatch(answer)) {
        const message = `${secretPathText(path)} is not at version ${writeOptions?.expectedVersion}`;
        return { ok: false, reason: 'conflict', message };
      }
      const version = isSuccess(answer) ? count(member(answer.json, 'data'), 'version') : 0;
      if (version === 0) return failureOf(answer, secretPathText(path), call);
      return { ok: true, version, keys: [...values.keys()].sort() };
    },

    read: async (tenant, path, version) => {
      const query = version === undefined ? '' : `?version=${version}`;
      const call: ReachedCall = { method: 'GET', path: `${pathOf(tenant, 'data', path)}${query}` };
      const answer = await calls.read(call.path);
      if ('ok' in answer) return answer;
      if (isSuccess(answer)) return documentOf(answer.json, path);
      const failed = unreadable(answer, path, call);
      // Nothing was ever there, or the mount keeps no versions at all.
      if (failed.reason === 'missing' && failed.currentVersion === undefined)
        return (await mounts.usable(tenant)) ?? failed;
      return failed;
    },

    metadata,

    describe: async (tenant, namespace, labels) => {
      const documents = new Map<string, DescribedSecret>();
      const denied = new Map<string, SecretFailure>();
      for (let from = 0; from < labels.length; from += DESCRIBED_AT_ONCE) {
        const part = labels.slice(from, from + DESCRIBED_AT_ONCE);
        const found = await Promise.all(part.map((label) => metadata(tenant, { namespace, label })));
        for (const [index, one] of found.entries()) {
          const label = part[index] ?? '';
          if (!one.ok && one.reason !== 'denied') return one;
          if (!one.ok) denied.set(label, one);
          else if (one.exists) documents.set(label, one);
        }
      }
      return { ok: true, documents, ...(denied.size === 0 ? {} : { denied }) };
    },

    list: async (tenant, namespace) => {
      const where = `${mountOf(tenant)}/metadata/${segment(namespace)}/?list=true`;
      const answer = await calls.read(where);
      if ('ok' in answer) return answer;
      if (!isSuccess(answer)) {
        const failed = failureOf(answer, `list of ${namespace}`, { method: 'GET', path: where });
        return failed.reason === 'missing' ? { ok: true, labels: [] } : failed;
      }
      const keys = member(member(answer.json, 'data'), 'keys');
      const labels = textsIn(keys).filter((key) => !key.endsWith('/'));
      return { ok: true, labels: labels.sort() };
    },

    remove: async (tenant, path) => {
      const call: ReachedCall = { method: 'DELETE', path: pathOf(tenant, 'metadata', path) };
      const answer = await calls.send(call);
      if ('ok' in answer) return answer;
      if (isSuccess(answer)) return { ok: true };
      const failed = failureOf(answer, secretPathText(path), call);
      return failed.reason === 'missing' ? { ok: true } : failed;
    },

    destroyTenant: async (tenant) => (await mounts.remove(tenant)) ?? { ok: true },

    status: async () => noticed(await vaultStatus(http, calls)),

    close: async () => {
      session.close();
      http.close();
    },
  };
}

function pathOf(tenant: TenantId, api: 'data' | 'metadata' | 'subkeys', path: SecretPath): string {
  return `${mountOf(tenant)}/${api}/${segment(path.namespace)}/${segment(path.label)}`;
}
