import type { DeploymentSpec, Workload } from '../model/deployment.ts';
import { ingressKey, servedIngress } from '../model/ingress.ts';
import type { TenantId } from '../model/ids.ts';
import type { Warning } from '../model/announcement.ts';
import type { NodeRecord } from '../model/node.ts';
import type { VolumeRecord } from '../model/volume.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { accessFactRule, type AttachmentFacts, networksFactRule } from './attachment-facts.ts';
import { firstRejection, isJudged, type Judged } from './rule.ts';
import { type VolumeResidencyConflict, volumeResidencyRejection } from './volume-residency.ts';

/** What a deployment's rules need to know of the tenant's other records. Reads are lazy: most specs ask for little. */
export interface DeploymentFacts extends AttachmentFacts {
  readonly tenantId: TenantId;
  readonly nodes: () => readonly NodeRecord[];
  readonly node: (name: string) => NodeRecord | undefined;
  /** Whether the node is the control plane's own, which takes new work from the platform only. */
  readonly closedToTenant: (name: string) => boolean;
  readonly volume: (id: string) => VolumeRecord | undefined;
  /** Another deployment or job that mounts the volume read-write. */
  readonly otherWriter: (volumeId: string) => string | undefined;
  readonly deployment: (name: string) => DeploymentSpec | undefined;
  /** Another deployment that has the host with its path, or the port; absent: nobody. */
  readonly ingressHolder?: (key: string) => string | undefined;
  /** Absent: copies of volumes are not checked. */
  readonly residencyConflict?: (spec: Workload) => VolumeResidencyConflict | undefined;
}

type FactRule = (spec: Workload, facts: DeploymentFacts, judged?: Judged) => Rejection | undefined;

type Mount = NonNullable<DeploymentSpec['volumes']>[number];

/** What a mount itself asks of its volume. */
function mountRejection(
  spec: Workload,
  facts: DeploymentFacts,
  mount: Mount,
  field: string,
): Rejection | undefined {
  const volume = facts.volume(mount.volumeId);
  if (volume === undefined) {
    return reject('volume_not_found', {
      field,
      received: received(mount.volumeId),
      why: 'The tenant has no volume of this id.',
    });
  }
  if (volume.class !== 'ephemeral' && volume.class !== 'replicated') {
    return reject('volume_class_not_wired', {
      field,
      received: received(mount.volumeId),
      why: `Volumes of class ${volume.class} cannot be bound in a deployment yet.`,
    });
  }
  // A mount that is stored already is not asked for again: what is there must stay changeable while its volume is not Ready.
  const before = facts.deployment(spec.name)?.volumes?.find(({ volumeId }) => volumeId === mount.volumeId);
  if (volume.phase !== 'Ready' && before?.readOnly !== mount.readOnly) {
    return reject('volume_not_ready', {
      field,
      received: received(mount.volumeId),
      why: `The volume is ${volume.phase}; only a Ready volume can be mounted.`,
    });
  }
  return undefined;
}

/** The owner of the outer one decides what the name of the inner one leads to. The same folder twice is harmless. */
function nestedRejection(
  { volumes = [] }: Workload,
  facts: DeploymentFacts,
  index: number,
): Rejection | undefined {
  const pathOf = (mount: Mount | undefined): string | undefined =>
    mount === undefined ? undefined : facts.volume(mount.volumeId)?.hostPath;
  const path = pathOf(volumes[index]);
  if (path === undefined) return undefined;
  for (const other of volumes.slice(0, index)) {
    const otherPath = pathOf(other);
    if (otherPath === undefined) continue;
    if (!path.startsWith(`${otherPath}/`) && !otherPath.startsWith(`${path}/`)) continue;
    return reject('volume_binds_nested', {
      field: `volumes[${index}].volumeId`,
      received: received(volumes[index]?.volumeId),
      expected: `a bind beside ${otherPath}, or no bind of its own`,
      why: `It is ${path}, and ${other.volumeId} is ${otherPath}: one lies inside the other.`,
    });
  }
  return undefined;
}

