import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { failure, type SecretDocument, type SecretFailure } from '../secrets/port.ts';
import {
  CredentialStoreDeniedError,
  CredentialStoreUnavailableError,
  createRegistryCredentials,
} from './credentials.ts';

const TENANT = 'shop' as TenantId;

function document(values: Readonly<Record<string, string>>): SecretDocument {
  const entries = Object.entries(values).map(([key, text]) => [key, new SecretValue(text)] as const);
  return { ok: true, version: 1, createdAt: '2026-01-01T00:00:00Z', values: new Map(entries) };
}

function sourceOf(answer: SecretDocument | SecretFailure) {
  const asked: unknown[] = [];
  const source = createRegistryCredentials({
    read: async (tenant, path) => {
      asked.push([tenant, path]);
      return answer;
    },
  });
  return { asked, source };
}

describe('createRegistryCredentials', () => {
  it("reads the registry's document of the tenant", async () => {
    const { asked, source } = sourceOf(document({ username: 'ci', password: 'sesame' }));
    const found = await source(TENANT, 'registry.example:5000');
    expect(asked).toEqual([[TENANT, { namespace: 'registries', label: 'registry.example:5000' }]]);
    expect([found?.username, found?.password.reveal()]).toEqual(['ci', 'sesame']);
    expect(JSON.stringify(found)).not.toContain('sesame');
  });

  it.each([failure('missing', 'none'), document({ username: 'ci' }), document({})])(
    'has none in %j',
    async (answer) => {
      expect(await sourceOf(answer).source(TENANT, 'r.example')).toBeUndefined();
    },
  );

  it('a path that the policy refuses is told apart: not every registry asks for credentials', async () => {
    const asking = sourceOf(failure('denied', 'refused')).source(TENANT, 'r.example');
    await expect(asking).rejects.toBeInstanceOf(CredentialStoreDeniedError);
  });

  it.each(['sealed', 'unavailable', 'unusable'] as const)(
    'a store that is %s is unavailable',
    async (reason) => {
      const asking = sourceOf(failure(reason, 'away')).source(TENANT, 'r.example');
      await expect(asking).rejects.toBeInstanceOf(CredentialStoreUnavailableError);
    },
  );
});
