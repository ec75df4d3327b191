import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';
import type { NodeCondition } from '../rollout/instance-state.ts';

/** What has become of an attempt, from what its node reports. */
export type AttemptOutcome =
  | { readonly kind: 'waiting'; readonly message: string; readonly failing?: AttemptEnd }
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly ok: boolean; readonly ran: boolean; readonly end: AttemptEnd };

export interface AttemptEnd {
  readonly reason?: string;
  readonly message: string;
  readonly exitCode?: number;
}

/** What a further try of the agent on the same node cannot mend. */
const FINAL: ReadonlySet<string> = new Set([
  'command_not_found',
  'spec_refused',
  'bind_not_allowed',
  'host_port_not_allowed',
  'container_lost',
]);

/** A silent node may come back with its container: only a lost one ends the attempt. */
export function attemptOutcome(
  record: InstanceRecord | undefined,
  observation: InstanceObservation | undefined,
  node: NodeCondition['status'],
): AttemptOutcome {
  const ran = hasRun(observation);
  const lost = (reason: string, message: string): AttemptOutcome => ({
    kind: 'ended',
    ok: false,
    ran,
    end: { reason, message },
  });
  if (record === undefined) return lost('instance_lost', 'its instance is gone');
  // An end that was seen before the node went away stands.
  const ended = observation && endOf(observation);
  if (ended !== undefined) return { kind: 'ended', ok: isSuccess(ended), ran, end: ended };
  if (node === 'gone') return lost('node_removed', `node ${record.nodeId} is no longer enrolled`);
  if (node === 'lost') return lost('node_lost', `node ${record.nodeId} does not answer`);
  if (observation?.phase === 'running') return { kind: 'running' };
  return waiting(record, observation);
}

export function hasRun(observation: InstanceObservation | undefined): boolean {
  return observation?.phase === 'running' || observation?.phase === 'exited';
}

function isSuccess({ reason, exitCode }: AttemptEnd): boolean {
  return reason === undefined && exitCode === 0;
}

function endOf({ phase, exitCode, reason, message }: InstanceObservation): AttemptEnd | undefined {
  if (phase === 'failed' && reason !== undefined && FINAL.has(reason))
    return { reason, message: message ?? reason };
  // The engine reports the exit code a moment after the end; an end without one is not final yet.
  if (phase !== 'exited' || exitCode === undefined) return undefined;
  if (reason === 'timed_out') return { reason, message: message ?? 'its time was up', exitCode };
  if (exitCode === 0) return { message: 'ended with exit code 0', exitCode };
  return {
    reason: reason === undefined || reason === 'container_exited' ? 'exit_code' : reason,
    message: message ?? `the container ended with exit code ${exitCode}`,
    exitCode,
  };
}

function waiting(record: InstanceRecord, observation: InstanceObservation | undefined): AttemptOutcome {
  const { reason, message, phase = 'pending' } = observation ?? {};
  if (reason === undefined) return { kind: 'waiting', message: `${phase} on ${record.nodeId}` };
  const why = `${reason}: ${message ?? phase}`;
  return {
    kind: 'waiting',
    message: `on ${record.nodeId}, ${why}`,
    failing: { reason, message: message ?? reason },
  };
}
