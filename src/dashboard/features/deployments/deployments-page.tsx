import { useMemo } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useAddress } from '../../app/address.ts';
import type { DeploymentPhase } from '../../../core/model/deployment.ts';
import { reasonFirst } from '../../lib/reason-first.ts';
import { useSession } from '../../app/session.tsx';
import { PhaseBadge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { type Column, DataTable, MESSAGE_COLUMN } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { count } from '../../lib/format.ts';
import type { Deployment } from '../../lib/records.ts';
import { useDeployments } from './deployment-queries.ts';
import { InstanceDots, urgency } from './health.tsx';
import { Marks } from './marks.tsx';
import { UsageCell } from './usage-cell.tsx';

const PHASES: readonly DeploymentPhase[] = [
  'Degraded',
  'Pending',
  'Waiting',
  'Progressing',
  'Running',
  'Stopped',
];

function imageName(image: string): string {
  return image.slice(image.lastIndexOf('/') + 1);
}

function nodesOf({ status }: Deployment): readonly string[] {
  return [...new Set(status.instances.map(({ nodeId }) => nodeId))].sort();
}

/** Up to so many nodes are named. */
const NAMED_NODES = 2;

function nodesText(deployment: Deployment): string {
  const nodes = nodesOf(deployment);
  return nodes.length > NAMED_NODES ? count(nodes.length, 'node') : nodes.join(', ');
}

const COLUMNS: readonly Column<Deployment>[] = [
  {
    title: 'Name',
    width: '19%',
    sortBy: ({ name }) => name,
    cell: (row) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1 lg:flex-nowrap">
          <span className="min-w-0 lg:truncate" title={row.name}>
            <RowLink to={`/deployments/${row.name}`}>{row.name}</RowLink>
          </span>
          <Marks deployment={row} />
        </span>
        <span className="hidden truncate font-mono text-xs text-muted lg:block" title={row.image}>
          {imageName(row.image)}
        </span>
      </>
    ),
  },
  {
    title: 'Phase',
    width: '8rem',
    sortBy: urgency,
    cell: ({ status }) => <PhaseBadge phase={status.phase} />,
  },
  {
    title: 'Healthy',
    width: '8.5rem',
    wide: true,
    sortBy: ({ status }) => (status.desired === 0 ? 1 : status.healthy / status.desired),
    cell: ({ status }) => <InstanceDots status={status} />,
  },
  MESSAGE_COLUMN,
  {
    title: 'Where',
    width: '12%',
    wide: true,
    sortBy: (row) => nodesOf(row).join(' '),
    cell: (row) => (
      <span className="block truncate text-xs" title={nodesOf(row).join(', ')}>
        {nodesText(row)}
        <span className="block truncate font-mono text-muted">{row.status.virtualAddress}</span>
      </span>
    ),
  },
  {
    title: 'Uses',
    width: '7rem',
    wide: true,
    cell: ({ name, status }) => (status.running === 0 ? null : <UsageCell key={name} name={name} />),
  },
  {
    title: 'Changed',
    width: '7rem',
    wide: true,
    sortBy: ({ updatedAt }) => -Date.parse(updatedAt),
    cell: ({ updatedAt }) => <TimeAgo time={updatedAt} />,
  },
];

/** On a narrow screen: what is wrong, else where it runs and what. */
function detailOf(row: Deployment): string {
  const { status, image } = row;
  const rest =
    status.phase === 'Running'
      ? [imageName(image), nodesText(row), status.virtualAddress].filter(
          (one) => one !== undefined && one !== '',
        )
      : [reasonFirst(status.message)];
  return [`${status.healthy}/${status.desired} healthy`, ...rest].join(' · ');
}

function PhaseFilter({
  deployments,
  chosen,
  onChoose,
}: {
  readonly deployments: readonly Deployment[];
  readonly chosen: string | undefined;
  readonly onChoose: (phase: string | undefined) => void;
}) {
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const { status } of deployments) found.set(status.phase, (found.get(status.phase) ?? 0) + 1);
    return found;
  }, [deployments]);
  const present = PHASES.filter((phase) => counts.has(phase) || phase === chosen);
  return (
    <div role="group" aria-label="Phase" className="flex flex-wrap gap-1">
      {[undefined, ...present].map((phase) => (
        <button
          key={phase ?? 'all'}
          type="button"
          aria-pressed={chosen === phase}
          onClick={() => onChoose(phase)}
          className="rounded-md px-2.5 py-1 text-xs font-medium text-muted hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:text-accent"
        >
          {phase ?? 'All'}{' '}
          <span className="font-normal tabular-nums">
            {phase === undefined ? deployments.length : counts.get(phase)}
          </span>
        </button>
      ))}
    </div>
  );
}

function NoDeployments() {
  const { can } = useSession();
  return (
    <EmptyState title="No deployments yet" icon="layers">
      <p>A deployment is an image and how many instances of it are to run.</p>
      {can('deploy') ? (
        <ButtonLink to="/deployments/new" tone="primary" icon="plus">
          Create the first one
        </ButtonLink>
      ) : null}
    </EmptyState>
  );
}

export function DeploymentsPage() {
  const { can } = useSession();
  const { data, error } = useDeployments();
  const navigate = useNavigate();
  const address = useAddress();
  const [q, phase] = [address.text('q') ?? '', address.text('phase')];
  const show = (next: { q?: string | undefined; phase?: string | undefined }) =>
    void navigate({ to: '/deployments', search: next, replace: true });
  const rows = useMemo(() => {
    const wanted = q.toLowerCase();
    const found = (data ?? []).filter(
      ({ name, image, status }) =>
        (phase === undefined || status.phase === phase) &&
        (wanted === '' || name.includes(wanted) || image.toLowerCase().includes(wanted)),
    );
    return found.sort((a, b) => urgency(a) - urgency(b));
  }, [data, q, phase]);
  return (
    <Page
      title="Deployments"
      actions={
        can('deploy') ? (
          <ButtonLink to="/deployments/new" tone="primary" icon="plus">
            New deployment
          </ButtonLink>
        ) : null
      }
    >
      {error === null ? null : <ErrorNotice error={error} />}
      {data === undefined ? (
        <Panel>
          <Loading lines={5} />
        </Panel>
      ) : (
        <>
          <div className="flex flex-wrap items-center justify-between gap-3">
            <PhaseFilter
              deployments={data}
              chosen={phase}
              onChoose={(next) => show({ q: q || undefined, phase: next })}
            />
            <SearchBox
              label="Find deployments by name or image"
              value={q}
              onChange={(text) => show({ q: text || undefined, phase })}
            />
          </div>
          <Panel flush>
            <DataTable
              label="Deployments"
              rows={rows}
              columns={COLUMNS}
              rowKey={({ id }) => id}
              rowHeight={56}
              detail={detailOf}
              isPlain
              empty={
                data.length === 0 ? <NoDeployments /> : <EmptyState title="Nothing matches" icon="search" />
              }
            />
          </Panel>
          <p className="text-xs text-muted" aria-live="polite">
            {count(rows.length, 'deployment')}
          </p>
        </>
      )}
    </Page>
  );
}
