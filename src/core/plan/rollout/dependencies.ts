import type { DependencyGate, DeploymentStatus } from '../../model/deployment.ts';

/** What is known of a deployment that another one depends on; counts are of its current spec. */
export interface DependencyFacts {
  readonly hasHealthCheck: boolean;
  readonly desired: number;
  readonly running: number;
  readonly healthy: number;
  readonly status?: Pick<DeploymentStatus, 'phase' | 'since'>;
}

export interface ClosedGate {
  readonly dependency: string;
  /** `waiting for db …` */
  readonly message: string;
}

/**
 * The gates that keep new instances from being created; instances that exist are never touched by them. `healthy` is
 * open while at least one instance of the dependency's current spec is healthy: that is enough to be answered, and a dependency
 * that is being scaled or loses one of several instances does not hold others up.
 */
export function closedGates(
  dependsOn: Readonly<Record<string, DependencyGate>> | undefined,
  factsOf: (deployment: string) => DependencyFacts | undefined,
): readonly ClosedGate[] {
  return Object.entries(dependsOn ?? {}).flatMap(([dependency, gate]) => {
    const why = whyClosed(gate, factsOf(dependency));
    return why === undefined ? [] : [{ dependency, message: `waiting for ${dependency} (${why})` }];
  });
}

function whyClosed(gate: DependencyGate, facts: DependencyFacts | undefined): string | undefined {
  if (facts === undefined) return 'no such deployment yet';
  if (facts.desired === 0) return 'stopped: its replicas is 0';
  if (gate === 'started') {
    return facts.running > 0 ? undefined : `not started${since(facts)}: 0 of ${facts.desired} running`;
  }
  // A gate without a check would be opened by anything that runs, so it stays closed.
  if (!facts.hasHealthCheck) return 'it has no health check, so nothing can say that it is healthy';
  if (facts.healthy > 0) return undefined;
  return facts.running > 0
    ? `unhealthy${since(facts)}: ${facts.running} of ${facts.desired} running, 0 healthy`
    : `not running${since(facts)}: 0 of ${facts.desired} running`;
}

function since({ status }: DependencyFacts): string {
  return status?.since === undefined ? '' : `, ${status.phase} since ${status.since}`;
}
