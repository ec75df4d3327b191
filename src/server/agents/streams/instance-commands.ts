import type {
  CommandFailure,
  CommandOutcome,
  PlannedCommand,
} from '../../../core/plan/jobs/before-command.ts';
import type { InstanceCommands } from '../../runtime/instance-commands.ts';
import type { Dispatch } from '../dispatch.ts';
import { type AgentStream, TOO_MANY_STREAMS } from './streams.ts';

/** The agent ends the command at its timeout; its answer may take this much longer. */
const ANSWER_GRACE_MS = 5_000;
/** The agent's reason for a command that it killed. */
const TIMED_OUT = 'exec_timeout';
/** A session that ended comes back, and streams end. What had begun is begun again, as after the end of a control plane. */
const PASSING: ReadonlySet<string> = new Set(['agent_unreachable', TOO_MANY_STREAMS]);

function failed(reason: CommandFailure['reason'], message: string, exitCode?: number): CommandOutcome {
  return { ok: false, reason, message, ...(exitCode !== undefined && { exitCode }) };
}

function outcomeOf({ end }: AgentStream, { deployment, timeoutMs }: PlannedCommand): CommandOutcome {
  const { exitCode, error } = end ?? {};
  const what = `the command before it, in ${deployment},`;
  if (error?.reason === TIMED_OUT)
    return failed('before_timed_out', `${what} did not end within ${timeoutMs / 1000} s`);
  if (error !== undefined)
    return failed(
      PASSING.has(error.reason) ? 'before_unavailable' : 'before_failed',
      `${what} was not run to its end: ${error.message}`,
    );
  if (exitCode === 0) return { ok: true };
  return failed('before_failed', `${what} ended with exit code ${exitCode ?? 'unknown'}`, exitCode);
}

/**
 * What a command prints is read and dropped: it may hold what the instance was given as a secret, and a run is shown to
 * everybody who may read.
 */
export function instanceCommands(dispatch: () => Pick<Dispatch, 'stream'>): InstanceCommands {
  return {
    run: async (tenantId, command, signal) => {
      const { instanceId, nodeId, timeoutMs } = command;
      const operation = { kind: 'exec', instanceId, command: command.command, timeoutMs } as const;
      const stream = dispatch().stream(tenantId, nodeId, operation);
      if (stream === undefined)
        return failed('before_unavailable', `the agent of ${nodeId} is connected to no control plane`);
      const leave = (): void => stream.cancel();
      signal.addEventListener('abort', leave, { once: true });
      const late = setTimeout(
        () => stream.cancel('deadline', 'the agent did not answer in time'),
        timeoutMs + ANSWER_GRACE_MS,
      );
      try {
        // Read to its end, so that the exit code is the command's own.
        for await (const _printed of stream) continue;
        return outcomeOf(stream, command);
      } catch (error) {
        return failed('before_failed', `the command before it was not run to its end: ${String(error)}`);
      } finally {
        clearTimeout(late);
        signal.removeEventListener('abort', leave);
      }
    },
  };
}
