import { lazy, Suspense, useMemo, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecords } from '../../app/use-records.ts';
import { Bars } from '../../components/bars.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Meter } from '../../components/meter.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { QuotaMeters } from '../../components/quota-meters.tsx';
import { TimeAgo, useNow } from '../../components/time-ago.tsx';
import { bytes, cores, count } from '../../lib/format.ts';
import { isFailure } from '../../lib/event-kind.ts';
import { shortIds } from '../../lib/short-ids.ts';
import type { Deployment, Event, Node } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { ACTIVITY_HOURS, activityOf } from './activity.ts';
import { Attention } from './attention.tsx';
import { problemsOf, type Standing } from './problems.ts';
import { firstSteps, isNew } from './steps.ts';

/** Most visits find a tenant that has everything. */
const FirstSteps = lazy(async () => ({ default: (await import('./first-steps.tsx')).FirstSteps }));

/** Long lists are on their own pages. */
const MAX_SHOWN = 8;

function useRecommendations() {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'recommendations'],
    queryFn: ({ signal }) => api.call('GET /api/v1/dvm/recommendations', { signal }),
    retry: false,
  });
}

function useRecentEvents() {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'events', 'recent'],
    queryFn: ({ signal }) =>
      api.list('GET /api/v1/events', {
        signal,
        query: { since: new Date(Date.now() - ACTIVITY_HOURS * 3_600_000).toISOString() },
      }),
    refetchInterval: 60_000,
  });
}

function Figure({
  label,
  value,
  note,
  to,
}: {
  readonly label: string;
  readonly value: string;
  readonly note: string;
  readonly to: string;
}) {
  return (
    <Link to={to} className="rounded-lg border bg-surface px-4 py-3 shadow-card hover:border-line-strong">
      <span className="block text-xs text-muted">{label}</span>
      <span className="block text-2xl font-semibold tracking-tight tabular-nums">{value}</span>
      <span className="block truncate text-xs text-muted">{note}</span>
    </Link>
  );
}

function Figures({
  deployments,
  nodes,
}: {
  readonly deployments: readonly Deployment[];
  readonly nodes: readonly Node[];
}) {
  const running = deployments.filter(({ status }) => status.phase === 'Running').length;
  const progressing = deployments.filter(({ status }) => status.phase === 'Progressing').length;
  const desired = deployments.reduce((sum, { status }) => sum + status.desired, 0);
  const healthy = deployments.reduce((sum, { status }) => sum + status.healthy, 0);
  const ready = nodes.filter(({ status }) => status === 'ready').length;
  const closed = nodes.filter(({ schedulable, conditions }) => !schedulable || conditions.length > 0).length;
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Figure
        to="/deployments"
        label="Deployments"
        value={String(deployments.length)}
        note={`${running} running`}
      />
      <Figure
        to="/deployments"
        label="Healthy instances"
        value={`${healthy}/${desired}`}
        note={healthy === desired ? 'all that are wanted' : `${desired - healthy} missing`}
      />
      <Figure
        to="/nodes"
        label="Ready nodes"
        value={`${ready}/${nodes.length}`}
        note={
          closed === 0
            ? 'all take new work'
            : `${closed} of them ${closed === 1 ? 'takes' : 'take'} no new work`
        }
      />
      <Figure
        to="/deployments"
        label="Rolling out"
        value={String(progressing)}
        note={progressing === 0 ? 'nothing is changing' : 'in progress'}
      />
    </div>
  );
}

function Capacity({ nodes }: { readonly nodes: readonly Node[] }) {
  const ready = nodes.filter(({ status }) => status === 'ready');
  const sum = (pick: (node: Node) => number) => ready.reduce((total, node) => total + pick(node), 0);
  const cpu = { used: sum(({ requested }) => requested.cpu), all: sum(({ capacity }) => capacity.cpu) };
  const memory = {
    used: sum(({ requested }) => requested.memoryBytes),
    all: sum(({ capacity }) => capacity.memoryBytes),
  };
  if (nodes.length === 0)
    return (
      <EmptyState title="No nodes enrolled" icon="server">
        <p>Deployments wait until a machine of this tenant runs an agent.</p>
      </EmptyState>
    );
  return (
    <div className="flex flex-col gap-4">
      <Meter
        label="CPU requested"
        value={cpu.used}
        max={cpu.all}
        text={`${Number(cpu.used.toFixed(2))} of ${cores(cpu.all)}`}
      />
      <Meter
        label="Memory requested"
        value={memory.used}
        max={memory.all}
        text={`${bytes(memory.used)} of ${bytes(memory.all)}`}
      />
      <ul className="flex flex-col gap-2.5 border-t pt-3">
        {[...ready]
          .sort((a, b) => b.requested.cpu / b.capacity.cpu - a.requested.cpu / a.capacity.cpu)
          .slice(0, MAX_SHOWN)
          .map((node) => (
            <li key={node.name}>
              <Meter
                label={node.name}
                value={Math.max(
                  node.requested.cpu / node.capacity.cpu,
                  node.requested.memoryBytes / node.capacity.memoryBytes,
                )}
                max={1}
                text={`${cores(node.requested.cpu)} · ${bytes(node.requested.memoryBytes)}`}
              />
            </li>
          ))}
      </ul>
    </div>
  );
}

/** Shown where there is a limit. */
function Quota() {
  const api = useApi();
  const { tenant } = useSession();
  const { data } = useQuery({
    queryKey: [tenant.id, 'tenant'],
    queryFn: ({ signal }) =>
      api.call('GET /api/v1/tenants/{tenant}', { params: { tenant: tenant.id }, signal }),
  });
  const quota = data?.standing?.quota ?? [];
  if (quota.length === 0) return null;
  return (
    <Panel title="Quota" note="Used of what the tenant may have">
      <QuotaMeters quota={quota} />
    </Panel>
  );
}

