import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';

export interface DrainReport {
  readonly movable: readonly string[];
  readonly blocked: readonly { readonly instance: string; readonly why: string }[];
}

export interface DrainFacts {
  spec(instance: InstanceRecord): DeploymentSpec | undefined;
  volume(id: string): VolumeRecord | undefined;
}

/** What ties an instance to this node whatever the others have to offer. */
function tieOf(node: string, instance: InstanceRecord, facts: DrainFacts): string | undefined {
  const spec = facts.spec(instance);
  if (spec === undefined) return undefined;
  if (spec.nodeId === node)
    return `${instance.deployment} names this node in nodeId; update it without nodeId, or with another one`;
  for (const { volumeId } of spec.volumes ?? []) {
    const volume = facts.volume(volumeId);
    if (volume === undefined || volume.type === 'tmpfs' || volume.primaryNodeId !== node) continue;
    const copy = volume.replicas.find((replica) => replica.state === 'live' && replica.nodeId !== node);
    if (copy === undefined)
      return `${instance.deployment} mounts ${volume.name} (${volumeId}), whose only copy is on this node`;
  }
  return undefined;
}

/** Which of the instances placed on a node can go elsewhere, and what keeps the others. */
export function drainReport(node: string, placed: readonly InstanceRecord[], facts: DrainFacts): DrainReport {
  const movable: string[] = [];
  const blocked: { readonly instance: string; readonly why: string }[] = [];
  for (const instance of placed) {
    if (instance.wanted === 'stop') continue;
    const why = tieOf(node, instance, facts);
    if (why === undefined) movable.push(instance.id);
    else blocked.push({ instance: instance.id, why });
  }
  return { movable, blocked };
}
