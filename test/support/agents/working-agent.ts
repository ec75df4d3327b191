import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { AssignedInstance, Report } from '../../../src/core/protocol/agent-protocol.ts';
import { FollowingAgent, running } from './following-agent.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

const BEAT_MS = 50;

/** Carries out every assignment at once, and measures what the test says. */
export class WorkingAgent extends FollowingAgent {
  /** In per cent of one core; undefined: not measured. */
  load: (instance: AssignedInstance) => number | undefined = () => undefined;
  /** How its container is, beyond running and healthy. */
  seen: (instance: AssignedInstance) => Partial<InstanceObservation> = () => ({});

  constructor(agent: ScriptedAgent) {
    super();
    this.follow(agent, BEAT_MS);
  }

  stop(): void {
    this.silence();
  }

  running(canary: boolean): readonly AssignedInstance[] {
    return this.assigned.filter((one) => one.wanted === 'run' && (one.canary === true) === canary);
  }

  protected override observed(one: AssignedInstance): InstanceObservation {
    return { ...running(one), health: 'healthy', ...this.seen(one) };
  }

  protected override measured(): Partial<Report> {
    const usage = this.assigned.flatMap((one) => {
      const cpuPercent = one.wanted === 'run' ? this.load(one) : undefined;
      return cpuPercent === undefined ? [] : [{ instanceId: one.id, cpuPercent, memoryBytes: 1 }];
    });
    return { usage };
  }
}
