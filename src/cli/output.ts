import { nearest } from '../core/schema/nearest.ts';
import { OUTPUT_FORMATS, type OutputFormat, type WholeFormat } from './command.ts';
import type { OptionValues } from './option-values.ts';
import { usage } from './failure.ts';
import { EXPRESSION_FORMATS, expressionOf } from './formats/expression.ts';
import { tableText } from './table.ts';
import type { Terminal } from './terminal.ts';

/** How a kind of record is shown in a list. */
export interface Column<T = object> {
  readonly header: string;
  cell(record: T, now: number): string;
  /** Where the cell leads to, on terminals that have links. */
  link?(record: T): string | undefined;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
}

export interface Listing<T = object> {
  readonly columns: readonly Column<T>[];
  /** `-o name`. */
  nameOf(record: T): string;
  /** Its page in the dashboard, which its first column leads to. */
  pageOf?(record: T): string | undefined;
}

export function outputFormat(options: OptionValues): OutputFormat {
  const text = options.text('output') ?? 'table';
  const format = OUTPUT_FORMATS.find((one) => one === text) ?? expressionOf(text);
  if (format !== undefined) return format;
  const near = nearest(text, OUTPUT_FORMATS);
  throw usage(`unknown output format ${text}${near === undefined ? '' : `; did you mean ${near}?`}`, [
    `-o takes: ${[...OUTPUT_FORMATS, ...EXPRESSION_FORMATS].join(', ')}`,
  ]);
}

export function isWhole(format: OutputFormat): format is WholeFormat {
  return typeof format === 'object' || format === 'json' || format === 'yaml';
}

/** Fields as the control plane sent them, for programs. */
export async function structuredText(format: WholeFormat, value: unknown): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  if (format !== 'yaml')
    return format
      .lines(value)
      .map((line) => `${line}\n`)
      .join('');
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0 });
}

export function listText<T>(
  terminal: Terminal,
  listing: Listing<T>,
  records: readonly T[],
  format: 'table' | 'wide',
  now: number,
): string {
  const columns = listing.columns.filter((column) => format === 'wide' || column.wide !== true);
  return tableText(
    columns.map((column) => column.header),
    // No escape of a record passes, not even a colour: it would go on in the next cell.
    records.map((record) => columns.map((column) => column.cell(record, now).replaceAll('\u001B', '\uFFFD'))),
    terminal.style,
    terminal.live && format === 'table' ? terminal.columns : undefined,
    (row, at) => {
      const record = records[row];
      if (record === undefined) return undefined;
      return at === 0 ? (columns[0]?.link ?? listing.pageOf)?.(record) : columns[at]?.link?.(record);
    },
  );
}

export async function printList<T>(
  terminal: Terminal,
  listing: Listing<T>,
  records: readonly T[],
  format: OutputFormat,
  now: number,
): Promise<void> {
  if (isWhole(format)) {
    terminal.out(await structuredText(format, records));
    return;
  }
  switch (format) {
    case 'name':
      for (const record of records) terminal.out(`${listing.nameOf(record)}\n`);
      return;
    case 'table':
    case 'wide':
      terminal.out(listText(terminal, listing, records, format, now));
  }
}

/** Whole, for programs; false: a person asked, and is to be told in another form. */
export async function printWhole(
  terminal: Terminal,
  format: OutputFormat,
  record: unknown,
): Promise<boolean> {
  if (!isWhole(format)) return false;
  terminal.out(await structuredText(format, record));
  return true;
}

/** One record: whole for programs, as a row for people. */
export async function printRecord<T>(
  terminal: Terminal,
  listing: Listing<T>,
  record: T,
  format: OutputFormat,
  now: number,
): Promise<void> {
  if (await printWhole(terminal, format, record)) return;
  await printList(terminal, listing, [record], format, now);
}
