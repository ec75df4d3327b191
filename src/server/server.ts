import { mkdirSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Server as TlsServer } from 'node:tls';
import type { Logger } from 'pino';
import { DEFAULT_SECRET_POLICY } from '../core/model/secret-limits.ts';
import { defaultStock } from '../core/model/quota.ts';
import type { Limits } from '../core/rules/rule.ts';
import type { NodeName } from '../core/model/ids.ts';
import { type Admission, specHash } from './admission/admission.ts';
import { type AccessDependencies, ProvenTokens } from './access/authenticate.ts';
import { ArchiveTrim } from './admission/archive-trim.ts';
import { Room } from './admission/room.ts';
import { TenantEraser } from './admission/erase-tenants.ts';
import { createApp } from './api/app.ts';
import { bodyBudget } from './api/body-budget.ts';
import { createDashboard } from './api/dashboard.ts';
import { createHealth } from './api/health.ts';
import { Metrics } from './api/metrics.ts';
import { openapiDocument } from './api/openapi.ts';
import { baseUrlOfHeaders, caDigestOf } from './api/join-address.ts';
import { addressList } from './api/limits/address-group.ts';
import { configuredLimits, gaugeLimits } from './api/limits/configured.ts';
import { addPeerPaths } from './api/peer-paths.ts';
import { addPublicPaths, metricsRefusal } from './api/public.ts';
import type { ApiOptions } from './api/served.ts';
import { reloadCertificate } from './api/tls.ts';
import { TlsAnchors } from './api/tls-anchors.ts';
import { apiRoutes } from './api/routes/index.ts';
import { bootstrap, readOrCreateKey } from './bootstrap.ts';
import { systemClock } from './clock.ts';
import { type Config, ConfigError, rootKeyPlace } from './config.ts';
import { parseSchedule } from './cron.ts';
import { createControllers, systemTimers } from './controllers/index.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { LeaseDesk } from './dispatch/lease-desk.ts';
import { OpenedStore } from './dispatch/opened-store.ts';
import { createIds } from './ids.ts';
import { MemoryBrake, processHeap } from './memory-brake.ts';
import { AuditFiles } from './journal/audit-files.ts';
import { Journal } from './journal/journal.ts';
import { Measurements } from './runtime/measurements.ts';
import { TenantClusters } from './placement/tenant-clusters.ts';
import { createImageCheck } from './registry/check.ts';
import { createRegistryCredentials } from './registry/credentials.ts';
import { createDialer } from './registry/dialer.ts';
import { credentialOf, CredentialWrites } from './secrets/credential-writes.ts';
import { openSecrets } from './secrets/open.ts';
import { SecretReferences } from './secrets/references.ts';
import { openKv } from './store/open.ts';
import { Store } from './store/store.ts';
import { StoreView } from './store/view.ts';
import { followStoredIds } from './stored-ids.ts';
import { PeerEndpoint } from './cluster/peer-endpoint.ts';
import { PEER_QUESTION_PATH, PEER_STREAM_PATH } from './cluster/peer-words.ts';
import { Several } from './cluster/several.ts';
import { agreeOnRootKey, agreeOnTokenKey, hasRootKey } from './cluster/shared-keys.ts';
import { requireHeap, untilDone } from './startup.ts';
import { VERSION } from './version.ts';

/** What is still being answered has this long when the process stops. */
const LAST_REQUESTS_MS = 5000;

