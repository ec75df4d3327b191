import type { DeploymentRecord, DeploymentSpec } from '../../model/deployment.ts';
import type { InstanceId, NodeName } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';
import { type InstanceFailure, instanceFailure, isSound } from './instance-failure.ts';
import type { InstanceMemory } from './memory.ts';
import { isRestarted } from './restart-order.ts';

/** Without a health check an instance is trusted with the place of another one after running for so long. */
export const SETTLE_MS = 10_000;

/** `silent`: does not answer, too early to replace; `lost`: replace; `gone`: the node is no longer enrolled. */
export interface NodeCondition {
  readonly status: 'ready' | 'silent' | 'lost' | 'gone';
  readonly draining: boolean;
}

/**
 * `keep`: runs the current spec where it may stay; `leave`: serves until a better one is available (older spec, draining node, residency, unhealthy
 * there again and again, a restart that was asked for);
 * `lost`: on a lost node, wanted again if the node returns first; `stopping`: ordered to stop; `gone`: its node is not enrolled.
 */
export type InstanceStanding = 'keep' | 'leave' | 'lost' | 'stopping' | 'gone';

export interface InstanceState {
  readonly record: InstanceRecord;
  readonly observation: InstanceObservation | undefined;
  readonly node: NodeCondition;
  /** Its container was kept from writing before its volume moved on: it is of no use any more. */
  readonly fenced: boolean;
  /** Why its node must not have it any more, by residency; quotes what is required and what the node reports. */
  readonly misplaced: string | undefined;
  readonly standing: InstanceStanding;
  /** Of the current spec. */
  readonly current: boolean;
  readonly running: boolean;
  readonly healthy: boolean;
  /** Healthy, and settled when no health check can tell: good enough to take the place of another. */
  readonly available: boolean;
  readonly settlesInMs: number | undefined;
  readonly failure: InstanceFailure | undefined;
}

export interface StateInput {
  readonly deployment: DeploymentRecord | undefined;
  readonly specs: Pick<ReadonlyMap<string, Pick<DeploymentSpec, 'healthCheck'>>, 'get'>;
  readonly nodeOf: (node: NodeName) => NodeCondition;
  readonly observationOf: (id: InstanceId) => InstanceObservation | undefined;
  /** Absent: none is. */
  readonly fencedOf?: (record: InstanceRecord) => boolean;
  /** Its volume stays on a node that is being drained, and it with it. Absent: none does. */
  readonly staysOf?: (record: InstanceRecord) => boolean;
  /** Absent: none is. */
  readonly misplacedOf?: (record: InstanceRecord) => string | undefined;
  readonly memoryOf: (id: InstanceId) => InstanceMemory | undefined;
  /** The rollout of the current spec is complete, so nothing has to settle any more. */
  readonly complete: boolean;
  /** Absent: `SETTLE_MS`. */
  readonly settleMs?: number;
  readonly nowMs: number;
}

export function instanceState(record: InstanceRecord, input: StateInput): InstanceState {
  const observation = input.observationOf(record.id);
  const fenced = input.fencedOf?.(record) ?? false;
  const there = input.nodeOf(record.nodeId);
  const stays = there.draining && (input.staysOf?.(record) ?? false);
  const node = conditionOf(stays ? { ...there, draining: false } : there, fenced);
  const misplaced = input.misplacedOf?.(record);
  const current = record.specHash === input.deployment?.specHash;
  const hasCheck = hasHealthCheck(record, observation, input);
  // Status is observed, never assumed: a container counts only when the agent reports it with the hash of the wanted spec.
  const running =
    node.status === 'ready' && observation?.phase === 'running' && observation.specHash === record.specHash;
  const passes = hasCheck ? observation?.health === 'healthy' : observation?.health !== 'unhealthy';
  const healthy = running && passes && isSound(observation);
  const settlesInMs = healthy && !hasCheck ? remainingSettleMs(record, input) : undefined;
  return {
    record,
    observation,
    node,
    fenced,
    misplaced,
    standing: standingOf(
      record,
      node,
      current &&
        misplaced === undefined &&
        record.leaving === undefined &&
        !isRestarted(record, input.deployment),
      input.deployment !== undefined,
    ),
    current,
    running,
    healthy,
    available: healthy && settlesInMs === undefined,
    settlesInMs,
    failure: instanceFailure(record, observation, node.status, healthy),
  };
}

/** A fenced instance has lost its node, however well the node is. */
function conditionOf(node: NodeCondition, fenced: boolean): NodeCondition {
  return fenced && node.status !== 'gone' ? { ...node, status: 'lost' } : node;
}

function standingOf(
  record: InstanceRecord,
  node: NodeCondition,
  /** Of the current spec, on a node where it may and is to stay. */
  wanted: boolean,
  exists: boolean,
): InstanceStanding {
  if (node.status === 'gone') return 'gone';
  if (record.wanted === 'stop') return 'stopping';
  if (node.status === 'lost') return 'lost';
  return exists && wanted && !node.draining ? 'keep' : 'leave';
}

function hasHealthCheck(
  record: InstanceRecord,
  observation: InstanceObservation | undefined,
  { specs }: StateInput,
): boolean {
  const spec = specs.get(record.specHash);
  return spec === undefined ? observation?.health !== undefined : spec.healthCheck !== undefined;
}

/** Only instances of a spec that is being rolled out have to settle; older ones have proved themselves. */
function remainingSettleMs(record: InstanceRecord, input: StateInput): number | undefined {
  if (input.complete || record.specHash !== input.deployment?.specHash) return undefined;
  const since = input.memoryOf(record.id)?.run?.sinceMs ?? input.nowMs;
  const left = (input.settleMs ?? SETTLE_MS) - (input.nowMs - since);
  return left > 0 ? left : undefined;
}
