import { useMemo, useState } from 'react';
import { actorText } from '../../../core/model/actor-text.ts';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TimeAgo, useNow } from '../../components/time-ago.tsx';
import { dateTime } from '../../lib/format.ts';
import { useTokenNames } from '../tokens/token-names.ts';
import { useAudit } from './audit-queries.ts';
import { type AuditFilter, type AuditLine, doneText, fits, pageOf } from './audit-words.ts';

const PERIODS = [
  ['', 'At any time'],
  ['1', 'Last hour'],
  ['24', 'Last day'],
  ['168', 'Last 7 days'],
] as const;

/** A year may be kept; who wants it asks for it. */
const USUAL_HOURS = 168;

const SELECT = 'h-9 max-w-full rounded-md border border-line-strong bg-surface px-2';

function Subject({ line, names }: { readonly line: AuditLine; readonly names: ReadonlyMap<string, string> }) {
  const { kind, name } = line.subject;
  const to = pageOf(line);
  return (
    <span title={`${kind} ${name}`}>
      <span className="text-muted">{kind} </span>
      {to === undefined ? (names.get(name) ?? name) : <RowLink to={to}>{name}</RowLink>}
    </span>
  );
}

function columnsOf(names: ReadonlyMap<string, string>): readonly Column<AuditLine>[] {
  return [
    {
      title: 'Who',
      width: '22%',
      sortBy: (line) => actorText(line, names),
      cell: (line) => (
        <span title={line.actor}>
          <span className="font-medium">{actorText(line, names)}</span>
          <span className="hidden text-xs text-muted lg:inline"> {line.role}</span>
        </span>
      ),
    },
    {
      title: 'Did',
      wide: true,
      sortBy: ({ action }) => action,
      cell: (line) => <span title={doneText(line)}>{doneText(line)}</span>,
    },
    {
      title: 'To',
      width: '24%',
      wide: true,
      sortBy: ({ subject }) => `${subject.kind} ${subject.name}`,
      cell: (line) => <Subject line={line} names={names} />,
    },
    {
      title: 'From',
      width: '11%',
      wide: true,
      sortBy: ({ source }) => source ?? '',
      cell: ({ source, forwardedFor, requestId }) => (
        <span className="text-xs text-muted" title={`request ${requestId}`}>
          {forwardedFor ?? source ?? ''}
        </span>
      ),
    },
    {
      title: 'Result',
      width: '8rem',
      cell: ({ result }) => <Badge tone="ok">{result}</Badge>,
    },
    {
      title: 'When',
      width: '13rem',
      wide: true,
      sortBy: ({ at }) => -Date.parse(at),
      cell: ({ at }) => (
        <time dateTime={at} className="tabular-nums">
          {dateTime(at)}
        </time>
      ),
    },
  ];
}

function Filters({
  filter,
  onChange,
  lines,
  names,
}: {
  readonly filter: AuditFilter;
  readonly onChange: (filter: AuditFilter) => void;
  readonly lines: readonly AuditLine[];
  readonly names: ReadonlyMap<string, string>;
}) {
  const actors = useMemo(
    () => [...new Map(lines.map((line) => [line.actor, actorText(line, names)]))],
    [lines, names],
  );
  const kinds = useMemo(() => [...new Set(lines.map(({ subject }) => subject.kind))].sort(), [lines]);
  return (
    <>
      <select
        aria-label="Who"
        value={filter.actor}
        onChange={(event) => onChange({ ...filter, actor: event.target.value })}
        className={SELECT}
      >
        <option value="">By anybody</option>
        {actors.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="To what"
        value={filter.kind}
        onChange={(event) => onChange({ ...filter, kind: event.target.value })}
        className={SELECT}
      >
        <option value="">To anything</option>
        {kinds.map((kind) => (
          <option key={kind}>{kind}</option>
        ))}
      </select>
      <select
        aria-label="When"
        value={filter.hours ?? ''}
        onChange={(event) =>
          onChange({ ...filter, hours: event.target.value === '' ? undefined : Number(event.target.value) })
        }
        className={SELECT}
      >
        {PERIODS.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </>
  );
}

/** Who did what to which record, newest first. */
export function AuditPage() {
  const [filter, setFilter] = useState<AuditFilter>({ actor: '', kind: '', hours: USUAL_HOURS });
  const { data, error } = useAudit(filter.hours);
  const names = useTokenNames();
  const now = useNow();
  const lines = useMemo(() => data?.toReversed(), [data]);
  const rows = useMemo(() => lines?.filter((line) => fits(filter, line, now)), [lines, filter, now]);
  const columns = useMemo(() => columnsOf(names), [names]);
  return (
    <Page title="Audit" note="Who did what to which record, written in the same commit as the change.">
      <RecordTable
        label="Audit records"
        one="record"
        rows={rows}
        error={error}
        columns={columns}
        rowKey={({ id }) => id}
        detail={(line) => (
          <>
            {line.action} · <Subject line={line} names={names} /> · <TimeAgo time={line.at} />
          </>
        )}
        textOf={(line) =>
          `${line.action} ${actorText(line, names)} ${line.actor} ${line.subject.kind}/${line.subject.name} ${line.requestId}`
        }
        filters={<Filters filter={filter} onChange={setFilter} lines={lines ?? []} names={names} />}
        empty={<EmptyState title="Nothing to show" icon="scroll" />}
      />
    </Page>
  );
}
