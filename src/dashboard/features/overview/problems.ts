import type { Deployment, Node, Recommendation } from '../../lib/records.ts';

export interface Problem {
  readonly key: string;
  readonly severity: 'bad' | 'warn';
  readonly what: string;
  readonly title: string;
  readonly detail: string;
  readonly to: string;
  readonly since?: string;
}

function ofDeployment({ name, status }: Deployment): Problem | undefined {
  const { phase, message, since } = status;
  if (phase !== 'Degraded' && phase !== 'Pending' && phase !== 'Waiting') return undefined;
  return {
    key: `deployment/${name}`,
    severity: phase === 'Degraded' ? 'bad' : 'warn',
    what: phase,
    title: name,
    detail: message,
    // Why it has no place is answered node by node.
    to: phase === 'Pending' ? `/deployments/${name}/explain` : `/deployments/${name}`,
    ...(since === undefined ? {} : { since }),
  };
}

function ofNode({
  name,
  status,
  reason = 'its agent is silent',
  lastSeenAt,
  schedulable,
}: Node): Problem | undefined {
  if (status !== 'failed') return undefined;
  return {
    key: `node/${name}`,
    severity: 'bad',
    what: 'Node failed',
    title: name,
    detail: `${schedulable ? 'It takes no new work' : 'It is cordoned'}: ${reason}.`,
    to: `/nodes/${name}`,
    ...(lastSeenAt === null ? {} : { since: lastSeenAt }),
  };
}

function ofRecommendation({ id, priority, type, reason }: Recommendation): Problem | undefined {
  if (priority !== 'critical' && priority !== 'high') return undefined;
  return {
    key: `recommendation/${id}`,
    severity: priority === 'critical' ? 'bad' : 'warn',
    what: `${priority === 'critical' ? 'Critical' : 'High'}: ${type}`,
    title: 'Volume',
    detail: reason,
    to: '/recommendations',
  };
}

/** What needs a person, the worst first. */
export function problemsOf(
  deployments: readonly Deployment[],
  nodes: readonly Node[],
  recommendations: readonly Recommendation[],
): readonly Problem[] {
  const found = [
    ...nodes.map(ofNode),
    ...deployments.map(ofDeployment),
    ...recommendations.map(ofRecommendation),
  ].filter((problem) => problem !== undefined);
  return found.sort((a, b) => Number(b.severity === 'bad') - Number(a.severity === 'bad'));
}
