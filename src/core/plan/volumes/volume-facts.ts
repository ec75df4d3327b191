import type { SeenVolume } from '../../contract/volume-seen.ts';
import type { Residency } from '../../model/deployment.ts';
import type { NodeName } from '../../model/ids.ts';
import type { Region, UnstatedCountry } from '../../model/region.ts';
import type { VolumeRecord } from '../../model/volume.ts';
import { describeResidency, satisfiesResidency } from '../../scheduler/residency.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';

export interface VolumeNode {
  readonly name: NodeName;
  /** `unknown`: enrolled, and nothing was ever heard of it. */
  readonly condition: 'ready' | 'failed' | 'lost' | 'unknown';
  /** Takes new work. */
  readonly schedulable: boolean;
  readonly draining?: boolean;
  /** Its agent can give a lease back and make the last copy. */
  readonly seals?: boolean;
  /** Its agent can fetch images before a volume comes. */
  readonly prepares?: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly engines: readonly string[];
  /** It runs a control plane, and the tenant is not the platform: nothing new of it is kept there. */
  readonly reserved?: boolean;
}

/** The residency of something that mounts the volume. */
export interface VolumeBinding {
  /** For people: a deployment's name, or `the job …`. */
  readonly owner: string;
  readonly writes: boolean;
  /** It is wanted to run, now or by a schedule. */
  readonly active: boolean;
  readonly residency: Residency;
}

/** What the primary said of a copy, and when on the server's monotonic clock that was heard. */
export interface CopyAge {
  readonly ageMs: number;
  readonly heardMs: number;
}

/** Everything one decision about one volume is made from. */
export interface VolumeFacts {
  readonly record: VolumeRecord;
  /** Undefined: not enrolled with the tenant. */
  readonly node: (name: NodeName) => VolumeNode | undefined;
  readonly nodes: () => readonly VolumeNode[];
  /** Volumes and copies that a node keeps, for an even spread. */
  readonly load: (name: NodeName) => number;
  /** What a node last said of this volume. */
  readonly seen: (name: NodeName) => SeenVolume | undefined;
  /** Undefined: not heard since this control plane started. */
  readonly copyAge: (name: NodeName) => CopyAge | undefined;
  readonly bindings: readonly VolumeBinding[];
  readonly regions: readonly Region[];
  readonly unstated?: UnstatedCountry;
  readonly mounted: boolean;
  /** When the primary has certainly stopped writing, if no further lease is given to it. */
  readonly fencedAtMs: number;
  /** So many nodes fail at once that the fault is rather ours. */
  readonly braked: () => boolean;
  /** For a new epoch. */
  readonly leaseMs: number;
  /** How many instances on the primary mount it, or are about to. */
  readonly users: () => number;
  /** What they run from. */
  readonly images: () => readonly string[];
  /** Why a planned move must not begin now: it would cut something off. */
  readonly busy: () => string | undefined;
  /** Why what mounts it could not run on that node. */
  readonly unfit: (name: NodeName) => string | undefined;
  /** When the present step of the planned move began, as far as this process knows. */
  readonly stepSinceMs: number;
  /** How long its last copy may take. */
  readonly lastCopyMs: number;
  readonly nowMs: number;
  readonly now: string;
}

/** It takes new work: what mounts the volume could run there. */
export function isOpen({ schedulable, draining }: Pick<VolumeNode, 'schedulable' | 'draining'>): boolean {
  return schedulable && draining !== true;
}

export function isDown(node: VolumeNode | undefined): boolean {
  return node === undefined || node.condition === 'failed' || node.condition === 'lost';
}

type Bound = Pick<VolumeFacts, 'bindings' | 'regions' | 'unstated'>;

/** Who keeps the node from getting a copy and from taking over: the residency of what mounts a volume binds its bytes too. */
export function excludedBy(
  { bindings, regions, unstated }: Bound,
  node: VolumeNode,
): VolumeBinding | undefined {
  return bindings.find(
    ({ active, residency }) => active && !satisfiesResidency(node.labels, residency, regions, unstated),
  );
}

export function mayHold(facts: Bound, node: VolumeNode): boolean {
  return node.reserved !== true && excludedBy(facts, node) === undefined;
}

/**
 * Who takes the copy from the node: the running writer alone, and only when the primary is where it wants it. A reader, or a
 * writer that waits because the primary is elsewhere, removes nothing.
 */
export function removedBy(facts: VolumeFacts, node: VolumeNode): VolumeBinding | undefined {
  const { record, bindings, regions, unstated } = facts;
  const primary = record.primaryNodeId === undefined ? undefined : facts.node(record.primaryNodeId);
  const writer = excludedBy({ ...facts, bindings: bindings.filter(({ writes }) => writes) }, node);
  if (writer === undefined || primary === undefined) return undefined;
  return satisfiesResidency(primary.labels, writer.residency, regions, unstated) ? writer : undefined;
}

export function exclusion({ owner, residency }: VolumeBinding): string {
  return `the residency of ${owner} (${describeResidency(residency)}) does not allow it there`;
}

/** What a node says counts only under the epoch that is stored. */
export function seenAs(
  { record, seen }: Pick<VolumeFacts, 'record' | 'seen'>,
  node: NodeName,
  role: 'primary' | 'replica',
): SeenVolume | undefined {
  const said = seen(node);
  return said?.role === role && said.epoch === record.epoch && said.state !== 'gone' ? said : undefined;
}

export function volumeEvent(
  { id, name }: Pick<VolumeRecord, 'id' | 'name'>,
  kind: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): PlannedEvent {
  return {
    kind: `volume.${kind}`,
    subject: { kind: 'Volume', name: id },
    message: `volume ${name}: ${message}`,
    details: { name, ...details },
  };
}
