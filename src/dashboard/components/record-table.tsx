import { type ReactNode, useMemo, useState } from 'react';
import { count } from '../lib/format.ts';
import { type Column, DataTable } from './data-table.tsx';
import { EmptyState } from './empty-state.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { Loading } from './loading.tsx';
import { Panel } from './page.tsx';
import { SearchBox } from './search-box.tsx';

/** All records of a list: what is being read, what went wrong, nothing, or a table that can be searched. */
export function RecordTable<Row>({
  label,
  one,
  rows,
  error,
  columns,
  rowKey,
  rowHeight,
  detail,
  textOf,
  filters,
  empty,
}: {
  readonly label: string;
  /** What one of them is called. */
  readonly one: string;
  readonly rows: readonly Row[] | undefined;
  readonly error: unknown;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly rowHeight?: number;
  /** On narrow screens, in place of the columns that are left out. */
  readonly detail?: (row: Row) => ReactNode;
  /** What a search covers. */
  readonly textOf: (row: Row) => string;
  /** Beside the search. */
  readonly filters?: ReactNode;
  readonly empty: ReactNode;
}) {
  const [wanted, setWanted] = useState('');
  const shown = useMemo(() => {
    const text = wanted.toLowerCase();
    return text === ''
      ? (rows ?? [])
      : (rows ?? []).filter((row) => textOf(row).toLowerCase().includes(text));
  }, [rows, wanted, textOf]);
  if (rows === undefined)
    return error === null ? (
      <Panel>
        <Loading lines={5} />
      </Panel>
    ) : (
      <ErrorNotice error={error} />
    );
  const isEmpty = rows.length === 0 && filters === undefined;
  return (
    <>
      {error === null ? null : <ErrorNotice error={error} />}
      {isEmpty ? null : (
        <div
          className={`flex flex-wrap items-center gap-3 ${filters === undefined ? 'justify-end' : 'justify-between'}`}
        >
          {filters === undefined ? null : <div className="flex flex-wrap items-center gap-2">{filters}</div>}
          <SearchBox label={`Find ${label.toLowerCase()}`} value={wanted} onChange={setWanted} />
        </div>
      )}
      <Panel flush>
        <DataTable
          label={label}
          rows={shown}
          columns={columns}
          rowKey={rowKey}
          {...(rowHeight === undefined ? {} : { rowHeight })}
          detail={detail}
          empty={wanted === '' ? empty : <EmptyState title="Nothing matches" icon="search" />}
        />
      </Panel>
      {isEmpty ? null : (
        <p className="text-xs text-muted" aria-live="polite">
          {count(shown.length, one)}
        </p>
      )}
    </>
  );
}
