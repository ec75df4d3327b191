import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { LogFeed } from '../core/contract/log-feed.ts';
import { makeFolder } from '../shared/folders.ts';
import { bootstrap } from './bootstrap.ts';
import { composeAdmission } from './compose/admission.ts';
import { composeBackground } from './compose/background.ts';
import { composeBase } from './compose/base.ts';
import { addGauges } from './compose/gauges.ts';
import { composeHttp, followCertificate } from './compose/http.ts';
import type { TlsThreads } from './api/tls-threads/tls-threads.ts';
import type { Config } from './config.ts';
import { OwnCertificate } from './own-certificate.ts';
import { FormatKeeper } from './format-keeper.ts';
import { collectLoaded } from './start-garbage.ts';
import { requireTls, requireWholeStore, untilDone } from './startup.ts';
import type { Store } from './store/store.ts';
import { followStoredIds } from './stored-ids.ts';
import type { InfoLine } from './own-log.ts';
import { VERSION } from './version.ts';

/** What is still being answered has this long when the process stops. */
const LAST_REQUESTS_MS = 5000;
const LAST_REQUESTS_CHECK_MS = 50;
/** The first moments belong to who waited for this process: requests, agents, controllers. */
const VERIFY_AFTER_MS = 2000;

export interface ServerInput {
  readonly config: Config;
  readonly log: Logger;
  /** That log, as others read it. */
  readonly feed: LogFeed;
  readonly line: InfoLine;
  readonly bootstrapToken: string | undefined;
  readonly readFile: (path: string) => string;
  /** Ends the wait for a store that is away. */
  readonly signal?: AbortSignal;
}

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  /** Resolves when the store is one that this release cannot work with any more: it must stop. */
  readonly outdated: Promise<Error>;
  close(): Promise<void>;
}

/** Before the store is read: who asks learns that it starts. */
async function listen(
  app: FastifyInstance,
  threads: TlsThreads | undefined,
  { host, port }: Config,
): Promise<number> {
  if (threads !== undefined) {
    await app.ready();
    return await threads.listen();
  }
  await app.listen({ host, port });
  return (app.server.address() as AddressInfo).port;
}

/** The composition root: what is built, in which order it starts, and in which it ends. */
export async function startServer({
  config,
  log,
  feed,
  line,
  bootstrapToken,
  readFile,
  signal = new AbortController().signal,
}: ServerInput): Promise<RunningServer> {
  requireTls(config, readFile);
  makeFolder(config.dataDir, '--data-dir');
  const base = await composeBase(config, log, readFile);
  const { kv, live, format, view, store, cluster, secrets, clock, ids, tokenKey } = base;
  const background = composeBackground(base);
  const { controllers, dispatch, leases } = background;
  const admission = composeAdmission(base, controllers);
  let ready = false;
  addGauges(base, background, { ...admission, ready: () => ready });
  const { app, shares, tlsThreads, followedLogs } = composeHttp(base, background, admission, {
    ready: () => ready,
    feed,
    line,
    bootstrapToken,
  });

  const waiting = (problem: string): void => log.warn({ problem }, 'waiting for the store');
  const load = async (): Promise<void> => {
    await requireWholeStore(kv);
    await format.open(kv);
    await view.load();
    await Promise.all([followStoredIds(store, ids), cluster.opened()]);
    const { dataDir } = config;
    const say = (message: string): void => log.info(message);
    await bootstrap({ store, clock, ids, tokenKey, dataDir, bootstrapToken, say });
    // The view has to include what another process stored before anything is served.
    await cluster.caughtUp();
    await admission.eraser.eraseAll();
    await secrets.prepare(await cluster.mayMakeRootKey());
    await cluster.agreeOnRootKey(secrets.rootKeyIds());
  };
  const port = await listen(app, tlsThreads, config);
  const stopReloading = followCertificate(base, background, tlsThreads ?? app.server);
  // A damaged store aborts startup; retrying the load does not help.
  await Promise.all([live, untilDone(load, waiting, signal)]);
  const { nodeName, host, advertiseUrl, baseUrl, tls } = config;
  const address = {
    nodeName,
    version: VERSION,
    host,
    port,
    ...(advertiseUrl === undefined ? {} : { advertiseUrl }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(tls === undefined ? {} : { certificate: readFile(tls.cert) }),
  };
  const formats = new FormatKeeper(base);
  const listener = {
    onIsolated: () => dispatch.release(),
    onLeaseLost: () => dispatch.endSilentSessions(),
    onRefused: (error: Error) => formats.refused(error),
  };
  await untilDone(() => cluster.join(address, listener), waiting, signal);
  collectLoaded();
  await controllers.start();
  admission.eraser.start();
  cluster.start(controllers);
  formats.start();
  await base.history.start();
  const certificate = tls && new OwnCertificate({ ...base, nodeName, read: () => readFile(tls.cert) });
  certificate?.start();
  ready = true;
  const verification = setTimeout(base.verifyRest, VERIFY_AFTER_MS);

  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    store,
    outdated: formats.outdated,
    close: async () => {
      clearTimeout(verification);
      base.heap.close();
      formats.stop();
      stopReloading();
      certificate?.stop();
      // Before the sessions of agents: a reader would take their end for that of what it reads.
      followedLogs.close();
      dispatch.close();
      shares.connections.close();
      await leases?.end();
      await admission.eraser.stop();
      const served = Promise.all([app.close(), tlsThreads?.end()]);
      // Node looks for silent connections no more once it stops: they would hold the end up, as would those whose last answer is taken after that.
      const idle = setInterval(() => app.server.closeIdleConnections(), LAST_REQUESTS_CHECK_MS);
      const cut = setTimeout(() => app.server.closeAllConnections(), LAST_REQUESTS_MS);
      // Before the last requests have ended: others decide for its tenants at once.
      await controllers.stop();
      await cluster.leave();
      await served;
      clearTimeout(cut);
      clearInterval(idle);
      await tlsThreads?.close();
      await base.history.close();
      base.clusters.close();
      view.close();
      base.dialer.close();
      base.hooksDialer.close();
      await secrets.store.close();
      await base.auditFiles.close();
      await kv.close();
    },
  };
}
