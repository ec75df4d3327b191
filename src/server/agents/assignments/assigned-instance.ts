import { optional } from '../../../core/model/values.ts';
import type {
  AssignedContainer,
  AssignedHealthCheck,
  AssignedInstance,
  AssignedMount,
  AssignedOnce,
} from '../../../core/protocol/agent-protocol.ts';
import { type ContainerDefaults, containerBounds } from '../../../core/model/container-defaults.ts';
import type { Workload, HealthCheck } from '../../../core/model/deployment.ts';
import { labelledIngress } from '../../../core/model/ingress.ts';
import { pinnedImage } from '../../../core/model/image-reference.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { parseDuration, parseMemory } from '../../../core/model/quantity.ts';
import type { SpecSnapshot } from '../../../core/model/spec-snapshot.ts';
import type { StopTerms } from '../../../core/model/stop.ts';
import { neededFeatures } from '../../../core/scheduler/request.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';

export interface AssignmentFacts {
  readonly tenantSlug: string;
  /** What the node's agent knows. */
  readonly features: readonly string[];
  readonly defaults: ContainerDefaults;
  readonly nodeMemoryBytes: number;
  spec(instance: InstanceRecord): SpecSnapshot | undefined;
  volume(id: string): VolumeRecord | undefined;
  /** After what time its agent may restart it alone; absent, or undefined: not at all. */
  aloneRestartMs?(instance: InstanceRecord): number | undefined;
  /** Of a job's attempt: its container was seen to run. */
  hasStarted(instance: InstanceRecord): boolean;
}

function duration<K extends string>(key: K, text: string | undefined) {
  return optional(key, text === undefined ? undefined : parseDuration(text));
}

function healthCheck({ command, interval, timeout, retries, startPeriod }: HealthCheck): AssignedHealthCheck {
  return {
    command,
    ...duration('intervalMs', interval),
    ...duration('timeoutMs', timeout),
    ...(retries === undefined ? {} : { retries }),
    ...duration('startPeriodMs', startPeriod),
  };
}

/**
 * The router's id is the name, verbatim. A node belongs to one tenant, so a proxy that reads the labels of its engine meets no
 * other tenant's deployment of the same name.
 */
export function ingressLabels(spec: Workload, tenantSlug: string): Readonly<Record<string, string>> {
  const labelled = labelledIngress(spec);
  if (labelled === undefined) return {};
  const { host, port } = labelled;
  const router = spec.name;
  return {
    'traefik.enable': 'true',
    'traefik.docker.network': `berth-${tenantSlug}`,
    [`traefik.http.routers.${router}.rule`]: `Host(\`${host ?? ''}\`)`,
    [`traefik.http.routers.${router}.service`]: router,
    [`traefik.http.services.${router}.loadbalancer.server.port`]: String(port),
  };
}

function mounts(spec: Workload, facts: AssignmentFacts): readonly AssignedMount[] | undefined {
  const assigned: AssignedMount[] = [];
  for (const { volumeId, mountPath, readOnly } of spec.volumes ?? []) {
    const volume = facts.volume(volumeId);
    if (volume === undefined) return undefined;
    assigned.push({
      volumeId,
      kind: volume.type,
      ...(volume.hostPath === undefined ? {} : { source: volume.hostPath }),
      target: mountPath,
      readOnly,
      sizeBytes: volume.sizeBytes,
    });
  }
  return assigned;
}

function container(spec: SpecSnapshot, facts: AssignmentFacts): AssignedContainer | undefined {
  const mounted = mounts(spec, facts);
  if (mounted === undefined) return undefined;
  const { user, readOnlyRootFilesystem, capabilities } = spec;
  return {
    // In the field that every agent knows: an older one pulls and runs the same bytes.
    image: pinnedImage(spec.image, spec.imageDigest),
    ...(spec.command === undefined ? {} : { command: spec.command }),
    ...(user === undefined ? {} : { user }),
    ...(readOnlyRootFilesystem === undefined ? {} : { readOnlyRootFilesystem }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(spec.stop === undefined ? {} : { stop: stopOf(spec.stop) }),
    ...((spec.files ?? []).length === 0 ? {} : { hasFiles: true }),
    ...(spec.networks === undefined ? {} : { networks: spec.networks }),
    ...optional('after', answeringFirst(spec)),
    environment: spec.environment ?? {},
    // Credentials of the registry are asked for by the one that has to pull, whatever this says.
    needsSecrets:
      (spec.files ?? []).length > 0 ||
      (spec.secrets?.length ?? 0) > 0 ||
      Object.keys(spec.composedEnvironment ?? {}).length > 0,
    ...(spec.healthCheck === undefined ? {} : { healthCheck: healthCheck(spec.healthCheck) }),
    ...(spec.resources?.limits === undefined ? {} : { limits: spec.resources.limits }),
    ...diskOf(spec),
    bounds: containerBounds(facts.defaults, facts.nodeMemoryBytes, spec.resources),
    ports: spec.ports ?? [],
    labels: { ...spec.labels, ...ingressLabels(spec, facts.tenantSlug) },
    mounts: mounted,
    alias: spec.name,
  };
}

function diskOf({ resources }: Workload): Pick<AssignedContainer, 'diskBytes'> {
  const { disk } = resources?.requests ?? {};
  return disk === undefined ? {} : optional('diskBytes', parseMemory(disk));
}

function stopOf({ signal, grace }: StopTerms): NonNullable<AssignedContainer['stop']> {
  return { ...optional('signal', signal), ...duration('graceMs', grace) };
}

function answeringFirst({ dependsOn = {} }: Workload): readonly string[] | undefined {
  const names = Object.keys(dependsOn).filter((name) => dependsOn[name] === 'healthy');
  return names.length === 0 ? undefined : names;
}

function onceOf(record: InstanceRecord, facts: AssignmentFacts): { readonly once?: AssignedOnce } {
  if (record.once === undefined) return {};
  const { timeoutMs, end } = record.once;
  return {
    once: {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(end === undefined ? {} : { end }),
      ...(facts.hasStarted(record) && { started: true }),
    },
  };
}

/**
 * Undefined: the snapshot of the spec or a volume is not there, or the agent does not know how to confine it. The instance is
 * then left out, which orders nothing, rather than run without its data or with more rights than it asked for.
 */
export function assignedInstance(
  record: InstanceRecord,
  facts: AssignmentFacts,
): AssignedInstance | undefined {
  const { id, deployment, wanted, specHash, secretsVersion, attempt } = record;
  const canary = record.canary === true ? { canary: true } : {};
  const head = {
    id,
    deployment,
    specHash,
    secretsVersion,
    attempt,
    ...canary,
  };
  if (wanted === 'stop') return { ...head, wanted };
  const spec = facts.spec(record);
  // An agent that was replaced by an older one since the placement would run it unconfined, or on another network.
  const isSafe = spec === undefined || neededFeatures(spec).every((one) => facts.features.includes(one));
  const made = spec === undefined || !isSafe ? undefined : container(spec, facts);
  if (made === undefined) return undefined;
  const alone = optional('aloneRestartMs', facts.aloneRestartMs?.(record));
  return { ...head, ...onceOf(record, facts), ...alone, wanted, container: made };
}
