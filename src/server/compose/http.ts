import { Arrivals } from './arrivals.ts';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import type { Admission } from '../writes/admission.ts';
import { createApp } from '../api/app.ts';
import { bodyBudget } from '../api/body-budget.ts';
import { createDashboard } from '../api/dashboard.ts';
import { EventFeeds } from '../api/event-feed.ts';
import { FollowedLogs } from '../api/followed-logs.ts';
import { answerHistory } from '../api/routes/usage-history.ts';
import { createHealth } from '../api/health.ts';
import { addressList } from '../api/limits/address-group.ts';
import { configuredLimits, gaugeLimits } from '../api/limits/configured.ts';
import { openapiDocument } from '../api/openapi.ts';
import { addPeerPaths } from '../api/peer-paths.ts';
import { addPublicPaths, metricsRefusal, openMetricsRefusal } from '../api/public.ts';
import { RateLimiter } from '../api/rate-limit.ts';
import { HEADERS_TIMEOUT_MS } from '../api/refusals.ts';
import { baseUrlOf } from '../api/replies.ts';
import { apiRoutes } from '../api/routes/index.ts';
import type { SystemQuestions } from '../api/routes/system.ts';
import type { NodeName } from '../../core/model/ids.ts';
import type { LogFeed } from '../../core/contract/log-feed.ts';
import type { InfoLine } from '../own-log.ts';
import { optional } from '../../core/model/values.ts';
import { composeDiagnostics } from './diagnostics.ts';
import type { ApiOptions } from '../api/api-context.ts';
import { routeUpgrade } from '../api/sockets.ts';
import { TlsThreads } from '../api/tls-threads/tls-threads.ts';
import { followFile, reloadCertificate } from '../api/tls.ts';
import type { Config } from '../config.ts';
import { ConfigError } from '../config-values.ts';
import { tenantStanding } from '../figures/tenant-standing.ts';
import { VERSION } from '../version.ts';
import type { Background } from './background.ts';
import type { Base } from './base.ts';
import { quotaSources } from './quota-sources.ts';

function exemptAddresses({ limits: { connectionsExempt } }: Config): (address: string) => boolean {
  const isExempt = addressList(connectionsExempt);
  if (isExempt !== undefined) return isExempt;
  throw new ConfigError(
    `limits.connectionsExempt holds addresses and networks such as 10.0.0.0/8, not ${connectionsExempt.join(', ')}`,
  );
}

/** How much of the process a client may take. */
function composeShares({ config, store, cluster, metrics, log }: Base) {
  const shares = configuredLimits(
    {
      ...config.limits,
      streamsOf: (tenantId) => store.forTenant(tenantId).get('quota', 'quota')?.record.streams,
    },
    exemptAddresses(config),
    cluster.paths,
    log,
  );
  gaugeLimits(metrics, shares);
  return shares;
}

/** Undefined: TLS is done by the main thread, or by a proxy. */
function composeTlsThreads({ config, metrics, log, readFile }: Base, server: Server): TlsThreads | undefined {
  const { tls, host, port, limits } = config;
  if (tls === undefined || tls.threads === 0) return undefined;
  const settings = {
    threads: tls.threads,
    host,
    port,
    cert: readFile(tls.cert),
    key: readFile(tls.key),
    handshakeTimeoutMs: HEADERS_TIMEOUT_MS,
    sendTimeoutMs: limits.sendTimeoutMs,
  };
  const threads = new TlsThreads(settings, server, log);
  metrics.gauge('berth_tls_threads', 'Threads that do TLS; see tls.threads.', () => threads.running);
  metrics.counter(
    'berth_tls_thread_restarts_total',
    'Threads for TLS that ended and were replaced.',
    () => threads.restarts,
  );
  metrics.counter(
    'berth_tls_handshakes_failed_total',
    'TLS handshakes that failed, where threads do them.',
    () => threads.failedHandshakes,
  );
  return threads;
}

function composeRoutes(
  base: Base,
  { controllers, dispatch, baseUrl, anchors }: Background,
  admission: Admission,
  given: Pick<Parameters<typeof apiRoutes>[0], 'sessions' | 'questions' | 'eventFeeds'>,
) {
  const { config, clock, cluster, clusters, history, tallies, tokenKey } = base;
  const standing = {
    ...quotaSources(base, admission.storageQuota),
    tallies,
    runsControlPlane: (node: NodeName) => clusters.runsControlPlane(node),
  };
  return apiRoutes({
    admission,
    standings: (tenantId) => tenantStanding(standing, tenantId),
    tokenKey,
    ...given,
    dispatch,
    volumeLeaseMs: config.volumeLeaseMs,
    scalingViews: (tenantId, deployment) => cluster.scalingView(controllers, tenantId, deployment),
    histories: { own: history, others: (question) => cluster.history(question), now: () => clock.now() },
    joinAddress: ({ headers }) => {
      return { baseUrl: baseUrl(headers), ...optional('caDigest', anchors?.digest) };
    },
  });
}