function writerRejection(
  spec: Workload,
  facts: DeploymentFacts,
  mount: Mount,
  field: string,
): Rejection | undefined {
  const writer = facts.otherWriter(mount.volumeId);
  if (writer === undefined && spec.replicas <= 1) return undefined;
  return reject('volume_access_mode_conflict', {
    field,
    received: received(mount.readOnly),
    expected:
      writer === undefined
        ? 'replicas 1, or readOnly true'
        : `readOnly true, or detach the volume from ${writer} first`,
    why:
      writer === undefined
        ? `Each of the ${spec.replicas} instances would be a writer of a ReadWriteOnce volume.`
        : `${writer} already mounts the volume read-write; a ReadWriteOnce volume has one writer.`,
  });
}

function primaryRejection({ nodeId }: Workload, facts: DeploymentFacts, mount: Mount): Rejection | undefined {
  const primary = facts.volume(mount.volumeId)?.primaryNodeId;
  if (nodeId === undefined || primary === undefined || nodeId === primary) return undefined;
  return reject('volume_primary_mismatch', {
    field: 'nodeId',
    received: received(nodeId),
    expected: `${primary}, or omit nodeId so that placement follows the volume`,
    why: `The volume's primary is on ${primary}.`,
  });
}

export const volumesRule: FactRule = (spec, facts, judged) => {
  const ofMount = isJudged(judged, ['volumes']);
  for (const [index, mount] of (spec.volumes ?? []).entries()) {
    const rejection =
      (ofMount ? mountRejection(spec, facts, mount, `volumes[${index}].volumeId`) : undefined) ??
      (ofMount ? nestedRejection(spec, facts, index) : undefined) ??
      (!mount.readOnly && (ofMount || (isJudged(judged, ['replicas']) && spec.replicas > 1))
        ? writerRejection(spec, facts, mount, `volumes[${index}].readOnly`)
        : undefined) ??
      (!mount.readOnly && isJudged(judged, ['volumes', 'nodeId'])
        ? primaryRejection(spec, facts, mount)
        : undefined);
    if (rejection) return rejection;
  }
  const conflict = isJudged(judged, ['volumes', 'placement']) ? facts.residencyConflict?.(spec) : undefined;
  return conflict === undefined ? undefined : volumeResidencyRejection(conflict);
};

/** A name that the tenant cannot place on: not its own, or the node of the control plane itself. */
export function notACandidate(nodeId: string, facts: DeploymentFacts): Rejection {
  const names = facts
    .nodes()
    .map((node) => node.name)
    .filter((name) => !facts.closedToTenant(name))
    .slice(0, 20);
  return reject('node_not_a_placement_candidate', {
    field: 'nodeId',
    received: received(nodeId),
    expected:
      names.length === 0 ? 'omit nodeId' : `one of this tenant's nodes (${names.join(', ')}), or omit nodeId`,
    why: facts.closedToTenant(nodeId)
      ? 'The control plane itself runs on this node, which takes new work from the platform tenant only.'
      : 'The node is not among the nodes that this tenant has enrolled.',
  });
}

const nodeRule: FactRule = (spec, facts, judged) => {
  if (spec.nodeId === undefined || !isJudged(judged, ['nodeId'])) return undefined;
  if (facts.node(spec.nodeId) !== undefined && !facts.closedToTenant(spec.nodeId)) return undefined;
  if (facts.nodes().length === 0) {
    return reject('node_candidates_unresolvable', {
      field: 'nodeId',
      received: received(spec.nodeId),
      why: 'No node is registered under this tenant.',
    });
  }
  return notACandidate(spec.nodeId, facts);
};

function dependenciesOf(spec: Workload | undefined): readonly string[] {
  return Object.keys(spec?.dependsOn ?? {});
}

/** The way from `start` back to the new spec, as names; a list and no recursion, because stored chains may be long. */
function cycleThrough(
  start: string,
  spec: Workload,
  facts: DeploymentFacts,
  reachedFrom: Map<string, string>,
): readonly string[] | undefined {
  if (start === spec.name) return [start, start];
  const open = [start];
  if (!reachedFrom.has(start)) reachedFrom.set(start, spec.name);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of dependenciesOf(facts.deployment(name))) {
      if (next === spec.name) return wayTo(name, spec.name, reachedFrom);
      if (reachedFrom.has(next)) continue;
      reachedFrom.set(next, name);
      open.push(next);
    }
  }
  return undefined;
}

