import { canonicalJson } from '../model/canonical.ts';
import type { DeploymentSpec, PortMapping, Workload } from '../model/deployment.ts';
import { ingressKey } from '../model/ingress.ts';
import { keysOf, isRecord } from '../model/values.ts';
import { draftOf } from '../schema/shape.ts';
import { deploymentBody, type DeploymentDraft, type SentDeployment } from './deployment-body.ts';

const FIELDS = keysOf(deploymentBody.fields);

/** The fields of a body, without server-owned keys; `null` and absent are the same on create. */
export function draftOfBody(body: SentDeployment): DeploymentDraft {
  return draftOf(deploymentBody, body);
}

/** PUT: each field that is sent replaces the stored one whole, `null` clears it, the rest stays. */
export function mergeDraft(stored: DeploymentSpec, body: SentDeployment): DeploymentDraft {
  return draftOf(deploymentBody, { ...stored, ...body });
}

/** What an update sends of what workloads have; the name only says which one is meant. */
export function sentFields(body: object): readonly (keyof DeploymentDraft)[] {
  return FIELDS.filter((field) => field !== 'name' && Object.hasOwn(body, field));
}

/**
 * The fields that an update is judged by: those that it sends. One that stops the deployment is judged by those that it changes,
 * so that stopping works with the whole record sent back too, whatever of it is no longer allowed.
 */
export function judgedFields(
  stored: DeploymentSpec,
  body: SentDeployment,
  draft: DeploymentDraft,
): ReadonlySet<keyof DeploymentDraft> {
  const isChanged = (field: keyof DeploymentDraft): boolean =>
    canonicalJson(draft[field] ?? null) !== canonicalJson(stored[field] ?? null);
  const sent = sentFields(body);
  return new Set(body.replicas === 0 ? sent.filter(isChanged) : sent);
}

function lostKeys(field: string, before: object | undefined, after: object | undefined): string[] {
  return Object.keys(before ?? {})
    .filter((key) => !Object.hasOwn(after ?? {}, key))
    .map((key) => `${field}[${key}]`);
}

function lostItems<T>(
  field: string,
  before: readonly T[] | undefined,
  after: readonly T[] | undefined,
  key: (item: T) => string,
): string[] {
  const kept = new Set((after ?? []).map(key));
  return (before ?? [])
    .map(key)
    .filter((item) => !kept.has(item))
    .map((item) => `${field}[${item}]`);
}

/** One container port may stand in several entries, so that they are counted and not only looked for. */
function lostPorts(before: readonly PortMapping[], after: readonly PortMapping[]): string[] {
  const kept = after.map((port) => port.container);
  return before.flatMap(({ container }) => {
    const index = kept.indexOf(container);
    if (index === -1) return [`ports[${container}]`];
    kept.splice(index, 1);
    return [];
  });
}

const OPTIONAL_FIELDS = [
  'command',
  'user',
  'readOnlyRootFilesystem',
  'capabilities',
  'stop',
  'healthCheck',
  'resources',
  'nodeId',
  'access',
  'update',
] as const;

/** The field itself when it is gone, else the members that its new value lacks: `healthCheck.retries`. */
function lostMembers(field: string, before: unknown, after: unknown): string[] {
  if (before === undefined) return [];
  if (after === undefined) return [field];
  if (!isRecord(before) || !isRecord(after)) return [];
  return Object.keys(before).flatMap((key) =>
    lostMembers(`${field}.${key}`, before[key], Object.hasOwn(after, key) ? after[key] : undefined),
  );
}

/** Everything a replaced list, map or block lost: the trap of partial updates, said aloud. */
export function removedEntries(before: Workload, after: Workload): string[] {
  return [
    ...lostKeys('environment', before.environment, after.environment),
    ...lostItems('secrets', before.secrets, after.secrets, (entry) => entry.name),
    ...lostKeys('composedEnvironment', before.composedEnvironment, after.composedEnvironment),
    ...lostItems('files', before.files, after.files, (file) => file.path),
    ...lostItems('volumes', before.volumes, after.volumes, (mount) => mount.volumeId),
    ...lostKeys('placement.residency', before.placement?.residency, after.placement?.residency).map((entry) =>
      entry.replace(/^([^[]*)\[(.*)\]$/, '$1.$2'),
    ),
    ...lostItems(
      'placement.residency.blockedCountries',
      before.placement?.residency?.blockedCountries,
      after.placement?.residency?.blockedCountries,
      (code) => code,
    ),
    ...lostKeys('placement.constraints', before.placement?.constraints, after.placement?.constraints),
    ...lostItems(
      'placement.antiAffinity',
      before.placement?.antiAffinity,
      after.placement?.antiAffinity,
      (name) => name,
    ),
    ...lostKeys('dependsOn', before.dependsOn, after.dependsOn),
    ...lostKeys('labels', before.labels, after.labels),
    ...(after.capabilities?.drop === undefined
      ? []
      : lostItems('capabilities.drop', before.capabilities?.drop, after.capabilities.drop, (name) => name)),
    ...lostItems('networks', before.networks, after.networks, (name) => name),
    ...(after.access === undefined
      ? []
      : lostItems('access.from', before.access?.from, after.access.from, (name) => name)),
    ...lostPorts(before.ports ?? [], after.ports ?? []),
    ...(after.ingress === undefined
      ? lostMembers('ingress', before.ingress, undefined)
      : lostItems('ingress', before.ingress, after.ingress, ingressKey)),
    ...OPTIONAL_FIELDS.flatMap((field) => lostMembers(field, before[field], after[field])),
  ];
}