export interface ServerInput {
  readonly config: Config;
  readonly log: Logger;
  readonly bootstrapToken: string | undefined;
  readonly readFile: (path: string) => string;
  /** Ends the wait for a store that is away. */
  readonly signal?: AbortSignal;
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

function exemptAddresses({ limits: { connectionsExempt } }: Config): (address: string) => boolean {
  const isExempt = addressList(connectionsExempt);
  if (isExempt !== undefined) return isExempt;
  throw new ConfigError(
    `limits.connectionsExempt holds addresses and networks such as 10.0.0.0/8, not ${connectionsExempt.join(', ')}`,
  );
}

/** The composition root: the only file that builds and wires. */
export async function startServer({
  config,
  log,
  bootstrapToken,
  readFile,
  signal = new AbortController().signal,
}: ServerInput): Promise<RunningServer> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const clock = systemClock;
  const ids = createIds(clock);
  const tokenKey = readOrCreateKey(config.tokenKeyFile);
  const { kv, sound } = await openKv(config.store, join(config.dataDir, 'store'), readFile);
  const heap = processHeap();
  const brake = new MemoryBrake(heap, config.limits.heapShare);
  const view = new StoreView(kv, {
    onProblem: (problem) => log.warn({ problem }, 'store view'),
    onPage: (read) => requireHeap(kv, brake, read),
  });
  const store = new Store(kv, view);
  const several =
    config.store.kind === 'sqlite'
      ? undefined
      : new Several({
          store,
          clock,
          tokenKey,
          leaseMs: config.timers.controlPlaneLeaseMs,
          log: (problem, details) => log.warn(details, problem),
          say: (news, details) => log.info(details, news),
        });
  const secrets = await openSecrets({
    config,
    kv,
    tenantIds: () => store.listGlobal('tenants').map(({ record }) => record.id),
    readFile,
    say: (details, message) => log.info(details, message),
    warn: (details, message) => log.warn(details, message),
    ...(several && { onNewRootKey: (ids) => agreeOnRootKey(kv, ids, rootKeyPlace(config.rootKey)) }),
  });
  const limits = limitsOf(config);
  const access: AccessDependencies = { store, tokenKey, clock, proven: new ProvenTokens() };
  const credentials = createRegistryCredentials(
    secrets.store,
    (tenantId, path) => credentialOf(store.forTenant(tenantId), path)?.record,
  );
  const references = new SecretReferences(view);
  const credentialWrites = new CredentialWrites(
    secrets.store,
    several?.id,
    (process) => store.getGlobal('control-planes', process) !== undefined,
  );
  const dialer = createDialer({
    allowPrivate: config.registries.allowPrivate,
    insecure: config.registries.insecure,
  });
  const clusters = new TenantClusters(store, {
    controlPlaneNode: config.nodeName as NodeName,
    regions: config.regions,
    residencyEnforcement: config.residencyEnforcement,
    residencyUnstated: config.residencyUnstated,
    defaultRequest: config.quotas.defaultRequest,
  });
  const journal = new Journal(clock, ids);
  const auditFiles = new AuditFiles(config.audit.dir, log);
  const metrics = new Metrics();
  const shares = configuredLimits(
    {
      ...config.limits,
      streamsOf: (tenantId) => store.forTenant(tenantId).get('quota', 'quota')?.record.streams,
    },
    exemptAddresses(config),
    several === undefined ? [] : [PEER_STREAM_PATH, PEER_QUESTION_PATH],
    log,
  );
  gaugeLimits(metrics, shares);
  const leases = several === undefined && config.volumesEnabled ? new LeaseDesk(clock, log) : undefined;
  const measurements = new Measurements(async (...asked) => (await several?.peers.usage(...asked)) ?? []);
  const controllers = createControllers({
    store: several?.controllersStore ?? store,
    clock,
    timers: systemTimers,
    ids,
    journal,
    clusters,
    hashSpec: specHash,
    owns: several === undefined ? () => true : (tenantId) => several.shards?.owns(tenantId) === true,
    ...(several && {
      controlPlane: several.id,
      certain: () => several.certain,
      agesElsewhere: (tenantId, node) => several.copyAges(tenantId, node),
    }),
    metrics: metrics.controllers(),
    log: (problem, details) => log.warn(details, problem),
    controlPlaneNode: config.nodeName as NodeName,
    parseSchedule,
    spans: config.timers,
    eventsKept: config.events,
    audit: {
      keepDays: config.audit.keepDays,
      export: (tenantId, records) => auditFiles.export(tenantId, records),
    },
    regions: config.regions,
    unstated: config.residencyUnstated,
    volumeLeaseMs: config.volumeLeaseMs,
    ...(leases && { repeatedLeases: leases }),
    scaling: {
      measured: (tenantId, nodes) => measurements.of(tenantId, nodes),
      intervalMs: config.timers.usageMs,
      maxReplicas: config.maxReplicasPerDeployment,
    },
  });
  const eraser = new TenantEraser({
    store,
    secrets: secrets.store,
    journal,
    clock,
    warn: (details, message) => log.warn(details, message),
  });
  const admission: Admission = {
    store,
    room: new Room({
      store,
      defaults: defaultStock(config.quotas, heap.limitBytes()),
      brake,
      archiveTrim: new ArchiveTrim(store, journal),
    }),
    eraser,
    clock,
    ids,
    journal,
    clusters,
    limits,
    containerDefaults: config.containerDefaults,
    parseSchedule,
    imageCheck: createImageCheck({ dialer, credentials }),
    secrets: { store: secrets.store, references, policy: limits.secretPolicy, writes: credentialWrites },
    residency: {
      enforcement: config.residencyEnforcement,
      regions: config.regions,
      unstated: config.residencyUnstated,
    },
    logAlteration: (line) => log.info(line, 'altered'),
  };

