import { useMemo } from 'react';
import type { ItemOf } from '../../../sdk/index.ts';
import { useRecords } from '../../app/use-records.ts';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { dateTime } from '../../lib/format.ts';

const COLUMNS: readonly Column<ItemOf<'GET /api/v1/audit'>>[] = [
  {
    title: 'When',
    width: '12rem',
    sortBy: ({ at }) => -Date.parse(at),
    cell: ({ at }) => <span className="tabular-nums">{dateTime(at)}</span>,
  },
  {
    title: 'Action',
    width: '24%',
    sortBy: ({ action }) => action,
    cell: ({ action }) => <span className="font-medium">{action}</span>,
  },
  {
    title: 'On',
    wide: true,
    sortBy: ({ subject }) => `${subject.kind} ${subject.name}`,
    cell: ({ subject }) => (
      <span title={subject.name}>
        {subject.kind} {subject.name}
      </span>
    ),
  },
  {
    title: 'By',
    width: '20%',
    wide: true,
    sortBy: ({ actor }) => actor,
    cell: ({ actor }) => (
      <code className="font-mono text-xs text-muted" title={actor}>
        {actor}
      </code>
    ),
  },
  {
    title: 'Role',
    width: '13%',
    wide: true,
    sortBy: ({ role }) => role,
    cell: ({ role }) => <span className="text-muted">{role}</span>,
  },
];

/** Not with every event: the whole history is read. */
const REREAD_MS = 30_000;

export function AuditPage() {
  const { data, error } = useRecords('audit-log', 'GET /api/v1/audit', { everyMs: REREAD_MS });
  const rows = useMemo(() => data?.toReversed(), [data]);
  return (
    <Page title="Audit" note="Who did what to which record, written in the same commit as the change.">
      <RecordTable
        label="Audit records"
        one="record"
        rows={rows}
        error={error}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        textOf={({ action, actor, subject, requestId }) =>
          `${action} ${actor} ${subject.kind}/${subject.name} ${requestId}`
        }
        empty={<EmptyState title="Nothing has been changed yet" icon="scroll" />}
      />
    </Page>
  );
}
