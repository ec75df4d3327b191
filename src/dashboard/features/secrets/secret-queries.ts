import type { CredentialRotation } from '../../../core/model/credential.ts';
import type { RotationPhase } from '../../../core/model/deployment.ts';
import type { JobRunState } from '../../../core/model/job.ts';
import type { CredentialHooks, HookName } from '../../../core/model/rotation-hook.ts';
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

/** A run that the rotation asked for before it goes on. */
export interface HookRun {
  readonly hook: HookName;
  readonly job: string;
  readonly run?: string;
  readonly state: JobRunState | 'Waiting';
  readonly message: string;
  /** The way back: the old values are made valid again. */
  readonly swapped?: true;
}

/** A document, and where its rotation stands. */
export interface Secret {
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
  readonly keys: readonly string[];
  readonly version: number;
  readonly createdAt?: string;
  /** The version that containers are given, where Berth knows of it. */
  readonly current?: number;
  readonly nextPhase: RotationPhase;
  readonly rotation?: Pick<CredentialRotation, 'phase'> &
    Partial<Pick<CredentialRotation, 'next' | 'previous'>>;
  readonly hooks?: CredentialHooks;
  readonly hookRuns?: readonly HookRun[];
}

export interface CredentialRotated {
  readonly phase: RotationPhase;
  readonly consumers: readonly { readonly deployment: string }[];
  /** The phase is not taken yet: it waits for this. */
  readonly hook?: HookRun;
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

type Named = Pick<Secret, 'namespace' | 'name'>;

export function secretPage({ namespace, name }: Named): string {
  return `/secrets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function secretPath(named: Named): string {
  return `/api/v1${secretPage(named)}`;
}

/** Runs of hooks move without an event of the secret. */
export function useSecret(named: Named) {
  return useRecord<Secret>('secrets', secretPath(named), { everyMs: 3000 });
}
