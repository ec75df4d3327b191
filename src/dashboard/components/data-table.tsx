import { type ReactNode, useMemo, useRef, useState } from 'react';
import { reasonFirst } from '../lib/reason-first.ts';
import { Icon } from './icon.tsx';
import { useNarrow } from './use-narrow.ts';
import { useRowWindow } from './use-window.ts';

declare module 'react' {
  interface CSSProperties {
    /** Of a column. */
    '--width'?: string;
  }
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The column can be sorted by it. */
  readonly sortBy?: (row: Row) => string | number;
  /** CSS width; a share holds on wide screens only. One column without any takes the rest. */
  readonly width?: string;
  /** Left out on narrow screens. */
  readonly wide?: boolean;
  readonly align?: 'right';
  /** On narrow screens below the others: a row of buttons leaves a name no room. */
  readonly below?: boolean;
}

/** What a record says of itself, the reason first; takes the rest of the width. */
export const MESSAGE_COLUMN: Column<{ readonly status: { readonly message: string } }> = {
  title: 'Message',
  wide: true,
  cell: ({ status }) => (
    <span className="line-clamp-2 text-xs whitespace-normal text-muted" title={status.message}>
      {reasonFirst(status.message)}
    </span>
  ),
};

const DETAILED_HEIGHT = 62;
/** Up to so many, rows on a narrow screen are as high as their content: nothing of them is cut. */
const MOST_OF_OWN_HEIGHT = 200;

interface Sorting {
  readonly column: number;
  readonly isDown: boolean;
}

/** Made once: thousands of names are compared with it. */
const NAMES = new Intl.Collator('en', { numeric: true });

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return NAMES.compare(String(a), String(b));
}

function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const sortBy = sorting && columns[sorting.column]?.sortBy;
  if (sortBy === undefined) return rows;
  const sign = sorting?.isDown ? -1 : 1;
  return rows
    .map((row) => ({ row, by: sortBy(row) }))
    .sort((a, b) => sign * compare(a.by, b.by))
    .map(({ row }) => row);
}

/**
 * A table of any length: only the rows in view are drawn. All rows have one height; what does not fit is cut, and the
 * page of the record shows it whole. A short one on a narrow screen is drawn whole, each row as high as its content.
 */
export function DataTable<Row>({
  label,
  rows,
  columns,
  rowKey,
  rowHeight: wideHeight = 42,
  detail,
  empty,
  height = 'calc(100dvh - 13rem)',
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly rowHeight?: number;
  /** On narrow screens a second line of the row, in place of the columns that are left out. */
  readonly detail?: ((row: Row) => ReactNode) | undefined;
  readonly empty?: ReactNode;
  /** The most that the table takes before it scrolls. */
  readonly height?: string;
}) {
  const isNarrow = useNarrow();
  const isDetailed = isNarrow && detail !== undefined;
  const isWhole = isDetailed && rows.length <= MOST_OF_OWN_HEIGHT;
  const rowHeight = isDetailed ? DETAILED_HEIGHT : wideHeight;
  const scroller = useRef<HTMLDivElement>(null);
  const [sorting, setSorting] = useState<Sorting>();
  const ordered = useMemo(() => sorted(rows, columns, sorting), [rows, columns, sorting]);
  const inView = useRowWindow(scroller, rowHeight, ordered.length);
  const { first, last, above, below } = isWhole
    ? { first: 0, last: ordered.length, above: 0, below: 0 }
    : inView;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  // What is laid out as blocks is no table to the browser any more.
  const roleOf = (role: string) => (isWhole ? role : undefined);
  const wide = (column: Column<Row>) => (column.wide ? 'hidden lg:table-cell' : '');
  const width = (column: Column<Row>) => (column.width?.endsWith('%') ? 'lg:w-(--width)' : 'w-(--width)');
  return (
    <section
      ref={scroller}
      aria-label={label}
      // A region that scrolls must be reachable for those who scroll with keys.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="relative overflow-auto rounded-lg"
      style={isWhole ? undefined : { maxHeight: height }}
    >
      <table
        role={roleOf('table')}
        className={`text-left ${isWhole ? 'block' : 'w-full table-fixed border-separate border-spacing-0'}`}
        aria-rowcount={rows.length + 1}
      >
        <thead role={roleOf('rowgroup')} className={isWhole ? 'block' : 'sticky top-0 z-10'}>
          <tr
            role={roleOf('row')}
            aria-rowindex={1}
            className={isWhole ? 'flex justify-between gap-x-3 border-b px-4 py-2' : ''}
          >
            {columns.map((column, at) => {
              const isSorted = sorting?.column === at;
              return (
                <th
                  key={column.title}
                  scope="col"
                  role={roleOf('columnheader')}
                  aria-sort={isSorted ? (sorting.isDown ? 'descending' : 'ascending') : undefined}
                  style={column.width === undefined ? undefined : { '--width': column.width }}
                  className={`${isWhole ? '' : 'border-b bg-surface px-4 py-2'} text-xs wrap-normal font-medium text-muted ${column.align === 'right' ? 'text-right' : ''} ${wide(column)} ${isWhole ? '' : width(column)}`}
                >
                  {column.sortBy === undefined ? (
                    column.title
                  ) : (
                    <button
                      type="button"
                      className={`inline-flex items-center gap-1 hover:text-ink ${column.align === 'right' ? 'flex-row-reverse' : 'text-left'}`}
                      onClick={() => setSorting({ column: at, isDown: isSorted ? !sorting.isDown : false })}
                    >
                      {column.title}
                      <span
                        className={isSorted ? (sorting.isDown ? 'rotate-90' : '-rotate-90') : 'invisible'}
                      >
                        <Icon name="chevron" className="size-3" />
                      </span>
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody role={roleOf('rowgroup')} className={isWhole ? 'block' : ''}>
          {above === 0 ? null : <tr aria-hidden="true" style={{ height: above }} />}
          {ordered.slice(first, last).map((row, at) => (
            <tr
              key={rowKey(row)}
              role={roleOf('row')}
              aria-rowindex={first + at + 2}
              style={isWhole ? undefined : { height: rowHeight }}
              className={`group relative hover:bg-hover ${isWhole ? 'flex flex-wrap items-center justify-between gap-x-3 border-b px-4 py-2.5 last:border-b-0' : ''}`}
            >
              {columns.map((column, place) => (
                <td
                  key={column.title}
                  role={roleOf('cell')}
                  className={`${isWhole ? (place === 0 ? 'min-w-0 flex-1' : column.below === true ? 'order-last mt-2 basis-full' : '') : `truncate border-b px-4 group-last:border-b-0 ${isDetailed ? 'pb-6' : ''}`} ${column.align === 'right' ? 'text-right' : ''} ${wide(column)}`}
                >
                  {/* What is not seen is not drawn: a cell may ask for what it shows. */}
                  {isNarrow && column.wide === true ? null : column.cell(row)}
                  {isDetailed && !isWhole && place === 0 ? (
                    <div className="absolute inset-x-4 bottom-2 truncate text-xs text-muted">
                      {detail(row)}
                    </div>
                  ) : null}
                </td>
              ))}
              {isWhole ? (
                <td role="cell" className="mt-1 basis-full text-xs text-muted">
                  {detail(row)}
                </td>
              ) : null}
            </tr>
          ))}
          {below === 0 ? null : <tr aria-hidden="true" style={{ height: below }} />}
        </tbody>
      </table>
    </section>
  );
}
