import type { Config } from '../config.ts';
import type { Kv } from './kv.ts';
import { openSqliteKv } from './sqlite/sqlite-kv.ts';

/** The etcd adapter is loaded only when it is used: the embedded default should not pay for its libraries. */
export async function openKv(
  config: Config['store'],
  dir: string,
  readFile: (path: string) => string,
): Promise<Kv> {
  if (config.kind === 'sqlite') return openSqliteKv({ dir });
  const { openEtcdKv } = await import('./etcd/open.ts');
  const password = config.passwordFile === undefined ? undefined : readFile(config.passwordFile).trim();
  return openEtcdKv({
    endpoints: config.endpoints,
    prefix: config.prefix,
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
}
