import type { ItemOf } from '../../../sdk/index.ts';
import { count } from '../../lib/format.ts';
import type { Deployment, Job, Node, Recommendation, Volume } from '../../lib/records.ts';
import { reasonFirst } from '../../lib/reason-first.ts';

export interface Problem {
  readonly key: string;
  readonly severity: 'bad' | 'warn';
  readonly what: string;
  readonly title: string;
  /** Begins with the reason. */
  readonly detail: string;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly since?: string;
}

type Webhook = ItemOf<'GET /api/v1/webhooks'>;

/** What a tenant has that may be wrong. */
export interface Standing {
  readonly deployments: readonly Deployment[];
  readonly nodes: readonly Node[];
  readonly jobs: readonly Job[];
  readonly volumes: readonly Volume[];
  readonly webhooks: readonly Webhook[];
  readonly recommendations: readonly Recommendation[];
}

function at(since: string | null | undefined): { readonly since?: string } {
  return since === undefined || since === null ? {} : { since };
}

const DEPLOYMENT_PHASES: Readonly<Record<string, Problem['severity']>> = {
  Degraded: 'bad',
  Pending: 'warn',
  Waiting: 'warn',
};

function ofDeployment({ name, status }: Deployment): readonly Problem[] {
  const { phase, message, since, rollout, desired, healthy } = status;
  const severity = DEPLOYMENT_PHASES[phase];
  const place = { key: `deployment/${name}`, title: name, ...at(since) };
  if (severity !== undefined)
    return [
      {
        ...place,
        severity,
        what: phase === 'Degraded' && healthy > 0 ? `${healthy} of ${desired} healthy` : phase,
        detail: reasonFirst(message),
        // Why it has no place is answered node by node.
        to: phase === 'Pending' ? `/deployments/${name}/explain` : `/deployments/${name}`,
      },
    ];
  const failed = rollout?.failed;
  if (failed !== undefined)
    return [
      {
        ...place,
        severity: 'warn',
        what: 'Update failed',
        detail: `${reasonFirst(failed.message)}; version ${failed.version} was taken back`,
        to: `/deployments/${name}`,
      },
    ];
  if (rollout?.state !== 'failed') return [];
  return [
    {
      ...place,
      severity: 'bad',
      what: 'Update failed',
      detail: reasonFirst(message),
      to: `/deployments/${name}`,
    },
  ];
}

const LACKS = {
  disk: 'Disk is short',
  memory: 'Memory is short',
  pids: 'Processes are short',
  clock: 'Clock is wrong',
  engine: 'Engine does not work',
} as const;

function ofNode({ name, status, reason, lastSeenAt, schedulable, conditions }: Node): readonly Problem[] {
  const place = { title: name, to: `/nodes/${name}` };
  if (status === 'failed')
    return [
      {
        ...place,
        key: `node/${name}`,
        severity: 'bad',
        what: lastSeenAt === null ? 'Never heard' : reason === undefined ? 'Silent' : 'Not ready',
        detail: `${reasonFirst(reason ?? 'its agent is silent')}; ${schedulable ? 'it takes no new work' : 'it is cordoned, too'}`,
        ...at(lastSeenAt),
      },
    ];
  return conditions.map(({ kind, message }) => ({
    ...place,
    key: `node/${name}/${kind}`,
    severity: 'warn',
    what: LACKS[kind],
    detail: reasonFirst(message),
  }));
}

function ofJob({ name, status }: Job): readonly Problem[] {
  const run = status.runs[0];
  if (run?.state !== 'Failed' && run?.state !== 'Retrying') return [];
  const hasFailed = run.state === 'Failed';
  return [
    {
      key: `job/${name}`,
      severity: hasFailed ? 'bad' : 'warn',
      what: hasFailed ? 'Job failed' : 'Job is retried',
      title: name,
      detail: reasonFirst(run.message),
      to: `/jobs/${name}`,
      ...at(run.finishedAt ?? run.createdAt),
    },
  ];
}

/** Degraded, or without a copy that could take over although copies are wanted. */
function ofVolume(volume: Volume): readonly Problem[] {
  const { id, name, phase, message, wantedReplicas, replicas, switchoverFailed } = volume;
  const place = { key: `volume/${id}`, title: name, to: `/volumes/${id}` };
  const broken = replicas.filter(({ state }) => state === 'failed').map(({ nodeId }) => nodeId);
  if (phase === 'Degraded')
    return [
      {
        ...place,
        severity: 'bad',
        what: 'Volume degraded',
        detail: reasonFirst(message ?? 'its primary is not reached'),
      },
    ];
  if (phase !== 'Ready') return [];
  if (broken.length > 0)
    return [
      {
        ...place,
        severity: 'warn',
        what: 'Volume at risk',
        detail: `${count(broken.length, 'copy is', 'copies are')} not kept up to date: ${broken.join(', ')}`,
      },
    ];
  if (wantedReplicas > 0 && !replicas.some(({ state }) => state === 'live'))
    return [{ ...place, severity: 'warn', what: 'Volume at risk', detail: 'No copy could take over yet' }];
  if (switchoverFailed === undefined) return [];
  return [
    {
      ...place,
      severity: 'warn',
      what: 'Move failed',
      detail: `${reasonFirst(switchoverFailed.why)}; it stayed where it was`,
      ...at(switchoverFailed.at),
    },
  ];
}

function ofWebhook({ name, status }: Webhook): readonly Problem[] {
  const { state, lastFailure, deadLetters, pending } = status;
  const place = {
    key: `webhook/${name}`,
    title: name,
    to: `/webhooks/${name}`,
    ...at(lastFailure?.at),
  };
  const why = reasonFirst(lastFailure?.reason ?? 'its receiver does not take them');
  if (state === 'gone')
    return [
      {
        ...place,
        severity: 'bad',
        what: 'Webhook gone',
        detail: 'Its receiver answered 410: nothing is sent',
      },
    ];
  if (deadLetters > 0)
    return [
      {
        ...place,
        severity: 'bad',
        what: 'Webhook failed',
        detail: `${count(deadLetters, 'event was', 'events were')} given up: ${why}`,
      },
    ];
  if (state !== 'failing') return [];
  return [
    {
      ...place,
      severity: 'warn',
      what: 'Webhook is retried',
      detail: `${why}; ${count(pending, 'event waits', 'events wait')}`,
    },
  ];
}

function ofRecommendation(
  { id, priority, type, reason, volume_id }: Recommendation,
  names: ReadonlyMap<string, string>,
): readonly Problem[] {
  if (priority !== 'critical' && priority !== 'high') return [];
  return [
    {
      key: `recommendation/${id}`,
      severity: priority === 'critical' ? 'bad' : 'warn',
      what: `${priority === 'critical' ? 'Critical' : 'High'}: ${type}`,
      title: names.get(volume_id) ?? 'A volume',
      detail: reasonFirst(reason),
      to: '/recommendations',
    },
  ];
}

/** What needs a person, the worst first. */
export function problemsOf(standing: Standing): readonly Problem[] {
  const names = new Map(standing.volumes.map(({ id, name }) => [id, name]));
  const found = [
    ...standing.nodes.flatMap(ofNode),
    ...standing.deployments.flatMap(ofDeployment),
    ...standing.jobs.flatMap(ofJob),
    ...standing.volumes.flatMap(ofVolume),
    ...standing.webhooks.flatMap(ofWebhook),
    ...standing.recommendations.flatMap((one) => ofRecommendation(one, names)),
  ];
  return found.sort((a, b) => Number(b.severity === 'bad') - Number(a.severity === 'bad'));
}