function wayTo(last: string, first: string, reachedFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [first];
  for (
    let name: string | undefined = last;
    name !== undefined && name !== first;
    name = reachedFrom.get(name)
  )
    way.push(name);
  return [...way, first].reverse();
}

const MAX_SHOWN = 20;

/** Names the path, so that the reader sees where to cut. */
const dependencyCycleRule: FactRule = (spec, facts, judged) => {
  if (!isJudged(judged, ['dependsOn'])) return undefined;
  const reachedFrom = new Map<string, string>();
  for (const name of dependenciesOf(spec)) {
    const cycle = cycleThrough(name, spec, facts, reachedFrom);
    if (cycle) {
      const shown = cycle.length <= MAX_SHOWN ? cycle : [...cycle.slice(0, MAX_SHOWN), '…', spec.name];
      return reject('depends_on_cycle', {
        field: `dependsOn.${name}`,
        received: received(name),
        expected: 'dependencies without a cycle',
        why: `Each would wait for the other: ${shown.join(' → ')}.`,
      });
    }
  }
  return undefined;
};

/** Hosts are the tenant's: nodes are never shared, so what others have does not come in here. */
const ingressRule: FactRule = (spec, facts, judged) => {
  if (!isJudged(judged, ['ingress'])) return undefined;
  const served = new Set(servedIngress(spec));
  for (const [index, entry] of (spec.ingress ?? []).entries()) {
    const holder = served.has(entry) ? facts.ingressHolder?.(ingressKey(entry)) : undefined;
    if (holder === undefined) continue;
    const { host, path, listen } = entry;
    return reject('ingress_host_taken', {
      field: `ingress[${index}].${host === undefined ? 'listen' : 'host'}`,
      received: received(host === undefined ? listen : `${host}${path ?? ''}`),
      expected: `a host, path or port that no other deployment of the tenant has; or take it from ${holder} first`,
      why: `${holder} has it: requests for it go to one deployment.`,
    });
  }
  return undefined;
};

/** Whether any of the rules and warnings below has something to look at: most specs stand for themselves. */
export function refersToRecords(spec: Workload): boolean {
  const { volumes, nodeId, dependsOn, ingress, networks, access } = spec;
  return (volumes ?? nodeId ?? dependsOn ?? ingress ?? networks ?? access) !== undefined;
}

/** In the order of the fields; the secrets' stateful rules stand before them, the registry's answer after them. */
const FACT_RULES: readonly FactRule[] = [
  volumesRule,
  nodeRule,
  dependencyCycleRule,
  ingressRule,
  networksFactRule,
  accessFactRule,
];

/** One of each rule. */
export function* deploymentFactsRejections(
  spec: Workload,
  facts: DeploymentFacts,
  judged?: Judged,
): Generator<Rejection> {
  for (const rule of FACT_RULES) {
    const rejection = rule(spec, facts, judged);
    if (rejection) yield rejection;
  }
}

export function deploymentFactsRejection(
  spec: Workload,
  facts: DeploymentFacts,
  judged?: Judged,
): Rejection | undefined {
  return firstRejection(FACT_RULES, spec, facts, judged);
}

export function dependencyWarnings(spec: Workload, facts: DeploymentFacts): Warning[] {
  const warnings: Warning[] = [];
  for (const [name, gate] of Object.entries(spec.dependsOn ?? {})) {
    const dependency = facts.deployment(name);
    if (dependency === undefined) {
      warnings.push({
        code: 'depends_on_unknown',
        field: `dependsOn.${name}`,
        why: `There is no deployment ${name} yet; ${spec.name} waits for it.`,
      });
    } else if (gate === 'healthy' && dependency.healthCheck === undefined) {
      warnings.push({
        code: 'depends_on_without_healthcheck',
        field: `dependsOn.${name}`,
        why: `${name} has no health check, so it never becomes healthy; ${spec.name} waits until it has one.`,
      });
    }
  }
  return warnings;
}
