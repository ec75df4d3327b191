import type { DeploymentRecord, DeploymentSpec } from '../../model/deployment.ts';
import type { RolloutOrigin, RolloutRecord } from '../../model/rollout.ts';
import type { Changes } from './changes.ts';

/** The record as it is, or a new one when the spec changed: a new spec supersedes a running rollout at once. */
export function carryRollout(
  deployment: DeploymentRecord,
  rollout: RolloutRecord | undefined,
): RolloutRecord {
  const { id, specHash, version } = deployment;
  if (rollout?.deploymentId === id && rollout.specHash === specHash) return rollout;
  const known = rollout?.deploymentId === id ? rollout : undefined;
  const from =
    known?.state === 'complete' ? { specHash: known.specHash, version: known.version } : known?.from;
  return {
    deploymentId: id,
    specHash,
    version,
    state: 'progressing',
    ...(from && { from }),
    placed: known?.placed ?? false,
    generation: rollout?.generation ?? 0,
  };
}

export interface RolloutSigns {
  readonly complete: boolean;
  /** The deadline passed without progress. */
  readonly late: boolean;
  /** Nothing of the spec has a node any more, nothing of an earlier one serves, and no node takes it. */
  readonly nowhere: boolean;
  /** Which instances are where residency no longer allows them, and why; absent: none is. */
  readonly misplaced: string | undefined;
}

export function advanceRollout(
  before: RolloutRecord,
  changes: Changes,
  { complete, late, nowhere, misplaced }: RolloutSigns,
): RolloutRecord {
  const { unschedulable, misplaced: _told, ...rest } = before;
  const moved = changes.create.length > 0 || changes.stop.length > 0 || changes.remove.length > 0;
  const placed = before.placed || changes.create.length > 0;
  const state = nextState(
    before.state,
    complete && changes.create.length === 0 && changes.stop.length === 0,
    late,
  );
  const digest = placed && !nowhere ? undefined : (changes.refusal?.digest ?? unschedulable);
  return {
    ...rest,
    state,
    placed,
    ...(digest !== undefined && { unschedulable: digest }),
    ...(misplaced !== undefined && { misplaced }),
    generation: before.generation + (moved ? 1 : 0),
  };
}

/** A spec that was rolled out once stays so: an instance that fails later is a failure of the instance, not of the rollout. */
function nextState(before: RolloutRecord['state'], complete: boolean, late: boolean): RolloutRecord['state'] {
  if (complete || before === 'complete') return 'complete';
  return late ? 'failed' : before;
}

export function rollbackTarget(
  spec: DeploymentSpec,
  rollout: RolloutRecord,
  deployment: DeploymentRecord,
): RolloutOrigin | undefined {
  if (rollout.state !== 'failed' || spec.update?.onFailure !== 'rollback' || rollout.isRollback === true)
    return undefined;
  return rollout.from?.specHash === deployment.specHash ? undefined : rollout.from;
}
