import type { Job } from '../../lib/records.ts';
import { reasonFirst } from '../../lib/reason-first.ts';
import { useSession } from '../../app/session.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { type Column, MESSAGE_COLUMN } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { dateTime } from '../../lib/format.ts';
import { useJobs } from './job-queries.ts';
import { RunBadge } from '../../components/run-badge.tsx';

const COLUMNS: readonly Column<Job>[] = [
  {
    title: 'Name',
    width: '18%',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <RowLink to={`/jobs/${name}`}>{name}</RowLink>,
  },
  {
    title: 'Last run',
    width: '8.5rem',
    sortBy: ({ status }) => status.runs[0]?.state ?? '',
    cell: ({ status }) => <RunBadge state={status.runs[0]?.state ?? status.phase} />,
  },
  {
    title: 'When',
    width: '10%',
    wide: true,
    sortBy: ({ status }) => -Date.parse(status.runs[0]?.createdAt ?? ''),
    cell: ({ status }) => <TimeAgo time={status.runs[0]?.createdAt} />,
  },
  MESSAGE_COLUMN,
  {
    title: 'Node',
    width: '10%',
    wide: true,
    sortBy: ({ status }) => status.runs[0]?.nodeId ?? '',
    cell: ({ status }) => <span className="text-muted">{status.runs[0]?.nodeId ?? 'none'}</span>,
  },
  {
    title: 'Schedule',
    width: '11%',
    wide: true,
    cell: ({ schedule }) =>
      schedule === undefined ? (
        <span className="text-muted">once</span>
      ) : (
        <code className="font-mono text-xs">{schedule}</code>
      ),
  },
  {
    title: 'Next run',
    width: '17%',
    wide: true,
    sortBy: ({ status }) => status.nextRunAt ?? '~',
    cell: ({ status }) => (
      <span className="text-muted">{status.nextRunAt === null ? 'none' : dateTime(status.nextRunAt)}</span>
    ),
  },
];

export function JobsPage() {
  const { can } = useSession();
  const { data, error } = useJobs();
  const create = can('deploy') ? (
    <ButtonLink to="/jobs/new" tone="primary" icon="plus">
      New job
    </ButtonLink>
  ) : null;
  return (
    <Page
      title="Jobs"
      note="Containers that run to their end, once or at the times of a schedule."
      actions={create}
    >
      <RecordTable
        label="Jobs"
        one="job"
        rows={data}
        error={error}
        columns={COLUMNS}
        rowKey={({ name }) => name}
        detail={({ schedule, status }) =>
          [reasonFirst(status.message), schedule ?? 'once', ...[status.runs[0]?.nodeId ?? []].flat()].join(
            ' · ',
          )
        }
        textOf={({ name, image }) => `${name} ${image}`}
        empty={
          <EmptyState title="No jobs yet" icon="clock">
            {create}
          </EmptyState>
        }
      />
    </Page>
  );
}
