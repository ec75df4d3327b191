import { setTimeout as delay } from 'node:timers/promises';
import type { TenantId } from '../../../core/model/ids.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import {
  assertSegment,
  type DescribedSecret,
  failure,
  type SecretFailure,
  type SecretMetadata,
  type SecretsStatus,
  type SecretsStore,
} from '../port.ts';
import {
  count,
  failureOf,
  isCasMismatch,
  isMountInUse,
  isSuccess,
  isTransient,
  isUnrouted,
  isUpgrading,
  member,
  text,
} from './answers.ts';
import { createVaultHttp, type VaultAnswer, type VaultCall } from './http.ts';
import { createVaultSession, type HeldToken, type VaultAuth } from './session.ts';

export interface VaultSecretsOptions {
  readonly address: string;
  readonly auth: VaultAuth;
  /** Per call; default 2 s. */
  readonly timeoutMs?: number;
  readonly ca?: string;
  readonly namespace?: string;
}

const DEFAULT_TIMEOUT_MS = 2_000;
/** Pauses before the repetitions of a call that is safe to repeat. */
const RETRY_PAUSES_MS = [50, 200] as const;
const UPGRADE_PAUSE_MS = 50;
/** The server sees no burst of a call per document. */
const DESCRIBED_AT_ONCE = 16;

type ReachedCall = Omit<VaultCall, 'token'>;

