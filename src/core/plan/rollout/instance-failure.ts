import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';

/** Why an instance does not do its work: a stable reason, and a message that names it and its node. */
export interface InstanceFailure {
  readonly reason: string;
  readonly message: string;
}

/** Reported of a container that runs at this moment and yet is not to be relied on. */
const UNSOUND: ReadonlySet<string> = new Set(['crash_loop', 'out_of_memory', 'command_not_found', 'paused']);

export function isSound({ reason }: InstanceObservation): boolean {
  return reason === undefined || !UNSOUND.has(reason);
}

const NOT_ANSWERING: Readonly<Record<string, string>> = {
  silent: 'does not answer',
  lost: 'does not answer; a replacement is wanted elsewhere',
  gone: 'is no longer enrolled',
};

export function instanceFailure(
  record: InstanceRecord,
  observation: InstanceObservation | undefined,
  nodeStatus: string,
  healthy: boolean,
): InstanceFailure | undefined {
  const unreachable = NOT_ANSWERING[nodeStatus];
  if (unreachable !== undefined) {
    return {
      reason: 'node_unreachable',
      message: `instance ${record.id}: node ${record.nodeId} ${unreachable}`,
    };
  }
  if (healthy || observation === undefined) return undefined;
  const reason = reasonOf(observation);
  if (reason === undefined) return undefined;
  return {
    reason,
    message: `instance ${record.id} on ${record.nodeId} ${describeFailure(reason, observation)}`,
  };
}

function reasonOf(observation: InstanceObservation): string | undefined {
  if (observation.reason !== undefined) return observation.reason;
  if (observation.phase === 'failed') return 'failed';
  if (observation.phase === 'exited') return 'exited';
  if (observation.phase === 'running' && observation.health === 'unhealthy') return 'unhealthy';
  return undefined;
}

/** The agent's own sentence says more than a code and a count; those are for reports without one. */
function describeFailure(reason: string, observation: InstanceObservation): string {
  const { message, exitCode, restarts } = observation;
  const why = message === undefined ? '' : `: ${message}`;
  const exit = exitCode === undefined ? '' : ` with code ${exitCode}`;
  const count = restarts ? ` after ${restarts} restarts` : '';
  switch (reason) {
    case 'crash_loop':
      return `exits again and again${why || `${exit}${count}`}`;
    case 'exited':
    case 'container_exited':
      return `exited${why || `${exit}${count}`}`;
    case 'image_pull_failed':
      return `has no container, its image cannot be pulled${why}`;
    case 'secret_unresolved':
      return `has no container, its secrets cannot be resolved${why}`;
    // Told apart from an unhealthy workload: here it is the check that is broken.
    case 'healthcheck_command_not_found':
      return `cannot be checked${why || ': the command of its health check does not exist in the image'}`;
    case 'unhealthy':
      return `is unhealthy${why}`;
    default:
      return `failed (${reason})${why || exit}`;
  }
}