  let ready = false;
  let opened: OpenedStore | undefined;
  const baseUrl = (headers: IncomingHttpHeaders): string =>
    baseUrlOfHeaders(headers, config.baseUrl, config.tls !== undefined);
  const anchors = config.tls && new TlsAnchors(config.tls, readFile, log);
  const dispatch = new Dispatch({
    store,
    access,
    journal,
    material: {
      secrets: secrets.store,
      references,
      writes: credentialWrites,
      policy: limits.secretPolicy,
    },
    credentials,
    liveness: controllers.liveness,
    measurements,
    ...(several && { others: several.peers }),
    volumeSigns: controllers.volumeSigns,
    ...(leases && { leases }),
    opened: () => opened,
    regions: config.regions,
    containerDefaults: config.containerDefaults,
    timers: config.timers,
    acceptsPerSecond: config.sessionsPerSecond,
    credentialMs: config.credentialMs,
    ...(anchors && { anchors: () => anchors.keys }),
    baseUrl: (request) => baseUrl(request.headers),
    log,
  });

  metrics.gauge('berth_controller_queue_depth', 'Deployments that wait to be looked at.', () =>
    controllers.depth(),
  );
  if (several !== undefined) {
    metrics.gauge(
      'berth_shards_held',
      'Shards of tenants that this process decides for.',
      () => several.shards?.count ?? 0,
    );
    metrics.gauge(
      'berth_shard_writes_refused',
      'Writes of controllers that the store refused because their shard had moved.',
      () => several.controllersStore.refused,
    );
  }
  metrics.gauge(
    'berth_heap_share',
    'What lives in the heap, as a share of its limit; see limits.heapShare.',
    () => brake.share,
  );
  metrics.gauge('berth_tenant_erasures', 'Deleted tenants of which something is left.', () => eraser.waiting);
  metrics.gauge(
    'berth_audit_records',
    'Lines of the audit in the store, as counted every ten minutes.',
    () => controllers.auditSize().records,
  );
  metrics.gauge('berth_audit_bytes', 'Bytes of those lines.', () => controllers.auditSize().bytes);
  metrics.gauge('berth_agent_sessions', 'Agents connected to this process.', () => dispatch.sessions);
  metrics.gauge('berth_node_streams', 'Streams that agents serve for this process.', () => dispatch.streams);
  metrics.gauge(
    'berth_node_streams_refused',
    'Streams refused because a budget of their node was used up.',
    () => dispatch.streamsRefused,
  );
  const sessions = {
    ...config.sessions,
    secure: config.tls !== undefined || config.baseUrl?.startsWith('https:') === true,
  };
  const dashboard = createDashboard();
  const routes = apiRoutes({
    admission,
    tokenKey,
    sessions,
    dispatch,
    volumeLeaseMs: config.volumeLeaseMs,
    scalingViews: (tenantId, deployment) =>
      several === undefined || several.shards?.owns(tenantId) === true
        ? controllers.scalingView(tenantId, deployment)
        : several.scalingView(tenantId, deployment),
    joinAddress: ({ headers }) => {
      const caDigest = config.tls === undefined ? undefined : caDigestOf(readFile(config.tls.cert));
      return { baseUrl: baseUrl(headers), ...(caDigest === undefined ? {} : { caDigest }) };
    },
  });
  const api: ApiOptions = {
    access,
    sessions,
    page: dashboard.page,
    routes,
    limits: { ...config.limits, bodyBudget: bodyBudget(heap.limitBytes()), rate: config.rateLimit },
    ...shares,
    freshId: () => ids.request(),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.tls === undefined
      ? {}
      : { https: { cert: readFile(config.tls.cert), key: readFile(config.tls.key) } }),
    log,
    metrics,
    onRefusal: (refusal) => auditFiles.refused(refusal),
    ready: () => ready,
    ...(several && { fresh: () => several.barrier.pass() }),
  };
  const app = createApp(api);
  // As bytes: readers that take their time share them.
  const openapi = Buffer.from(JSON.stringify(openapiDocument(routes, VERSION)));
  addPublicPaths(app, {
    health: createHealth({
      version: VERSION,
      store: () => kv.status(),
      secrets: () => secrets.store.status(),
      controllers: () => ({ ...controllers.status(), ...(several && { shards: several.status() }) }),
    }),
    ready: () => ready,
    metrics,
    ...(config.metricsOpen ? {} : { mayReadMetrics: (header) => metricsRefusal(access, header) }),
    refusals: api,
    openapi: () => openapi,
    baseUrl: (request) => config.baseUrl ?? `${request.protocol}://${request.headers.host ?? 'localhost'}`,
  });
  dashboard.addPaths(app);
  app.server.on('upgrade', (request, socket, head) => {
    if (ready && several !== undefined) {
      // The token may have been given out by another control plane a moment ago.
      socket.on('error', () => socket.destroy());
      void several.barrier.pass().then(() => dispatch.upgrade(request, socket, head));
    } else if (ready) dispatch.upgrade(request, socket, head);
    else socket.end('HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n');
  });
  if (several !== undefined) {
    const endpoint = new PeerEndpoint({
      proofs: several.proofs,
      dispatch,
      measurements,
      scalingView: controllers.scalingView,
      copyAges: controllers.copyAges,
      storeAnswers: async () => (await kv.status()).connected,
      onProven: (socket) => shares.connections.know(socket),
    });
    addPeerPaths(
      app,
      {
        [PEER_STREAM_PATH]: (...asked) => endpoint.stream(...asked),
        [PEER_QUESTION_PATH]: (...asked) => endpoint.question(...asked),
      },
      log,
    );
  }
  await app.listen({ host: config.host, port: config.port });
  await leases?.start({ host: config.host, port: config.volumeLeasePort });
  const stopReloading =
    config.tls === undefined
      ? () => undefined
      : reloadCertificate(
          app.server as unknown as TlsServer,
          config.tls,
          readFile,
          log,
          async (certificate) => {
            if (anchors?.read() === true) dispatch.tellAnchors();
            await several?.renewed(certificate);
          },
          () => {
            if (anchors?.read() === true) dispatch.tellAnchors();
          },
        );
  const loaded = untilDone(
    async () => {
      await view.load();
      await followStoredIds(store, ids);
      if (several === undefined) opened ??= new OpenedStore(store);
      if (several !== undefined) await agreeOnTokenKey(kv, tokenKey, config.tokenKeyFile);
      await bootstrap({
        store,
        clock,
        ids,
        tokenKey,
        dataDir: config.dataDir,
        bootstrapToken,
        say: (message) => log.info(message),
      });
      // What another process stored first is to be seen here before anything is served.
      if (several !== undefined && !(await several.barrier.pass()))
        throw new Error('the store does not answer');
      await eraser.eraseAll();
      await secrets.prepare(several === undefined || !(await hasRootKey(kv)));
      if (several !== undefined) await agreeOnRootKey(kv, secrets.rootKeyIds(), rootKeyPlace(config.rootKey));
    },
    (problem) => log.warn({ problem }, 'waiting for the store'),
    signal,
  );
  // A damaged store ends the start, however often reading it is tried.
  await Promise.all([sound, loaded]);
  const { port } = app.server.address() as AddressInfo;
  if (several !== undefined) {
    await untilDone(
      () =>
        several.join(
          {
            nodeName: config.nodeName,
            version: VERSION,
            host: config.host,
            port,
            ...(config.advertiseUrl === undefined ? {} : { advertiseUrl: config.advertiseUrl }),
            ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
            ...(config.tls === undefined ? {} : { certificate: readFile(config.tls.cert) }),
          },
          () => dispatch.release(),
        ),
      (problem) => log.warn({ problem }, 'waiting for the store'),
      signal,
    );
  }
  await controllers.start();
  eraser.start();
  several?.shards?.start(controllers);
  ready = true;
  return {
    url: `${config.tls === undefined ? 'http' : 'https'}://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    store,
    close: async () => {
      heap.close();
      stopReloading();
      dispatch.close();
      shares.connections.close();
      await leases?.end();
      await eraser.stop();
      const served = app.close();
      // Node looks for silent connections no more once it stops: they would hold the end up.
      const cut = setTimeout(() => app.server.closeAllConnections(), LAST_REQUESTS_MS);
      // Before the last requests have ended: others decide for its tenants at once.
      await controllers.stop();
      await several?.leave();
      await served;
      clearTimeout(cut);
      clusters.close();
      view.close();
      dialer.close();
      await secrets.store.close();
      await auditFiles.close();
      await kv.close();
    },
  };
}
