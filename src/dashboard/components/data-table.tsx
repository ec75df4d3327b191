import { memo, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { reasonFirst } from '../lib/reason-first.ts';
import { Icon } from './icon.tsx';
import { useNarrow } from './use-narrow.ts';
import { usePlaces, useRowWindow } from './use-window.ts';

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

/** How the rows of a table are laid out: on a wide screen, cut to one height, or whole. */
interface Layout {
  readonly isNarrow: boolean;
  readonly isDetailed: boolean;
  readonly isWhole: boolean;
}

// What is laid out as blocks is no table to the browser any more.
const roleIn = ({ isWhole }: Layout, role: string) => (isWhole ? role : undefined);
const wideClass = ({ wide }: { readonly wide?: boolean }) => (wide === true ? 'hidden lg:table-cell' : '');

function cellClass<Row>(column: Column<Row>, place: number, { isWhole, isDetailed }: Layout): string {
  const whole = place === 0 ? 'min-w-0 flex-1' : column.below === true ? 'order-last mt-2 basis-full' : '';
  const own = isWhole ? whole : `truncate border-b px-4 group-last:border-b-0 ${isDetailed ? 'pb-6' : ''}`;
  return `${own} ${column.align === 'right' ? 'text-right' : ''} ${wideClass(column)}`;
}

/** What is drawn of a record. Methods: a row is drawn by those of its own table and by no other. */
interface Drawing<Row> {
  cell(row: Row, place: number): ReactNode;
  /** On narrow screens. */
  detail(row: Row): ReactNode;
}

interface RowProps {
  readonly row: unknown;
  /** Of the record. */
  readonly id: string;
  readonly index: number;
  readonly columns: readonly { readonly title: string; readonly wide?: boolean }[];
  /** Of its cells, by column. */
  readonly classes: readonly string[];
  readonly layout: Layout;
  readonly height: number;
  readonly drawing: Drawing<unknown>;
}

/** Rows that stay in view are not drawn again while others come and go. */
const TableRow = memo(function TableRow({
  row,
  id,
  index,
  columns,
  classes,
  layout,
  height,
  drawing,
}: RowProps) {
  const { isNarrow, isDetailed, isWhole } = layout;
  const own = useRef<HTMLTableRowElement>(null);
  // Drawn for another record it must not keep the focus: a key would be meant for the one before.
  // Not when the effect of that one is undone: React gives back afterwards what lost the focus while it changed the page.
  const drawnFor = useRef(id);
  useLayoutEffect(() => {
    if (drawnFor.current === id) return;
    drawnFor.current = id;
    const { activeElement: focused } = document;
    if (focused instanceof HTMLElement && own.current?.contains(focused) === true) focused.blur();
  }, [id]);
  const look = isWhole
    ? 'relative flex flex-wrap items-center justify-between gap-x-3 border-b px-4 py-2.5 last:border-b-0'
    : isDetailed
      ? 'relative'
      : '';
  return (
    <tr
      ref={own}
      role={roleIn(layout, 'row')}
      aria-rowindex={index + 2}
      style={isWhole ? undefined : { height }}
      className={`group hover:bg-hover ${look}`}
    >
      {columns.map((column, place) => (
        <td key={column.title} role={roleIn(layout, 'cell')} className={classes[place]}>
          {/* What is not seen is not drawn: a cell may ask for what it shows. */}
          {isNarrow && column.wide === true ? null : drawing.cell(row, place)}
          {isDetailed && !isWhole && place === 0 ? (
            <div className="absolute inset-x-4 bottom-2 truncate text-xs text-muted">
              {drawing.detail(row)}
            </div>
          ) : null}
        </td>
      ))}
      {isWhole ? (
        <td role="cell" className="mt-1 basis-full text-xs text-muted">
          {drawing.detail(row)}
        </td>
      ) : null}
    </tr>
  );
});

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
  isPlain = false,
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
  /** Its cells keep nothing of their own between two records, so that a row which scrolls away is drawn over with the next one. */
  readonly isPlain?: boolean;
}) {
  const isNarrow = useNarrow();
  const isDetailed = isNarrow && detail !== undefined;
  const isWhole = isDetailed && rows.length <= MOST_OF_OWN_HEIGHT;
  const rowHeight = isDetailed ? DETAILED_HEIGHT : wideHeight;
  const [sorting, setSorting] = useState<Sorting>();
  const ordered = useMemo(() => sorted(rows, columns, sorting), [rows, columns, sorting]);
  const { scroller, inView } = useRowWindow(rowHeight, ordered.length);
  const { first, last, above, below } = isWhole
    ? { first: 0, last: ordered.length, above: 0, below: 0 }
    : inView;
  const drawn = ordered.slice(first, last);
  const places = usePlaces(drawn.map(rowKey));
  const layout = useMemo(() => ({ isNarrow, isDetailed, isWhole }), [isNarrow, isDetailed, isWhole]);
  const classes = useMemo(
    () => columns.map((column, place) => cellClass(column, place, layout)),
    [columns, layout],
  );
  const drawing = useMemo<Drawing<Row>>(
    () => ({
      cell: (row, place) => columns[place]?.cell(row),
      detail: (row) => detail?.(row),
    }),
    [columns, detail],
  );
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const roleOf = (role: string) => roleIn(layout, role);
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
                  className={`${isWhole ? '' : 'border-b bg-surface px-4 py-2'} text-xs wrap-normal font-medium text-muted ${column.align === 'right' ? 'text-right' : ''} ${wideClass(column)} ${isWhole ? '' : width(column)}`}
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
          {drawn.map((row, at) => {
            const id = rowKey(row);
            return (
              <TableRow
                key={isPlain ? places.get(id) : id}
                row={row}
                id={id}
                index={first + at}
                columns={columns}
                classes={classes}
                layout={layout}
                height={rowHeight}
                drawing={drawing}
              />
            );
          })}
          {below === 0 ? null : <tr aria-hidden="true" style={{ height: below }} />}
        </tbody>
      </table>
    </section>
  );
}
