import type { DeploymentPhase, DeploymentStatus } from '../../model/deployment.ts';
import type { RolloutRecord } from '../../model/rollout.ts';
import type { ClosedGate } from './dependencies.ts';
import type { InstanceState } from './instance-state.ts';
import { misplacedSentence } from './misplaced.ts';
import type { PlacementRefusal } from './placer.ts';
import type { Groups } from './rollout.ts';

export interface StatusInput {
  readonly desired: number;
  readonly groups: Groups;
  readonly gates: readonly ClosedGate[];
  readonly refusal: PlacementRefusal | undefined;
  /** Instances that residency does not allow where they are, and that cannot be moved. */
  readonly stuck?: readonly InstanceState[];
  readonly rollout: Pick<RolloutRecord, 'state' | 'from'>;
  /** What was said of this spec before; absent: nothing, or of another. */
  readonly before?: DeploymentPhase;
  readonly deadlineMs: number;
}

export type Counts = Pick<DeploymentStatus, 'desired' | 'placed' | 'running' | 'healthy' | 'updated'>;

/** Of the current spec only: an old container that still serves is not a success of the new spec. */
export function countsOf(states: readonly InstanceState[], desired: number): Counts {
  return countsIn([states], desired);
}

/** A loop and no lists: a large deployment is counted with every plan of it, a small one while its request waits. */
function countsIn(groups: readonly (readonly InstanceState[])[], desired: number): Counts {
  let [placed, running, healthy, updated] = [0, 0, 0, 0];
  for (const states of groups)
    for (const state of states) {
      if (!state.current || state.standing === 'stopping' || state.standing === 'gone') continue;
      placed += 1;
      if (state.running) running += 1;
      if (state.healthy) healthy += 1;
      if (state.observation?.specHash === state.record.specHash) updated += 1;
    }
  // One on a lost or draining node and its successor fill one place.
  const most = desired === 0 ? Number.POSITIVE_INFINITY : desired;
  return {
    desired,
    placed: Math.min(placed, most),
    running: Math.min(running, most),
    healthy: Math.min(healthy, most),
    updated: Math.min(updated, most),
  };
}

export function planStatus(input: StatusInput): Omit<DeploymentStatus, 'since'> {
  const { keep, leave, lost } = input.groups;
  const counts = countsIn([keep, leave, lost], input.desired);
  const { phase, message } = judge(input, counts);
  return { phase, message, ...counts };
}

interface Judgement {
  readonly phase: DeploymentPhase;
  readonly message: string;
}

function judge(input: StatusInput, counts: Counts): Judgement {
  const { desired, gates, groups, refusal } = input;
  if (desired === 0) return judgeStopped(groups);
  const [stuck] = input.stuck ?? [];
  if (stuck !== undefined) return judgeStuck(input, stuck);
  const short = counts.placed < desired;
  if (short && gates.length > 0) {
    return { phase: 'Waiting', message: gates.map((gate) => gate.message).join('; ') };
  }
  if (short && refusal !== undefined && groups.keep.length === 0) {
    const serving = olderServing(groups);
    if (refusal.residency)
      return { phase: 'Waiting', message: `waiting for a node: ${refusal.summary}${serving}` };
    if (serving === '') return { phase: 'Pending', message: `no node takes it: ${refusal.summary}` };
  }
  return judgePlaced(input, counts);
}

function judgePlaced(input: StatusInput, counts: Counts): Judgement {
  const { desired, groups, refusal, rollout } = input;
  const serving = olderServing(groups);
  const troubles = failures(groups);
  const unplaced =
    refusal === undefined
      ? ''
      : `${counts.placed} of ${desired} instances placed, no node takes more: ${refusal.summary}`;
  if (rollout.state === 'failed') {
    const why =
      [troubles, unplaced].filter((text) => text !== '').join('; ') ||
      startedAgain(groups.keep) ||
      'the new instances did not become healthy';
    const deadline = `no progress within ${Math.round(input.deadlineMs / 1000)} s`;
    return { phase: 'Degraded', message: `the rollout failed, ${deadline}: ${why}${serving}` };
  }
  if (troubles !== '') {
    const stuck = refusal === undefined ? '' : `; no node takes a replacement: ${refusal.summary}`;
    return { phase: 'Degraded', message: `${troubles}${stuck}${serving}` };
  }
  if (unplaced !== '' && groups.leave.length === 0) return { phase: 'Degraded', message: unplaced };
  if (counts.healthy >= desired && groups.leave.length === 0) {
    return { phase: 'Running', message: `${counts.healthy} of ${desired} instances run` };
  }
  const isDown = input.before === 'Degraded' && counts.healthy === 0;
  const done = `${counts.placed} of ${desired} placed, ${counts.running} running, ${counts.healthy} healthy`;
  // What fails and is started again is no better for the moment in between.
  const phase = isDown ? 'Degraded' : 'Progressing';
  return { phase, message: `${unplaced === '' ? done : unplaced}${serving}` };
}

/** It keeps running: a rule that cannot be kept by moving is not kept by an outage. */
function judgeStuck({ groups, refusal, stuck = [] }: StatusInput, first: InstanceState): Judgement {
  const more = stuck.length > 1 ? ` (and ${stuck.length - 1} more)` : '';
  const why = refusal === undefined ? '' : `: ${refusal.summary}`;
  return {
    phase: 'Degraded',
    message: `${misplacedSentence(first)}${more}; no other node takes it${why}${olderServing(groups)}`,
  };
}

function judgeStopped({ keep, leave, stopping }: Groups): Judgement {
  const reachable =
    stopping.filter((state) => state.node.status === 'ready').length + keep.length + leave.length;
  if (reachable > 0) {
    return { phase: 'Progressing', message: `stopping: ${reachable} containers are still to be removed` };
  }
  return { phase: 'Stopped', message: 'stopped: replicas is 0' };
}

function olderServing({ leave }: Groups): string {
  const healthy = leave.filter((state) => state.healthy).length;
  if (leave.length === 0) return '';
  return `; ${healthy} of ${leave.length} instances that are to be replaced still serve`;
}

const NAMED = 3;

/** In the moment between two ends of a program nothing is wrong with its instance but that. */
function startedAgain(states: readonly InstanceState[]): string {
  return states
    .filter(({ observation }) => (observation?.restarts ?? 0) > 0)
    .slice(0, NAMED)
    .map(
      ({ record: { id, nodeId }, observation }) =>
        `instance ${id} on ${nodeId} has ended and been started again ${times(observation?.restarts ?? 0)}${observation?.message === undefined ? '' : `: ${observation.message}`}`,
    )
    .join('; ');
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function failures({ keep, lost }: Groups): string {
  const named: string[] = [];
  let rest = 0;
  for (const states of [keep, lost])
    for (const { failure } of states) {
      if (failure === undefined) continue;
      if (named.length < NAMED) named.push(failure.message);
      else rest += 1;
    }
  return [...named, ...(rest > 0 ? [`and ${rest} more instances`] : [])].join('; ');
}
