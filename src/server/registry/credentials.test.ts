import { describe, expect, it } from 'vitest';
import type { CredentialRecord } from '../../core/model/credential.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { failure, type SecretDocument, type SecretFailure } from '../secrets/port.ts';
import {
  CredentialStoreDeniedError,
  CredentialStoreUnavailableError,
  createRegistryCredentials,
} from './credentials.ts';

const TENANT = 'shop' as TenantId;

function document(values: Readonly<Record<string, string>>, version = 1): SecretDocument {
  const entries = Object.entries(values).map(([key, text]) => [key, new SecretValue(text)] as const);
  return { ok: true, version, createdAt: '2026-01-01T00:00:00Z', values: new Map(entries) };
}

function sourceOf(answer: SecretDocument | SecretFailure) {
  const asked: unknown[] = [];
  const source = createRegistryCredentials(
    {
      read: async (tenant, path) => {
        asked.push([tenant, path]);
        return answer;
      },
      metadata: async () => failure('denied', 'not needed where Berth has no record'),
    },
    () => undefined,
  );
  return { asked, source };
}

/** The versions 1 and 2 of one document, read through the record of it. */
function sourceWith(record: CredentialRecord) {
  const createdAt = '2026-01-01T00:00:00Z';
  return createRegistryCredentials(
    {
      read: async (_tenant, _path, version = 2) =>
        document({ username: 'ci', password: `of version ${version}` }, version),
      metadata: async () => ({
        ok: true,
        exists: true,
        version: 2,
        createdAt,
        keys: ['username', 'password'],
        versions: [
          { version: 1, createdAt },
          { version: 2, createdAt },
        ],
      }),
    },
    () => record,
  );
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

  it.each<[string, CredentialRecord, string | undefined]>([
    ['what is in service', { current: 2, known: 2 }, 'of version 2'],
    ['what another hand wrote later', { current: 1, known: 1 }, 'of version 2'],
    [
      'not what was written for a request that was refused',
      { current: 1, known: 1, refused: [2] },
      'of version 1',
    ],
    ['nothing where no request was ever accepted', { current: 0, known: 0, refused: [1, 2] }, undefined],
  ])('reads %s', async (_what, record, password) => {
    expect((await sourceWith(record)(TENANT, 'r.example'))?.password.reveal()).toBe(password);
  });

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