/** Secrets in Vault or OpenBao, KV v2, one mount per tenant (decisions §4). */
export function createVaultSecrets(options: VaultSecretsOptions): SecretsStore {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const http = createVaultHttp({ ...options, timeoutMs });
  const session = createVaultSession(http, options.auth);

  /** One call with the session's token; a dead token is replaced once. A 403 is certainly not applied, so writes may repeat after it. */
  async function authorized(call: ReachedCall): Promise<VaultAnswer | SecretFailure> {
    for (let relogins = 0; ; relogins++) {
      const held = await session.token();
      if (!held.ok) return held;
      const answer = await http.send({ ...call, token: held.token });
      const refused = answer.reached && answer.status === 403;
      if (!refused || relogins > 0 || options.auth.kind === 'token') return answer;
      if (!(await session.isDead(held.token))) return answer;
    }
  }

  /** Only reads are repeated: of a write without an answer nobody knows whether it was applied. */
  async function read(path: string): Promise<VaultAnswer | SecretFailure> {
    for (const pauseMs of RETRY_PAUSES_MS) {
      const answer = await authorized({ method: 'GET', path });
      if ('ok' in answer ? answer.reason !== 'unavailable' : !isTransient(answer)) return answer;
      await delay(pauseMs);
    }
    return authorized({ method: 'GET', path });
  }

  async function write(call: ReachedCall): Promise<VaultAnswer | SecretFailure> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const answer = await authorized(call);
      if ('ok' in answer || !isUpgrading(answer) || performance.now() > deadline) return answer;
      await delay(UPGRADE_PAUSE_MS);
    }
  }

  async function createMount(tenant: TenantId): Promise<SecretFailure | undefined> {
    const answer = await authorized({
      method: 'POST',
      path: `sys/mounts/${mountOf(tenant)}`,
      body: { type: 'kv', options: { version: '2' }, description: 'Secrets of one Berth tenant' },
    });
    if ('ok' in answer) return answer;
    return isSuccess(answer) || isMountInUse(answer)
      ? undefined
      : failureOf(answer, 'making the mount of the tenant');
  }

  async function keysOf(
    tenant: TenantId,
    path: SecretPath,
    version: number,
  ): Promise<readonly string[] | SecretFailure> {
    const answer = await read(`${pathOf(tenant, 'subkeys', path)}?version=${version}`);
    if ('ok' in answer) return answer;
    if (isSuccess(answer)) return Object.keys(member(member(answer.json, 'data'), 'subkeys') ?? {}).sort();
    if (!isUnrouted(answer)) return failureOf(answer, secretPathText(path));
    // Servers before subkeys: the values have to be read; only their names leave this function.
    const document = await read(`${pathOf(tenant, 'data', path)}?version=${version}`);
    if ('ok' in document) return document;
    if (!isSuccess(document)) return failureOf(document, secretPathText(path));
    return Object.keys(member(member(document.json, 'data'), 'data') ?? {}).sort();
  }

  /** The session's token as the server sees it now; a role logs in anew, a plain token cannot. */
  async function liveToken(): Promise<HeldToken | SecretFailure> {
    const held = await session.token();
    if (!held.ok || !(await session.isDead(held.token))) return held;
    if (options.auth.kind === 'approle') return session.token();
    return failure('denied', 'the secrets store does not accept the configured token (403)');
  }

  async function metadata(tenant: TenantId, path: SecretPath): Promise<SecretMetadata | SecretFailure> {
    const answer = await read(pathOf(tenant, 'metadata', path));
    if ('ok' in answer) return answer;
    if (answer.reached && answer.status === 404) return { ok: true, exists: false };
    if (!isSuccess(answer)) return failureOf(answer, secretPathText(path));
    const data = member(answer.json, 'data');
    const versions = readableVersions(data);
    const newest = versions.at(-1);
    if (newest === undefined || newest.version !== count(data, 'current_version'))
      return { ok: true, exists: false };
    const keys = await keysOf(tenant, path, newest.version);
    if ('ok' in keys) return keys.reason === 'missing' ? { ok: true, exists: false } : keys;
    return {
      ok: true,
      exists: true,
      keys,
      version: newest.version,
      createdAt: text(data, 'created_time'),
      versions,
    };
  }

  return {
    kind: 'vault',

    write: async (tenant, path, values, writeOptions) => {
      const call: ReachedCall = {
        method: 'POST',
        path: pathOf(tenant, 'data', path),
        body: {
          data: Object.fromEntries([...values].map(([key, value]) => [key, value.reveal()])),
          options: writeOptions?.expectedVersion === undefined ? {} : { cas: writeOptions.expectedVersion },
        },
      };
      let answer = await write(call);
      if (!('ok' in answer) && isUnrouted(answer)) {
        const refused = await createMount(tenant);
        if (refused !== undefined) return refused;
        answer = await write(call);
      }
      if ('ok' in answer) return answer;
      if (isCasMismatch(answer)) {
        const message = `${secretPathText(path)} is not at version ${writeOptions?.expectedVersion}`;
        return { ok: false, reason: 'conflict', message };
      }
      const version = isSuccess(answer) ? count(member(answer.json, 'data'), 'version') : 0;
      if (version === 0) return failureOf(answer, secretPathText(path));
      return { ok: true, version, keys: [...values.keys()].sort() };
    },

    read: async (tenant, path, version) => {
      const query = version === undefined ? '' : `?version=${version}`;
      const answer = await read(`${pathOf(tenant, 'data', path)}${query}`);
      if ('ok' in answer) return answer;
      if (!isSuccess(answer)) return failureOf(answer, secretPathText(path));
      return documentOf(answer.json, path);
    },

    metadata,

    describe: async (tenant, namespace, labels) => {
      const documents = new Map<string, DescribedSecret>();
      for (let from = 0; from < labels.length; from += DESCRIBED_AT_ONCE) {
        const part = labels.slice(from, from + DESCRIBED_AT_ONCE);
        const found = await Promise.all(part.map((label) => metadata(tenant, { namespace, label })));
        for (const [index, one] of found.entries()) {
          if (!one.ok) return one;
          if (one.exists) documents.set(part[index] ?? '', one);
        }
      }
      return { ok: true, documents };
    },

    list: async (tenant, namespace) => {
      const answer = await read(`${mountOf(tenant)}/metadata/${segment(namespace)}/?list=true`);
      if ('ok' in answer) return answer;
      if (answer.reached && answer.status === 404) return { ok: true, labels: [] };
      if (!isSuccess(answer)) return failureOf(answer, `list of ${namespace}`);
      const keys = member(member(answer.json, 'data'), 'keys');
      const labels = Array.isArray(keys)
        ? keys.filter((key) => typeof key === 'string' && !key.endsWith('/'))
        : [];
      return { ok: true, labels: (labels as string[]).sort() };
    },

    remove: async (tenant, path) => {
      const answer = await authorized({ method: 'DELETE', path: pathOf(tenant, 'metadata', path) });
      if ('ok' in answer) return answer;
      if (isSuccess(answer) || (answer.reached && answer.status === 404)) return { ok: true };
      return failureOf(answer, secretPathText(path));
    },

    destroyTenant: async (tenant) => {
      const answer = await authorized({ method: 'DELETE', path: `sys/mounts/${mountOf(tenant)}` });
      if ('ok' in answer) return answer;
      if (isSuccess(answer) || (answer.reached && answer.status === 404)) return { ok: true };
      return failureOf(answer, 'removing the mount of the tenant');
    },

    status: async (): Promise<SecretsStatus> => {
      const answer = await http.send({ method: 'GET', path: 'sys/health?standbyok=true&perfstandbyok=true' });
      if (!answer.reached)
        return {
          kind: 'vault',
          connected: false,
          sealed: false,
          problem: `the secrets store ${answer.problem}`,
        };
      const failed = healthProblem(answer);
      if (failed !== undefined) return { kind: 'vault', connected: failed.sealed, ...failed };
      const held = await liveToken();
      if (held.ok) return { kind: 'vault', connected: true, sealed: false };
      return { kind: 'vault', connected: false, sealed: held.reason === 'sealed', problem: held.message };
    },

    close: async () => {
      session.close();
      http.close();
    },
  };
}

