/**
 * A client that inserts one row after the other into a PostgreSQL that may move between nodes, and remembers which were acknowledged.
 *
 *     const rows = new AckedRows(find, password);
 *     const { lost, longestMs } = await rows.stop();
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const PSQL = '/usr/lib/postgresql/15/bin/psql';
const AGAIN_MS = 50;

/** How to run a program that reaches the database where it is now; undefined: it is nowhere. */
export type Reach = () => Promise<
  | {
      readonly address: string;
      readonly command: (line: readonly string[]) => readonly [string, readonly string[]];
    }
  | undefined
>;

export class AckedRows {
  readonly acked: number[] = [];
  /** Between two acknowledged rows, at the longest. */
  longestMs = 0;
  readonly #find: Reach;
  readonly #password: string;
  #over = false;
  #next = 1;
  #lastMs = 0;
  readonly #done: Promise<void>;

  constructor(find: Reach, password: string) {
    this.#find = find;
    this.#password = password;
    this.#done = this.#run();
  }

  /** From here on the longest pause is measured anew. */
  lap(): void {
    this.longestMs = 0;
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#done;
  }

  /** Of what was acknowledged, what the database does not have. */
  async lost(): Promise<readonly number[]> {
    // Those that are acknowledged meanwhile may come after what is read.
    const acked = [...this.acked];
    const client = await this.#open();
    if (client === undefined) throw new Error('the database is nowhere');
    const lines: string[] = [];
    createInterface(client.stdout).on('line', (line) => lines.push(line));
    const closed = new Promise((resolve) => client.on('close', resolve));
    client.stdin.end('select n from rows;\n');
    await closed;
    const there = new Set(lines.map(Number));
    return acked.filter((row) => !there.has(row));
  }

  async #open(): Promise<ChildProcessWithoutNullStreams | undefined> {
    const at = await this.#find().catch(() => undefined);
    if (at === undefined) return undefined;
    const line = [
      PSQL,
      '-XqAt',
      '-v',
      'ON_ERROR_STOP=1',
      '-h',
      at.address,
      '-U',
      'postgres',
      '-d',
      'postgres',
    ];
    const [command, args] = at.command(line);
    const client = spawn(command, [...args], {
      env: { ...process.env, PGPASSWORD: this.#password, PGCONNECT_TIMEOUT: '2' },
    });
    client.stderr.resume();
    client.stdin.on('error', () => undefined);
    return client;
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      const client = await this.#open();
      if (client !== undefined) await this.#insert(client);
      await pause(AGAIN_MS);
    }
  }

  /** Until the connection ends. A row counts when the server has said that it is committed. */
  async #insert(client: ChildProcessWithoutNullStreams): Promise<void> {
    const send = () => {
      if (this.#over) client.stdin.end();
      else client.stdin.write(`insert into rows values (${this.#next}) returning n;\n`);
    };
    createInterface(client.stdout).on('line', (line) => {
      const row = Number(line);
      if (!Number.isInteger(row)) return;
      const now = performance.now();
      if (this.#lastMs > 0) this.longestMs = Math.max(this.longestMs, now - this.#lastMs);
      this.#lastMs = now;
      this.acked.push(row);
      this.#next += 1;
      send();
    });
    client.stdin.write('create table if not exists rows (n bigint);\n');
    send();
    await new Promise((resolve) => client.on('close', resolve));
    // It may have been committed without the answer having arrived: the next one is another row.
    this.#next += 1;
  }
}
