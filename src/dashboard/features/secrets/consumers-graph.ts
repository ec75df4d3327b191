import type { SecretSource } from './readers.ts';

export const ROW_PX = 34;

export interface Point {
  readonly name: string;
  readonly row: number;
}

export interface Graph {
  readonly paths: readonly (Point & { readonly exists: boolean })[];
  readonly readers: readonly Point[];
  readonly lines: readonly { readonly from: number; readonly to: number; readonly exists: boolean }[];
  readonly rows: number;
}

/** Paths at the left, who reads them at the right; each reader near the middle of what it reads. */
export function graphOf(sources: readonly SecretSource[]): Graph {
  const paths = sources.map(({ path, exists }, row) => ({ name: path, exists, row }));
  const rowsOf = new Map<string, number[]>();
  for (const [row, { readers }] of sources.entries())
    for (const reader of readers) rowsOf.set(reader, [...(rowsOf.get(reader) ?? []), row]);
  const middle = (rows: readonly number[]) => rows.reduce((sum, row) => sum + row, 0) / rows.length;
  const ordered = [...rowsOf].sort(
    ([a, rowsA], [b, rowsB]) => middle(rowsA) - middle(rowsB) || (a < b ? -1 : 1),
  );
  const readers = ordered.map(([name], row) => ({ name, row }));
  const lines = ordered.flatMap(([, rows], to) =>
    rows.map((from) => ({ from, to, exists: paths[from]?.exists ?? false })),
  );
  return { paths, readers, lines, rows: Math.max(paths.length, readers.length) };
}
