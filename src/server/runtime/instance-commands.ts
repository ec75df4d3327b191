import type { CommandOutcome, PlannedCommand } from '../../core/plan/jobs/before-command.ts';
import type { TenantId } from '../../core/model/ids.ts';

/** Commands that controllers run in containers, through whichever control plane the agent is connected to. */
export interface InstanceCommands {
  /** Never rejects. An abort ends the command in the container. */
  run(tenantId: TenantId, command: PlannedCommand, signal: AbortSignal): Promise<CommandOutcome>;
}