function ActivityChart({ events }: { readonly events: readonly Event[] }) {
  const now = useNow();
  const hour = Math.floor(now / 3_600_000);
  const activity = useMemo(() => activityOf(events, hour * 3_600_000 + 3_599_000), [events, hour]);
  const series = useMemo(
    () => [
      { label: 'Changes', values: activity.changes, colour: '--accent' },
      { label: 'Failures', values: activity.failures, colour: '--bad' },
    ],
    [activity],
  );
  const failures = activity.failures.reduce((sum, value) => sum + value, 0);
  return (
    <Bars
      times={activity.times}
      series={series}
      summary={`${count(events.length, 'event')} in the last ${ACTIVITY_HOURS} hours, ${failures} of them failures`}
    />
  );
}

function RecentEvents({ events }: { readonly events: readonly Event[] }) {
  if (events.length === 0) return <p className="p-4 text-muted">Nothing has happened in the last day.</p>;
  return (
    <ul>
      {events
        .slice(-MAX_SHOWN)
        .reverse()
        .map(({ id, at, kind, subject, message }) => (
          <li key={id} className="flex gap-3 border-b px-4 py-2 text-xs last:border-b-0">
            <span className="w-20 shrink-0 text-muted">
              <TimeAgo time={at} />
            </span>
            <span className="min-w-0 flex-1">
              <span className={`font-medium ${isFailure(kind) ? 'text-bad' : ''}`}>{kind}</span>
              {/* What happens to an instance says of which deployment it is. */}
              {subject.kind === 'Instance' ? null : <span className="pl-2">{shortIds(subject.name)}</span>}
              <span className="block truncate text-muted" title={message}>
                {shortIds(message)}
              </span>
            </span>
          </li>
        ))}
    </ul>
  );
}

/** Everything that may need a person; undefined while it is read. */
function useStanding(): { readonly standing: Standing | undefined; readonly error: unknown } {
  const deployments = useDeployments();
  const nodes = useRecords('nodes', 'GET /api/v1/nodes');
  const jobs = useRecords('jobs', 'GET /api/v1/jobs');
  const volumes = useRecords('volumes', 'GET /api/v1/dvm/volumes');
  const webhooks = useRecords('webhooks', 'GET /api/v1/webhooks');
  const { data: recommendations = [] } = useRecommendations();
  const reads = [deployments, nodes, jobs, volumes, webhooks];
  const error = reads.find((read) => read.error !== null)?.error ?? null;
  const isRead =
    deployments.data !== undefined &&
    nodes.data !== undefined &&
    jobs.data !== undefined &&
    volumes.data !== undefined &&
    webhooks.data !== undefined;
  if (!isRead) return { standing: undefined, error };
  return {
    standing: {
      deployments: deployments.data,
      nodes: nodes.data,
      jobs: jobs.data,
      volumes: volumes.data,
      webhooks: webhooks.data,
      recommendations,
    },
    error,
  };
}

/** Stays until it is closed, so that the last step is seen to be done. */
function Beginning({ standing, onClose }: { readonly standing: Standing; readonly onClose: () => void }) {
  const [deployment] = standing.deployments;
  const [job] = standing.jobs;
  const seen = deployment !== undefined ? `/deployments/${deployment.name}` : job && `/jobs/${job.name}`;
  return (
    <Suspense fallback={<Loading lines={6} />}>
      <FirstSteps steps={firstSteps(standing)} seen={seen} onClose={onClose} />
    </Suspense>
  );
}

function TenantOverview({ standing }: { readonly standing: Standing }) {
  const { deployments, nodes } = standing;
  const { data: events } = useRecentEvents();
  const [isLed, setLed] = useState(() => isNew(standing));
  const problems = useMemo(() => problemsOf(standing), [standing]);
  const isEmpty = nodes.length === 0 && deployments.length === 0;
  return (
    <>
      {isLed || isNew(standing) ? <Beginning standing={standing} onClose={() => setLed(false)} /> : null}
      {problems.length === 0 && isNew(standing) ? null : <Attention problems={problems} />}
      {isEmpty ? null : <Figures deployments={deployments} nodes={nodes} />}
      <div className={`grid gap-5 ${isEmpty ? '' : 'xl:grid-cols-[2fr_1fr]'}`}>
        <div className="flex min-w-0 flex-col gap-5">
          {isEmpty ? null : (
            <Panel title="Activity" note="Events of the last 24 hours">
              {events === undefined ? <Loading /> : <ActivityChart events={events} />}
            </Panel>
          )}
          <Panel flush title="Latest events">
            {events === undefined ? <Loading /> : <RecentEvents events={events} />}
          </Panel>
        </div>
        {isEmpty ? null : (
          <div className="flex min-w-0 flex-col gap-5">
            <Panel title="Capacity" note="Requested of what ready nodes report">
              <Capacity nodes={nodes} />
            </Panel>
            <Quota />
          </div>
        )}
      </div>
    </>
  );
}

export function OverviewPage() {
  const { tenant } = useSession();
  const { standing, error } = useStanding();
  if (standing === undefined) return <PendingPage title="Overview" error={error} />;
  return (
    <Page title="Overview">
      {error === null ? null : <ErrorNotice error={error} />}
      <TenantOverview key={tenant.id} standing={standing} />
    </Page>
  );
}
