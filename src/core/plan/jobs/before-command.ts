import type { BeforeCommand } from '../../model/job.ts';
import { BEFORE_TIMEOUT } from '../../model/job.ts';
import type { InstanceId, NodeName } from '../../model/ids.ts';
import { parseDuration } from '../../model/quantity.ts';
import type { InstanceState } from '../rollout/instance-state.ts';

/** How long an instance that can run the command is waited for, on the monotonic clock. */
export const BEFORE_WAIT_MS = 300_000;
/** An instance becomes healthy without a change of the job, so that it is looked for this often. */
export const BEFORE_LOOK_MS = 1_000;
/** Between two commands of which the first did not get through: each is a line of the audit. */
export const BEFORE_AGAIN_MS = 5_000;

/** The command of a run on its way to an instance. */
export interface PlannedCommand {
  readonly runId: string;
  readonly deployment: string;
  readonly instanceId: InstanceId;
  readonly nodeId: NodeName;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

export type CommandOutcome = { readonly ok: true } | ({ readonly ok: false } & CommandFailure);

export interface CommandFailure {
  readonly reason: 'before_failed' | 'before_timed_out' | 'before_unavailable';
  readonly message: string;
  readonly exitCode?: number;
}

/** Without an outcome it is under way. What a process that ended had begun is unknown, and begun again. */
export interface CommandProgress {
  readonly planned: PlannedCommand;
  readonly outcome?: CommandOutcome;
}

/** Where the command can be run now; `final`: waiting does not help. */
export type CommandPlace =
  | { readonly ok: true; readonly instanceId: InstanceId; readonly nodeId: NodeName }
  | { readonly ok: false; readonly why: string; readonly final: boolean };

/** Of several instances one of the current version, always the same one. */
export function commandPlace(deployment: string, states: readonly InstanceState[] | undefined): CommandPlace {
  if (states === undefined) return { ok: false, why: `there is no deployment ${deployment}`, final: true };
  const [chosen] = states
    .filter(({ healthy, record }) => healthy && record.wanted === 'run')
    .toSorted(
      (one, other) =>
        Number(other.current) - Number(one.current) || (one.record.id < other.record.id ? -1 : 1),
    );
  if (chosen === undefined)
    return { ok: false, why: `no instance of ${deployment} runs and is healthy`, final: false };
  return { ok: true, instanceId: chosen.record.id, nodeId: chosen.record.nodeId };
}

export function plannedCommand(
  runId: string,
  { deployment, command, timeout = BEFORE_TIMEOUT }: BeforeCommand,
  { instanceId, nodeId }: Extract<CommandPlace, { readonly ok: true }>,
): PlannedCommand {
  return { runId, deployment, instanceId, nodeId, command, timeoutMs: parseDuration(timeout) ?? 0 };
}
