import type { TenantId } from '../../core/model/ids.ts';
import type { WebhookSpec } from '../../core/model/webhook.ts';
import { cloudEvent, type PostEvent } from '../../core/plan/webhooks/delivery.ts';
import type { Dialer } from '../registry/dialer.ts';
import type { CredentialRecord } from '../../core/model/credential.ts';
import { type SecretPath, splitSecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import type { SecretsStore } from '../secrets/port.ts';
import { readInService } from '../secrets/resolve.ts';
import { VERSION } from '../version.ts';
import { retryAfterMs } from './retry-after.ts';
import { keyBytes, signed } from './signature.ts';

const TIMEOUT_MS = 10_000;
/** What a receiver answers is not read any further; most say nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface PostOptions {
  readonly dialer: Dialer;
  readonly secrets: Pick<SecretsStore, 'read' | 'metadata'>;
  readonly credential: (tenantId: TenantId, path: SecretPath) => CredentialRecord | undefined;
  /** Which the policy grants. */
  readonly namespaces: readonly string[];
  readonly nowMs: () => number;
  /** Absent: 10 s. */
  readonly timeoutMs?: number;
}

type Keys = readonly SecretValue[] | { readonly problem: string };

/** Of a credential that is being rotated: the version that is delivered beside the one in service. */
function besideInService({ rotation }: CredentialRecord): number | undefined {
  if (rotation === undefined || rotation.phase === 'retiring') return undefined;
  return rotation.phase === 'staged' ? rotation.next : rotation.previous;
}

/**
 * The version in service first, read for every request: a rotation reaches the next one, and nothing is kept. While a rotation has two of them both sign,
 * so that a receiver takes requests before and after it learns the new key; where the other cannot be read, the one in service is enough.
 */
async function signingKeys(
  { secrets, credential, namespaces }: PostOptions,
  tenantId: TenantId,
  { vault_path, key }: WebhookSpec['signing'],
): Promise<Keys> {
  const path = splitSecretPath(vault_path);
  if (path === undefined) return { problem: `${vault_path} is no path of a secret` };
  if (!namespaces.includes(path.namespace))
    return { problem: `the policy does not grant the namespace ${path.namespace} of ${vault_path}` };
  const record = credential(tenantId, path);
  const document = await (record === undefined
    ? secrets.read(tenantId, path)
    : readInService(secrets, tenantId, path, record));
  if (!document.ok) return { problem: `the signing key ${vault_path} cannot be read: ${document.message}` };
  const value = document.values.get(key);
  if (value === undefined) return { problem: `the secret ${vault_path} has no key ${key}` };
  const isUsable = (one: SecretValue): boolean => keyBytes(one.reveal()).length > 0;
  if (!isUsable(value))
    return { problem: `the key ${key} of ${vault_path} is empty, or whsec_ without base64 behind it` };
  const version = record && besideInService(record);
  if (version === undefined || version === document.version) return [value];
  const beside = await secrets.read(tenantId, path, version);
  const other = beside.ok ? beside.values.get(key) : undefined;
  return other !== undefined && isUsable(other) && other.reveal() !== value.reveal()
    ? [value, other]
    : [value];
}

/** What a tenant may know of a failure: not which names and addresses there are inside the platform's network. */
const MESSAGES = {
  blocked: ['blocked', 'the host has no address that the control plane may call'],
  unresolved: ['blocked', 'the host has no address that the control plane may call'],
  unconnected: ['unreachable', 'no connection'],
  broken: ['unreachable', 'the connection broke before the answer was whole'],
  oversize: ['unreachable', `the answer is longer than ${MAX_ANSWER_BYTES} bytes`],
  timeout: ['timeout', `no answer within ${TIMEOUT_MS / 1000} s`],
} as const;

/** One attempt: signed now, through the guarded dialer, without following anything. */
export function createPost(options: PostOptions): PostEvent {
  const { dialer, nowMs, timeoutMs = TIMEOUT_MS } = options;
  return async (tenantId, { url, signing }, event, signal) => {
    const keys = await signingKeys(options, tenantId, signing);
    if ('problem' in keys) return { failure: 'unsigned', message: keys.problem };
    const body = JSON.stringify(cloudEvent(event));
    const answer = await dialer.request(new URL(url), {
      key: tenantId,
      method: 'POST',
      isRepeatable: true,
      headers: {
        'user-agent': `berth/${VERSION}`,
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'content-length': String(Buffer.byteLength(body)),
        ...signed(
          keys.map((key) => key.reveal()),
          event.id,
          nowMs(),
          body,
        ),
      },
      body,
      timeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
    if (answer.ok) {
      const waitMs = retryAfterMs(answer.headers['retry-after'], nowMs());
      return { status: answer.status, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
    }
    if (answer.failure === 'closed' || signal.aborted) return { failure: 'closed' };
    if (answer.failure === 'busy') return { failure: 'busy' };
    const [failure, message] = MESSAGES[answer.failure];
    return { failure, message };
  };
}
