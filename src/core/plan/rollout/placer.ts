import type { InstanceId, NodeName } from '../../model/ids.ts';
import type { InstanceRecord } from '../../model/instance.ts';

export interface PlacementRefusal {
  readonly ok: false;
  /** One line for the status. */
  readonly summary: string;
  /** Every node with its reasons, for the event. */
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Equal digests: nothing that is worth another event has changed. */
  readonly digest: string;
  /** Nothing but residency keeps every node from taking it: the deployment waits. */
  readonly residency: boolean;
  /** The tenant's quota is among the reasons: an older instance that stops may make room. */
  readonly quota?: boolean;
}

export interface Placed {
  readonly ok: true;
  readonly id: InstanceId;
  readonly nodeId: NodeName;
}

/** The scheduler as a planner sees it: bound to one deployment's current spec. */
export interface Placer {
  /** Chooses a node for one more instance and counts the instance there at once, so that no other decision takes the same room. */
  place(): Placed | PlacementRefusal;
  /** Whether a new instance would fit if this one were gone. */
  fitsInsteadOf(instance: InstanceRecord): boolean;
  /** Why no other node takes a successor beside this one; undefined: one does. `why` is what is said of its own node. */
  refusalElsewhere(instance: InstanceRecord, why: string): PlacementRefusal | undefined;
}
