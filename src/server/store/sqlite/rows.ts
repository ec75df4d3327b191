import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';

/** A statement whose rows are arrays: less to make than objects, for what is read often. */
export function prepareRows(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

/** The columns of such a row, in the order of the statement. What each of them is, its decoder looks at. */
export function cellsOf(row: object): readonly SQLOutputValue[] {
  if (!Array.isArray(row)) throw new TypeError('the statement answers with objects');
  return row;
}
