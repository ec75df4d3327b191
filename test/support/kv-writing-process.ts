import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';

/** A process to be killed: 8 writers commit pairs of keys for ever, each acknowledged pair is printed. */
const [dir = '', run = ''] = process.argv.slice(2);
const kv = await openSqliteKv({ dir, ballastBytes: 0 });
process.stdout.write('open\n');

async function write(writer: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `${run}/${writer}/${i}`;
    const value = `${key} ${'x'.repeat(200)}`;
    const result = await kv.commit({
      guards: [{ key: `a/${key}`, modRevision: 0 }],
      puts: [
        { key: `a/${key}`, value },
        { key: `b/${key}`, value },
      ],
    });
    if (result.ok) process.stdout.write(`${key}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