interface HttpParts {
  /** False until the store has been read. */
  readonly ready: () => boolean;
  readonly feed: LogFeed;
  readonly line: InfoLine;
  readonly bootstrapToken: string | undefined;
}

/** Everything that is reached over HTTP. */
export function composeHttp(
  base: Base,
  background: Background,
  admission: Admission,
  { ready, feed, line, bootstrapToken }: HttpParts,
) {
  const { config, log, kv, heap, cluster, secrets, access, ids, metrics, auditFiles, readFile } = base;
  const { controllers, dispatch } = background;
  const shares = composeShares(base);
  const sessions = {
    ...config.sessions,
    ...optional('cell', config.cell),
    secure: config.tls !== undefined || config.baseUrl?.startsWith('https:') === true,
  };
  const dashboard = createDashboard();
  const health = createHealth({
    version: VERSION,
    store: () => kv.status(),
    secrets: () => secrets.store.status(),
    controllers: () => ({ ...controllers.status(), ...cluster.status() }),
  });
  const diagnostics = composeDiagnostics(base, background, { feed, bootstrapToken }, health);
  const questions: SystemQuestions = {
    self: cluster.id,
    nodeName: config.nodeName,
    ask: (question, member) =>
      member === undefined ? diagnostics.open(question) : cluster.askSystem(member, question),
  };
  const eventFeeds = new EventFeeds();
  const followedLogs = new FollowedLogs();
  const routes = followedLogs.of(
    composeRoutes(base, background, admission, { sessions, questions, eventFeeds }),
  );
  const limiter = new RateLimiter(config.rateLimit, access.clock);
  const api: ApiOptions = {
    access,
    sessions,
    page: dashboard.page,
    routes,
    limiter,
    limits: { ...config.limits, bodyBudget: bodyBudget(heap.limitBytes()), rate: config.rateLimit },
    ...shares,
    freshId: () => ids.request(),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.tls === undefined || config.tls.threads > 0
      ? {}
      : { https: { cert: readFile(config.tls.cert), key: readFile(config.tls.key) } }),
    log,
    line,
    metrics,
    onRefusal: (refusal) => auditFiles.refused(refusal),
    ready,
    ...cluster.forApi,
  };
  const app = createApp(api);
  // Streams of events have no end of their own: all other requests are waited for. Each has ended its answer a turn later, and its connection is idle.
  app.addHook('preClose', (done) => {
    eventFeeds.close();
    setImmediate(done);
  });
  const tlsThreads = composeTlsThreads(base, app.server);
  // As bytes, made for the first reader: those that take their time share them.
  let openapi: Buffer | undefined;
  addPublicPaths(app, {
    health,
    ready,
    metrics,
    metricsRefusal: (request) =>
      config.metricsOpen ? openMetricsRefusal(limiter, request) : metricsRefusal(access, limiter, request),
    refusals: api,
    openapi: () => (openapi ??= Buffer.from(JSON.stringify(openapiDocument(routes, VERSION)))),
    baseUrl: (request) => baseUrlOf(request, config.baseUrl),
  });
  dashboard.addPaths(app);
  const { measurements, history } = base;
  const { scalingView, copyAges } = controllers;
  const onProven = (socket: Socket): void => shares.connections.know(socket);
  addPeerPaths(
    app,
    cluster.endpoints({
      dispatch,
      measurements,
      scalingView,
      copyAges,
      onProven,
      history: (question) => answerHistory(history, question),
      openSystem: (question) => diagnostics.open(question),
    }),
    log,
  );
  const arrivals = new Arrivals(ready);
  app.server.on('upgrade', (request, socket, head) => {
    if (request.url?.startsWith('/api/') === true) routeUpgrade(app, request, socket, head);
    else arrivals.arrive(socket, () => cluster.admit(socket, () => dispatch.upgrade(request, socket, head)));
  });
  return { app, shares, tlsThreads, followedLogs };
}

/** Serves a renewed certificate, and announces it to agents and to the other control planes. Returns a stop function. */
export function followCertificate(
  { config, log, readFile, cluster }: Base,
  { anchors, dispatch }: Background,
  server: unknown,
): () => void {
  const tellAnchors = (): void => {
    if (anchors?.read() === true) dispatch.tellAnchors();
  };
  const { tls } = config;
  const stops = [config.baseUrlCertificate, tls?.next].map((file) => followFile(file, tellAnchors));
  if (tls !== undefined)
    stops.push(
      reloadCertificate(server as TlsServer, tls, readFile, log, async (certificate) => {
        tellAnchors();
        await cluster.renewed(certificate);
      }),
    );
  return () => {
    for (const stop of stops) stop();
  };
}
