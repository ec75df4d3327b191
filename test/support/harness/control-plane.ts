import { mkdtemp, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/server/config.ts';
import { type OwnLog, ownLog } from '../../../src/server/own-log.ts';
import { startServer } from '../../../src/server/server.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { assertDocumented } from '../answer-judge.ts';
import { BOOTSTRAP, type Caller, callerTo } from './caller.ts';

export { BOOTSTRAP, type Answer, type Caller } from './caller.ts';

export interface ControlPlane {
  readonly url: string;
  readonly store: Store;
  readonly admin: Caller;
  readonly log: OwnLog['log'];
  readonly feed: OwnLog['feed'];
  as(token: string): Caller;
  /** A new tenant with an administrator. */
  tenant(slug: string): Promise<{ readonly id: string; readonly call: Caller; readonly token: string }>;
  close(): Promise<void>;
}

/** A real control plane in this process: embedded store in a temporary folder, a free port. */
export async function startControlPlane(
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<ControlPlane> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-'));
  const config = loadConfig(
    ['--data-dir', dataDir, '--listen', '127.0.0.1:0', '--log-level', 'silent', ...flags],
    // Registries of tests listen on free ports.
    {
      BERTH_SESSIONS_SIGN_INS_PER_MINUTE: '100000',
      BERTH_REGISTRIES_ALLOW_PRIVATE: '127.0.0.1:*,localhost:*',
      ...environment,
    },
  );
  const own = ownLog(config.logLevel, { write: () => undefined });
  const server = await startServer({
    config,
    ...own,
    bootstrapToken: BOOTSTRAP,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const as = (token: string): Caller => callerTo(() => server.url, token, assertDocumented);
  const admin = as(BOOTSTRAP);
  return {
    url: server.url,
    store: server.store,
    ...own,
    admin,
    as,
    tenant: async (slug) => {
      const { body } = await admin('POST', '/api/v1/tenants', { slug });
      const made = await admin(
        'POST',
        '/api/v1/tokens',
        { name: 'admin', role: 'tenant-admin' },
        { 'x-tenant-id': slug },
      );
      return { id: body.id as string, call: as(made.body.token as string), token: made.body.token as string };
    },
    close: async () => {
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
