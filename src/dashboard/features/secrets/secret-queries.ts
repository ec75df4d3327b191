import { useRecord, useRecords } from '../../app/use-records.ts';

/** What is known of a path: never a value. */
export interface SecretPath {
  readonly name: string;
  readonly namespace: string;
  readonly path: string;
  /** Null: the store does not let anybody look, and `problem` says why. */
  readonly exists: boolean | null;
  readonly problem?: string;
  readonly keys: readonly string[];
  readonly version: number;
  readonly consumers: number;
}

export interface SecretConsumer {
  readonly deployment?: string;
  readonly job?: string;
  readonly secret: string;
  readonly anchor: string;
  readonly secretsVersion: number;
}

export interface SecretWritten {
  readonly path: string;
  readonly keys: readonly string[];
  readonly version: number;
  readonly removed?: readonly string[];
}

export function useSecretPaths() {
  return useRecords<SecretPath>('secrets', '/api/v1/secrets/resources');
}

export function useSecretConsumers(name: string) {
  return useRecord<readonly SecretConsumer[]>(
    'secrets',
    `/api/v1/secrets/resources/${encodeURIComponent(name)}/consumers`,
  );
}
