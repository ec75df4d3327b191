import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/**
 * Loaded into a control plane by `--import`, also into its writer thread: counts the durable commits of the embedded store, and ends the
 * process by SIGKILL just before or just after those that the file `KILL_AT_COMMITS` names. The count is kept beside it and goes on after a
 * restart.
 */
export interface CommitKill {
  readonly at: number;
  readonly side: 'before' | 'after';
}

export const countFileOf = (file: string): string => `${file}.count`;

const file = process.env['KILL_AT_COMMITS'];

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal ends every thread; this one must not get any further.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}

if (file !== undefined) {
  const changes = new WeakMap<DatabaseSync, unknown>();
  const { prepare } = DatabaseSync.prototype;
  /** A transaction that changed nothing is no point. */
  const hasChanged = (db: DatabaseSync): boolean => {
    const total = prepare.call(db, 'SELECT total_changes() AS total').get()?.['total'];
    const before = changes.get(db);
    changes.set(db, total);
    return total !== before;
  };
  const counting = (db: DatabaseSync, commit: () => void): void => {
    if (!existsSync(file) || !hasChanged(db)) return commit();
    const counted = countFileOf(file);
    const count = (existsSync(counted) ? Number(readFileSync(counted, 'utf8')) : 0) + 1;
    writeFileSync(counted, String(count));
    const kills = JSON.parse(readFileSync(file, 'utf8')) as readonly CommitKill[];
    const side = kills.find(({ at }) => at === count)?.side;
    if (side === 'before') die();
    commit();
    if (side === 'after') die();
  };
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
    const statement = prepare.call(this, sql);
    if (sql !== 'COMMIT') return statement;
    const run = statement.run.bind(statement);
    statement.run = () => {
      let result: ReturnType<typeof run> | undefined;
      counting(this, () => {
        result = run();
      });
      return result ?? { changes: 0, lastInsertRowid: 0 };
    };
    return statement;
  };
}
