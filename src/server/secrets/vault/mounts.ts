import type { TenantId } from '../../../core/model/ids.ts';
import { assertSegment, failure, type SecretFailure } from '../port.ts';
import { failureOf, isMountInUse, isSuccess, isUnrouted, member, text } from './answers.ts';
import type { ReachedCall, VaultCalls } from './calls.ts';

export function segment(value: string): string {
  assertSegment(value);
  return encodeURIComponent(value);
}

export function mountOf(tenant: TenantId): string {
  return `berth-${segment(tenant)}`;
}

export interface VaultMounts {
  /** Before anything is written, and where nothing was found: a mount of another kind takes a write and gives back nothing. */
  usable(tenant: TenantId): Promise<SecretFailure | undefined>;
  create(tenant: TenantId): Promise<SecretFailure | undefined>;
  remove(tenant: TenantId): Promise<SecretFailure | undefined>;
}

/** Mounts known to be KV version 2 are not asked for again, until they are gone. */
export function createVaultMounts(calls: Pick<VaultCalls, 'send' | 'read'>): VaultMounts {
  const known = new Set<TenantId>();

  /** Where the operator creates and removes the mounts, the policy refuses the removal also of one that is gone. */
  async function isGone(tenant: TenantId): Promise<boolean> {
    const answer = await calls.read(`${mountOf(tenant)}/config`);
    return !('ok' in answer) && isUnrouted(answer);
  }

  async function usable(tenant: TenantId): Promise<SecretFailure | undefined> {
    if (known.has(tenant)) return undefined;
    const answer = await calls.read(`sys/internal/ui/mounts/${mountOf(tenant)}`);
    if ('ok' in answer) return answer;
    // What is not there and what the policy hides are answered alike; the call itself then decides.
    if (!isSuccess(answer)) return undefined;
    const data = member(answer.json, 'data');
    const type = text(data, 'type');
    const version = text(member(data, 'options'), 'version');
    if (type === 'kv' && version === '2') {
      known.add(tenant);
      return undefined;
    }
    const found = type === 'kv' ? 'a KV version 1 mount' : `a mount of the type ${type}`;
    return failure(
      'unusable',
      `${mountOf(tenant)} is ${found}; Berth keeps secrets in KV version 2 (enable it with -version=2), and wrote nothing`,
    );
  }

  return {
    usable,

    create: async (tenant) => {
      const call: ReachedCall = {
        method: 'POST',
        path: `sys/mounts/${mountOf(tenant)}`,
        body: { type: 'kv', options: { version: '2' }, description: 'Secrets of one Berth tenant' },
      };
      const answer = await calls.send(call);
      if ('ok' in answer) return answer;
      if (isSuccess(answer)) known.add(tenant);
      // Another process created it a moment ago: its kind has to be read.
      else if (isMountInUse(answer)) return usable(tenant);
      else return failureOf(answer, 'making the mount of the tenant', call);
      return undefined;
    },

    remove: async (tenant) => {
      known.delete(tenant);
      const call: ReachedCall = { method: 'DELETE', path: `sys/mounts/${mountOf(tenant)}` };
      const answer = await calls.send(call);
      if ('ok' in answer) return answer;
      if (isSuccess(answer)) return undefined;
      const failed = failureOf(answer, 'removing the mount of the tenant', call);
      return failed.reason === 'missing' || (failed.reason === 'denied' && (await isGone(tenant)))
        ? undefined
        : failed;
    },
  };
}
