import { optional } from '../../core/model/values.ts';
import type { Config } from '../config.ts';
import type { Kv } from './kv.ts';
import { beginSqliteKv } from './sqlite/sqlite-kv.ts';

export interface OpenedKv {
  readonly kv: Kv;
  /** Rejects when the live records are damaged. They can be read before; to be awaited before anything is served. */
  readonly live: Promise<void>;
  /** Has everything in it checked, the history included. Rejects when anything is damaged. */
  verify(): Promise<void>;
}

/** The etcd adapter is loaded only when it is used: the embedded default should not pay for its libraries. */
export async function openKv(
  config: Config['store'],
  dir: string,
  readFile: (path: string) => string,
  {
    timeoutMs,
    readAhead = false,
  }: {
    /** Deadline of every call to etcd; absent: what requests can wait for. */
    readonly timeoutMs?: number;
    /** All live records are going to be read. */
    readonly readAhead?: boolean;
  } = {},
): Promise<OpenedKv> {
  if (config.kind === 'sqlite') {
    const kv = await beginSqliteKv({ dir, readAhead });
    return { kv, live: kv.live, verify: kv.verify };
  }
  const { openEtcdKv } = await import('./etcd/open.ts');
  const password = config.passwordFile === undefined ? undefined : readFile(config.passwordFile).trim();
  const kv = await openEtcdKv({
    endpoints: config.endpoints,
    prefix: config.prefix,
    ...optional('timeoutMs', timeoutMs),
    ...(config.user === undefined || password === undefined ? {} : { auth: { user: config.user, password } }),
    ...(config.ca === undefined
      ? {}
      : {
          tls: {
            ca: Buffer.from(readFile(config.ca)),
            ...(config.cert === undefined ? {} : { cert: Buffer.from(readFile(config.cert)) }),
            ...(config.key === undefined ? {} : { key: Buffer.from(readFile(config.key)) }),
          },
        }),
  });
  return { kv, live: Promise.resolve(), verify: () => Promise.resolve() };
}
