import type {
  DependencyGate,
  DeploymentSpec,
  HealthCheck,
  SecretReference,
  UpdatePolicy,
  VolumeMount,
} from '../model/deployment.ts';
import type { ConfigFile } from '../model/config-file.ts';
import { isRecord } from '../model/values.ts';
import { inOrder } from '../schema/shape.ts';
import { ingressEntries } from './ingress-drafts.ts';
import { deploymentBody, type DeploymentDraft } from './deployment-body.ts';
import type { SecretEntryDraft } from './workload/secrets.ts';

/** Without write-time material, and without what no secret has. */
export function withoutMaterial(draft: DeploymentDraft): DeploymentDraft {
  const secrets = (draft.secrets ?? []).map(
    ({ values: _values, generate: _generate, mount_path: _path, ...reference }) => reference,
  );
  return { ...draft, secrets };
}

/** Of a draft that passed every rule: what they want is there, and the alterations filled what has a default. */
export function secretReferences(secrets: readonly SecretEntryDraft[] | undefined): SecretReference[] {
  return (secrets ?? []).map(({ name = '', vault_path = '', anchor = 'external' }) => ({
    name,
    vault_path,
    anchor,
    rotation: 'restart',
  }));
}

export function volumeMounts(mounts: readonly unknown[]): VolumeMount[] {
  return mounts.filter(isRecord).map(({ volumeId, mountPath, readOnly }) => ({
    volumeId: String(volumeId),
    mountPath: String(mountPath),
    readOnly: readOnly === true,
  }));
}

export function configFiles(files: NonNullable<DeploymentDraft['files']>): ConfigFile[] {
  return files.map(({ path = '', ...rest }) => ({ path, ...rest }));
}

function healthCheckOf(draft: NonNullable<DeploymentDraft['healthCheck']>): HealthCheck {
  return { ...draft, type: 'exec', command: draft.command ?? [] };
}

function gatesOf(draft: Readonly<Record<string, unknown>>): Readonly<Record<string, DependencyGate>> {
  const gate = (said: unknown): DependencyGate => (said === 'started' ? 'started' : 'healthy');
  return Object.fromEntries(Object.entries(draft).map(([name, said]) => [name, gate(said)]));
}

function updateOf({ onFailure, ...policy }: NonNullable<DeploymentDraft['update']>): UpdatePolicy {
  if (onFailure === undefined) return policy;
  return { ...policy, onFailure: onFailure === 'leave' ? 'leave' : 'rollback' };
}

/** A draft that passed every rule becomes a spec: a fixed order of fields, and no write-time secret material. */
export function specOfDraft(draft: DeploymentDraft): DeploymentSpec {
  const { replicas, files, healthCheck, volumes, dependsOn, ports, ingress, access, update, ...plain } =
    draft;
  return inOrder(deploymentBody, {
    ...plain,
    kind: 'Deployment',
    name: plain.name ?? '',
    image: plain.image ?? '',
    replicas: typeof replicas === 'number' ? replicas : 1,
    secrets: secretReferences(plain.secrets),
    secretsVersion: plain.secretsVersion ?? 0,
    ...(files && { files: configFiles(files) }),
    ...(healthCheck && { healthCheck: healthCheckOf(healthCheck) }),
    ...(volumes && { volumes: volumeMounts(volumes) }),
    ...(dependsOn && { dependsOn: gatesOf(dependsOn) }),
    ...(ports && { ports: ports.map(({ container = 0, ...host }) => ({ container, ...host })) }),
    ...(ingress && { ingress: ingressEntries(ingress) }),
    ...(access && { access: { from: access.from ?? [] } }),
    ...(update && { update: updateOf(update) }),
  });
}
