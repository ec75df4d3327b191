import { messageOf } from '../../core/model/values.ts';
import type { BackOff } from '../back-off.ts';
import { BindNotAllowedError } from './bind-roots.ts';
import {
  EngineConflictError,
  EngineUnavailableError,
  ImagePullError,
  isNoSpace,
  type PullFailure,
  UnsafeSpecError,
} from '../engine/errors.ts';
import type { Failure } from './instance-history.ts';
import type { InstanceStep } from './step.ts';

/** A step that failed for a reason of its own, not the engine's. */
export class StepError extends Error {
  readonly reason: string;
  readonly backOff: BackOff;
  constructor(reason: string, message: string, backOff: BackOff) {
    super(message);
    this.reason = reason;
    this.backOff = backOff;
  }
}

/** Recovery within ten seconds of the secrets store's (fault F-22). */
export const SECRETS_BACK_OFF: BackOff = { baseMs: 500, capMs: 5_000 };
export const QUICK_BACK_OFF: BackOff = { baseMs: 100, capMs: 10_000 };
const USUAL_BACK_OFF: BackOff = { baseMs: 1_000, capMs: 30_000 };
/** What only a person can mend: at most six tries in five minutes (fault F-18). */
export const SLOW_BACK_OFF: BackOff = { baseMs: 5_000, capMs: 300_000 };

const PULL_BACK_OFF: Readonly<Record<PullFailure, BackOff>> = {
  'not-found': SLOW_BACK_OFF,
  // The credential is asked for again this often; the registry is not, see steps.ts.
  unauthorized: SECRETS_BACK_OFF,
  'no-space': SLOW_BACK_OFF,
  unreachable: USUAL_BACK_OFF,
  other: USUAL_BACK_OFF,
};

const PORT_TAKEN = /port is already allocated|address already in use|failed to bind (host )?port/i;

/** What runtimes say about a command that the image does not have, or that cannot be run. */
function isCommandMissing(message: string): boolean {
  if (/executable file not found/i.test(message)) return true;
  const at = message.search(/exec: /i);
  return at !== -1 && /no such file or directory|permission denied/i.test(message.slice(at));
}

export interface ContainerProblem {
  readonly failure: Pick<Failure, 'step' | 'reason' | 'message'>;
  readonly backOff: BackOff;
}

/** Stable reasons for machines, the engine's message for people. */
export function problemOf(step: InstanceStep['kind'], error: unknown): ContainerProblem {
  const message = messageOf(error);
  const problem = (reason: string, backOff: BackOff = USUAL_BACK_OFF): ContainerProblem => ({
    failure: { step, reason, message },
    backOff,
  });
  if (error instanceof StepError) return problem(error.reason, error.backOff);
  if (error instanceof ImagePullError) return problem('image_pull_failed', PULL_BACK_OFF[error.reason]);
  if (error instanceof EngineUnavailableError) return problem('engine_unavailable');
  if (error instanceof BindNotAllowedError) return problem('bind_not_allowed', SLOW_BACK_OFF);
  if (error instanceof UnsafeSpecError) return problem('spec_refused', SLOW_BACK_OFF);
  if (step === 'ensureNetwork' && error instanceof EngineConflictError) return problem('network_conflict');
  if (step === 'start' && PORT_TAKEN.test(message)) return problem('port_in_use');
  if (step === 'start' && isCommandMissing(message)) return problem('command_not_found', SLOW_BACK_OFF);
  return problem(REASONS[step], isNoSpace(error) ? SLOW_BACK_OFF : USUAL_BACK_OFF);
}

const REASONS: Readonly<Record<InstanceStep['kind'], string>> = {
  ensureNetwork: 'network_failed',
  pull: 'image_pull_failed',
  resolve: 'secret_unresolved',
  create: 'container_create_failed',
  start: 'container_start_failed',
  takeOver: 'container_update_failed',
  stop: 'container_stop_failed',
  end: 'container_stop_failed',
  restart: 'container_start_failed',
  remove: 'container_remove_failed',
  healthcheckNow: 'healthcheck_failed',
};