function healthProblem(
  answer: Extract<VaultAnswer, { reached: true }>,
): { readonly sealed: boolean; readonly problem: string } | undefined {
  if (isSuccess(answer)) return undefined;
  if (answer.status === 501) return { sealed: true, problem: 'the secrets store is not initialised' };
  if (answer.status === 503) return { sealed: true, problem: 'the secrets store is sealed' };
  return { sealed: false, problem: `the secrets store answered ${answer.status} to its health check` };
}

function segment(value: string): string {
  assertSegment(value);
  return encodeURIComponent(value);
}

export function mountOf(tenant: TenantId): string {
  return `berth-${segment(tenant)}`;
}

function pathOf(tenant: TenantId, api: 'data' | 'metadata' | 'subkeys', path: SecretPath): string {
  return `${mountOf(tenant)}/${api}/${segment(path.namespace)}/${segment(path.label)}`;
}

/** A value that is no text was not written by us and cannot be delivered as it is: the document counts as partial. */
function documentOf(json: unknown, path: SecretPath) {
  const data = member(json, 'data');
  const content = member(data, 'data');
  const version = count(member(data, 'metadata'), 'version');
  if (typeof content !== 'object' || content === null || version === 0) {
    return failure('missing', `${secretPathText(path)}: the secrets store holds no readable version`);
  }
  const values = new Map<string, SecretValue>();
  for (const [key, value] of Object.entries(content)) {
    if (typeof value !== 'string') {
      return failure('missing', `${secretPathText(path)}: a value of the document is not text`);
    }
    values.set(key, new SecretValue(value));
  }
  return { ok: true as const, version, createdAt: text(member(data, 'metadata'), 'created_time'), values };
}

function readableVersions(data: unknown) {
  const versions = member(data, 'versions');
  if (typeof versions !== 'object' || versions === null) return [];
  return Object.entries(versions)
    .filter(([, about]) => text(about, 'deletion_time') === '' && member(about, 'destroyed') !== true)
    .map(([version, about]) => ({ version: Number(version), createdAt: text(about, 'created_time') }))
    .sort((a, b) => a.version - b.version);
}
