import { useMemo, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useAddress } from '../../app/address.ts';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { isFailure } from '../../lib/event-kind.ts';
import type { Event } from '../../lib/records.ts';
import { shortIds } from '../../lib/short-ids.ts';
import { EventDialog } from './event-dialog.tsx';
import { fits } from './event-filter.ts';
import { useEventLog } from './event-queries.ts';

const SUBJECTS: readonly Event['subject']['kind'][] = [
  'Deployment',
  'Instance',
  'Webhook',
  'Node',
  'Volume',
  'Network',
  'Job',
  'Backup',
  'Secret',
  'Tenant',
  'Token',
];

const PERIODS = [
  [1, 'Last hour'],
  [24, 'Last day'],
  [168, 'Everything kept (7 days)'],
] as const;

function columnsOf(onOpen: (event: Event) => void): readonly Column<Event>[] {
  return [
    { title: 'When', width: '7rem', cell: ({ at }) => <TimeAgo time={at} /> },
    {
      title: 'Kind',
      width: '15rem',
      sortBy: ({ kind }) => kind,
      cell: (event) => (
        <button
          type="button"
          onClick={() => onOpen(event)}
          className={`text-xs font-medium hover:underline ${isFailure(event.kind) ? 'text-bad' : ''}`}
        >
          {event.kind}
        </button>
      ),
    },
    {
      title: 'Of',
      width: '13rem',
      wide: true,
      sortBy: ({ subject }) => `${subject.kind} ${subject.name}`,
      cell: ({ subject }) => (
        <span className="text-xs text-muted" title={`${subject.kind} ${subject.name}`}>
          {subject.kind} {shortIds(subject.name)}
        </span>
      ),
    },
    {
      title: 'Message',
      wide: true,
      cell: ({ message }) => (
        <span className="text-xs text-muted" title={message}>
          {shortIds(message)}
        </span>
      ),
    },
  ];
}

function textOf({ kind, subject, message }: Event): string {
  return `${kind} ${subject.kind}/${subject.name} ${message}`;
}

const SELECT = 'h-9 rounded-md border border-line-strong bg-surface px-2';

export function EventsPage() {
  const navigate = useNavigate();
  const address = useAddress();
  const subject = address.text('subject') ?? '';
  const onlyFailures = address.isSet('failures');
  const hours = address.number('hours') ?? 24;
  const { data, error } = useEventLog(hours);
  const [open, setOpen] = useState<Event>();
  const columns = useMemo(() => columnsOf(setOpen), []);
  const rows = useMemo(
    () => data?.filter((event) => fits({ subject, onlyFailures }, event)),
    [data, subject, onlyFailures],
  );
  const show = (next: { subject?: string; failures?: boolean; hours?: number }) => {
    const search = { subject, failures: onlyFailures, hours, ...next };
    void navigate({
      to: '/events',
      replace: true,
      search: {
        ...(search.subject === '' ? {} : { subject: search.subject }),
        ...(search.failures ? { failures: true } : {}),
        ...(search.hours === 24 ? {} : { hours: search.hours }),
      },
    });
  };
  return (
    <Page title="Events" note="What happened, as it happens.">
      <RecordTable
        label="Events"
        one="event"
        rows={rows}
        error={error}
        columns={columns}
        rowKey={({ id }) => id}
        rowHeight={38}
        detail={({ message }) => shortIds(message)}
        textOf={textOf}
        filters={
          <>
            <select
              aria-label="Of"
              value={subject}
              onChange={(event) => show({ subject: event.target.value })}
              className={SELECT}
            >
              <option value="">Of everything</option>
              {SUBJECTS.map((kind) => (
                <option key={kind}>{kind}</option>
              ))}
            </select>
            <select
              aria-label="Period"
              value={hours}
              onChange={(event) => show({ hours: Number(event.target.value) })}
              className={SELECT}
            >
              {PERIODS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
            <label className="flex items-center gap-2 px-1">
              <input
                type="checkbox"
                checked={onlyFailures}
                onChange={(event) => show({ failures: event.target.checked })}
                className="accent-(--accent)"
              />
              Only what went wrong
            </label>
          </>
        }
        empty={<EmptyState title="No events" icon="pulse" />}
      />
      {open === undefined ? null : <EventDialog event={open} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}
