import type { CanaryRecord } from '../../model/canary.ts';
import type { DeploymentStatus } from '../../model/deployment.ts';
import type { EventSubject } from '../../model/event.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { RolloutRecord } from '../../model/rollout.ts';
import { instanceFailure } from './instance-failure.ts';
import type { Transition } from './memory.ts';
import type { PlacementRefusal } from './placer.ts';

export interface PlannedEvent {
  readonly kind: string;
  readonly subject: EventSubject;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function deploymentEvent(
  name: string,
  kind: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): PlannedEvent {
  return { kind: `deployment.${kind}`, subject: { kind: 'Deployment', name }, message, details };
}

export function instanceEvent(
  record: InstanceRecord,
  kind: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): PlannedEvent {
  const { deployment, nodeId, specHash } = record;
  return {
    kind: `instance.${kind}`,
    subject: { kind: 'Instance', name: record.id },
    message: `instance ${record.id} of ${deployment} on ${nodeId} ${message}`,
    details: { deployment, node: nodeId, specHash, ...details },
  };
}

/** By whomever it ends: a request, another change of the deployment, or its own failure. */
export function canaryAbortedEvent(
  name: string,
  { spec, specHash }: Pick<CanaryRecord, 'spec' | 'specHash'>,
  why: { readonly reason: string; readonly message: string; readonly instance?: string },
): PlannedEvent {
  const { reason, message, instance } = why;
  return deploymentEvent(name, 'canary_aborted', `the canary of ${name} is aborted: ${message}`, {
    reason,
    image: spec.image,
    specHash,
    ...(instance === undefined ? {} : { instance }),
  });
}

/** Dispatch publishes secrets that cannot be resolved, since it knows why; here the instance fails for that reason. */
export function transitionEvent({ record, observation, from, to }: Transition): PlannedEvent {
  if (to === 'started') {
    return from === 'unhealthy'
      ? instanceEvent(record, 'healthy', 'is healthy again')
      : instanceEvent(record, 'started', 'started');
  }
  const failure = instanceFailure(record, observation, 'ready', false);
  return {
    ...instanceEvent(record, to, to, { reason: failure?.reason ?? to }),
    ...(failure && { message: `${failure.message} (${record.deployment})` }),
  };
}

export function unschedulableEvent(name: string, refusal: PlacementRefusal): PlannedEvent {
  return deploymentEvent(name, 'unschedulable', refusal.message, {
    summary: refusal.summary,
    ...refusal.details,
  });
}

export function statusEvents(
  name: string,
  before: DeploymentStatus | undefined,
  after: Omit<DeploymentStatus, 'since'>,
): readonly PlannedEvent[] {
  if (before?.phase === after.phase) return [];
  if (after.phase === 'Running') return [deploymentEvent(name, 'running', after.message)];
  if (after.phase === 'Degraded') return [deploymentEvent(name, 'degraded', after.message)];
  if (after.phase === 'Stopped') return [deploymentEvent(name, 'stopped', after.message)];
  return [];
}

/** A first rollout has nothing to replace: `placed` and `running` cover it. */
export function rolloutEvents(
  name: string,
  before: RolloutRecord | undefined,
  after: RolloutRecord,
  status: Pick<DeploymentStatus, 'message'>,
): readonly PlannedEvent[] {
  if (after.from === undefined) return [];
  const details = { version: after.version, specHash: after.specHash, from: after.from };
  const events: PlannedEvent[] = [];
  const started = before?.specHash !== after.specHash;
  if (started) {
    events.push(deploymentEvent(name, 'rollout_started', `rolling out version ${after.version}`, details));
  }
  if (after.state === 'progressing' || (!started && before?.state === after.state)) return events;
  const [kind, message] =
    after.state === 'complete'
      ? ['rollout_completed', `version ${after.version} is rolled out`]
      : ['rollout_failed', `version ${after.version}: ${status.message}`];
  return [...events, deploymentEvent(name, kind, message, details)];
}
