import { mkdirSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { DEFAULT_SECRET_POLICY } from '../core/model/secret-limits.ts';
import type { Limits } from '../core/rules/rule.ts';
import type { Admission } from './admission/admission.ts';
import { createApp } from './api/app.ts';
import { createHealth } from './api/health.ts';
import { Metrics } from './api/metrics.ts';
import { openapiDocument } from './api/openapi.ts';
import { baseUrlOfHeaders, caDigestOf } from './api/join-address.ts';
import { addPublicPaths } from './api/public.ts';
import { apiRoutes } from './api/routes/index.ts';
import { bootstrap, readOrCreateKey } from './bootstrap.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { createIds } from './ids.ts';
import { Journal } from './journal/journal.ts';
import { createImageCheck } from './registry/check.ts';
import { createRegistryCredentials } from './registry/credentials.ts';
import { createDialer } from './registry/dialer.ts';
import { openSecrets } from './secrets/open.ts';
import { SecretReferences } from './secrets/references.ts';
import { openKv } from './store/open.ts';
import { Store } from './store/store.ts';
import { StoreView } from './store/view.ts';
import { VERSION } from './version.ts';

export interface ServerInput {
  readonly config: Config;
  readonly log: Logger;
  readonly bootstrapToken: string | undefined;
  readonly readFile: (path: string) => string;
}

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  close(): Promise<void>;
}

function limitsOf(config: Config): Limits {
  return {
    maxReplicasPerDeployment: config.maxReplicasPerDeployment,
    reservedNames: config.reservedNames,
    secretPolicy: { ...DEFAULT_SECRET_POLICY, namespaces: config.secrets.namespaces },
    regions: config.regions,
    volumesEnabled: config.volumesEnabled,
  };
}

/** The composition root: the only file that builds and wires. */
export async function startServer({ config, log, bootstrapToken, readFile }: ServerInput): Promise<RunningServer> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const clock = systemClock;
  const ids = createIds(clock);
  const tokenKey = readOrCreateKey(config.tokenKeyFile);
  const kv = await openKv(config.store, join(config.dataDir, 'store'), readFile);
  const view = await StoreView.open(kv, { onProblem: (problem) => log.warn({ problem }, 'store view') });
  const store = new Store(kv, view);
  await bootstrap({ store, clock, ids, tokenKey, dataDir: config.dataDir, bootstrapToken, say: (message) => log.info(message) });

  const secrets = await openSecrets(config, kv, () => store.listGlobal('tenants').map(({ record }) => record.id), readFile);
  const limits = limitsOf(config);
  const access = { store, tokenKey, clock };
  const journal = new Journal(clock, ids);
  const credentials = createRegistryCredentials(secrets);
  const dialer = createDialer({ allowPrivate: config.registries.allowPrivate, insecure: config.registries.insecure });
  const admission: Admission = {
    store,
    clock,
    ids,
    journal,
    limits,
    imageCheck: createImageCheck({ dialer, credentials }),
    secrets: { store: secrets, references: new SecretReferences(view), policy: limits.secretPolicy },
    residency: { enforcement: config.residencyEnforcement, regions: config.regions },
    logAlteration: (line) => log.info(line, 'altered'),
  };

  const baseUrl = (headers: IncomingHttpHeaders): string => baseUrlOfHeaders(headers, config.baseUrl, config.tls !== undefined);
  const dispatch = new Dispatch({
    store,
    access,
    journal,
    secrets,
    credentials,
    regions: config.regions,
    timers: config.timers,
    acceptsPerSecond: config.sessionsPerSecond,
    baseUrl: (request) => baseUrl(request.headers),
    log,
  });

  const metrics = new Metrics();
  metrics.gauge('berth_agent_sessions', 'Agents connected to this process.', () => dispatch.sessions);
  const routes = apiRoutes({
    admission,
    tokenKey,
    dispatch,
    controlPlaneName: config.nodeName,
    joinAddress: ({ headers }) => {
      const caDigest = config.tls === undefined ? undefined : caDigestOf(readFile(config.tls.cert));
      return { baseUrl: baseUrl(headers), ...(caDigest === undefined ? {} : { caDigest }) };
    },
  });
  const app = createApp({
    access,
    routes,
    limits: { ...config.limits, rate: config.rateLimit },
    freshId: () => ids.next('request'),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.tls === undefined ? {} : { https: { cert: readFile(config.tls.cert), key: readFile(config.tls.key) } }),
    log,
    metrics,
  });
  const openapi = JSON.stringify(openapiDocument(routes, VERSION));
  addPublicPaths(app, {
    health: createHealth({ version: VERSION, store: () => kv.status(), secrets: () => secrets.status(), controllers: () => ({}) }),
    ready: () => true,
    metrics,
    openapi: () => openapi,
    baseUrl: (request) => config.baseUrl ?? `${request.protocol}://${request.headers.host ?? 'localhost'}`,
  });
  app.server.on('upgrade', (request, socket, head) => dispatch.upgrade(request, socket, head));
  await app.listen({ host: config.host, port: config.port });
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `${config.tls === undefined ? 'http' : 'https'}://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    store,
    close: async () => {
      dispatch.close();
      await app.close();
      view.close();
      dialer.close();
      await secrets.close();
      await kv.close();
    },
  };
}
