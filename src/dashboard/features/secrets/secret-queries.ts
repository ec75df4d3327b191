import type { AnswerTo, ItemOf } from '../../../sdk/index.ts';
import { useRecord, useRecords, useRecordsOf } from '../../app/use-records.ts';

/** What is known of a path: never a value. */
export type SecretResource = ItemOf<'GET /api/v1/secrets/resources'>;
export type SecretConsumer = ItemOf<'GET /api/v1/secrets/resources/{name}/consumers'>;
/** A document, and where its rotation stands. */
export type Secret = AnswerTo<'GET /api/v1/secrets/{namespace}/{name}'>;
/** A run that the rotation asked for before it goes on. */
export type HookRun = NonNullable<Secret['hookRuns']>[number];

export function useSecretPaths() {
  return useRecords('secrets', 'GET /api/v1/secrets/resources');
}

export type UnreferencedSecret = ItemOf<'GET /api/v1/secrets'>;

export function useUnreferencedSecrets() {
  return useRecord('secrets', 'GET /api/v1/secrets', { query: { unreferenced: true, limit: 1000 } });
}

export function useSecretConsumers(name: string) {
  return useRecordsOf('secrets', 'GET /api/v1/secrets/resources/{name}/consumers', { params: { name } });
}

type Named = Pick<Secret, 'namespace' | 'name'>;

export function secretPage({ namespace, name }: Named): string {
  return `/secrets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Runs of hooks move without an event of the secret. */
export function useSecret({ namespace, name }: Named) {
  return useRecord(
    'secrets',
    'GET /api/v1/secrets/{namespace}/{name}',
    { params: { namespace, name } },
    { everyMs: 3000 },
  );
}
