import { useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Bars } from '../../components/bars.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { Meter } from '../../components/meter.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { TimeAgo, useNow } from '../../components/time-ago.tsx';
import { bytes, cores, count } from '../../lib/format.ts';
import type { Deployment, Event, Node } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { ACTIVITY_HOURS, activityOf } from './activity.ts';
import { type Problem, problemsOf } from './problems.ts';

/** Long lists are on their own pages. */
const MAX_SHOWN = 8;

function useNodes() {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'nodes'],
    queryFn: ({ signal }) => api.list('GET /api/v1/nodes', { signal }),
  });
}

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

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  if (problems.length === 0)
    return (
      <div className="flex items-center gap-3 rounded-lg border border-ok/25 bg-ok-soft px-4 py-3 text-ok">
        <Icon name="check" />
        <p className="font-medium">Nothing needs attention: every deployment is as it should be.</p>
      </div>
    );
  return (
    <Panel flush title="Needs attention" note={count(problems.length, 'problem')}>
      <ul>
        {problems.slice(0, MAX_SHOWN).map(({ key, severity, what, title, detail, to, since }) => (
          <li key={key} className="border-b last:border-b-0">
            <Link
              to={to}
              className="grid grid-cols-[auto_1fr_auto] items-center gap-x-4 gap-y-1 px-4 py-2.5 hover:bg-hover sm:grid-cols-[8rem_11rem_1fr_auto]"
            >
              <span>
                <Badge tone={severity}>{what}</Badge>
              </span>
              <span className="truncate font-medium">{title}</span>
              <span className="order-last col-span-3 line-clamp-2 min-w-0 text-muted sm:order-none sm:col-span-1 sm:line-clamp-1">
                {detail}
              </span>
              <span className="text-right text-xs text-muted">
                {since === undefined ? null : <TimeAgo time={since} />}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {problems.length > MAX_SHOWN ? (
        <Link to="/deployments" className="block border-t px-4 py-2 text-xs text-accent hover:underline">
          {problems.length - MAX_SHOWN} more
        </Link>
      ) : null}
    </Panel>
  );
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
  const closed = nodes.filter(({ schedulable }) => !schedulable).length;
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
        note={closed === 0 ? 'all take new work' : `${closed} take no new work`}
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
        text={`${cores(cpu.used)} of ${cores(cpu.all)}`}
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
        .map(({ id, at, kind, message }) => (
          <li key={id} className="flex gap-3 border-b px-4 py-2 text-xs last:border-b-0">
            <span className="w-20 shrink-0 text-muted">
              <TimeAgo time={at} />
            </span>
            <span className="min-w-0 flex-1">
              <span className="font-medium">{kind}</span>
              <span className="block truncate text-muted" title={message}>
                {message}
              </span>
            </span>
          </li>
        ))}
    </ul>
  );
}

export function OverviewPage() {
  const deployments = useDeployments();
  const nodes = useNodes();
  const { data: recommendations = [] } = useRecommendations();
  const { data: events } = useRecentEvents();
  const error = deployments.error ?? nodes.error;
  if (deployments.data === undefined || nodes.data === undefined)
    return (
      <Page title="Overview">{error === null ? <Loading lines={6} /> : <ErrorNotice error={error} />}</Page>
    );
  return (
    <Page title="Overview">
      {error === null ? null : <ErrorNotice error={error} />}
      <Problems problems={problemsOf(deployments.data, nodes.data, recommendations)} />
      <Figures deployments={deployments.data} nodes={nodes.data} />
      <div className="grid gap-5 xl:grid-cols-[2fr_1fr]">
        <div className="flex min-w-0 flex-col gap-5">
          <Panel title="Activity" note="Events of the last 24 hours">
            {events === undefined ? <Loading /> : <ActivityChart events={events} />}
          </Panel>
          <Panel flush title="Latest events">
            {events === undefined ? <Loading /> : <RecentEvents events={events} />}
          </Panel>
        </div>
        <Panel title="Capacity" note="Requested of what ready nodes report">
          <Capacity nodes={nodes.data} />
        </Panel>
      </div>
    </Page>
  );
}
