import type { IncomingHttpHeaders } from 'node:http';
import { nodeName } from '../../core/model/ids.ts';
import { optional } from '../../core/model/values.ts';
import { specHash } from '../writes/admission.ts';
import { baseUrlOfHeaders } from '../api/join-address.ts';
import { TlsAnchors } from '../api/tls-anchors.ts';
import { createControllers, systemTimers } from '../reconcile/index.ts';
import { parseSchedule } from '../cron.ts';
import { Dispatch } from '../agents/dispatch.ts';
import { instanceCommands } from '../agents/streams/instance-commands.ts';
import { LeaseRepeater } from '../agents/volumes/lease-repeater.ts';
import type { Config } from '../config.ts';
import { credentialOf } from '../secrets/credential-writes.ts';
import { createPost } from '../webhooks/post.ts';
import type { Base } from './base.ts';

function composeControllers(
  base: Base,
  leases: LeaseRepeater | undefined,
  agents: { readonly dispatch: Dispatch },
) {
  const { config, log, clock, ids, journal, clusters, auditFiles, measurements } = base;
  const metrics = base.metrics.controllers();
  return createControllers({
    ...base.cluster.forControllers,
    clock,
    timers: systemTimers,
    ids,
    journal,
    clusters,
    hashSpec: specHash,
    metrics: {
      ...metrics,
      reconciled: (controller, seconds) => {
        metrics.reconciled(controller, seconds);
        if (log.isLevelEnabled('debug')) log.debug({ controller, ms: seconds * 1000 }, 'reconciled');
      },
    },
    log: (problem, details) => log.warn(details, problem),
    controlPlaneNode: nodeName(config.nodeName),
    parseSchedule,
    instanceCommands: instanceCommands(() => agents.dispatch),
    spans: config.timers,
    eventsKept: config.events,
    audit: {
      keepDays: config.audit.keepDays,
      export: (tenantId, records) => auditFiles.export(tenantId, records),
    },
    regions: config.regions,
    unstated: config.residencyUnstated,
    volumeLeaseMs: config.volumeLeaseMs,
    volumeLastCopyMs: config.volumeLastCopyMs,
    network: config.network,
    ...(leases && { repeatedLeases: leases }),
    webhooks: {
      post: createPost({
        dialer: base.hooksDialer,
        secrets: base.secrets.store,
        credential: (tenantId, path) => credentialOf(base.store.forTenant(tenantId), path)?.record,
        namespaces: config.secrets.namespaces,
        nowMs: () => clock.now().getTime(),
      }),
      counted: base.metrics.webhooks(),
    },
    scaling: {
      measured: (tenantId, nodes) => measurements.of(tenantId, nodes),
      intervalMs: config.timers.usageMs,
      maxReplicas: config.maxReplicasPerDeployment,
    },
  });
}

function acmeOf({ acme: { directory, email, ca } }: Config, readFile: (path: string) => string) {
  return {
    directory,
    ...(email !== undefined && { email }),
    ...(ca !== undefined && { caPem: readFile(ca) }),
  };
}

/** By what agents know this control plane; undefined: there is no TLS of which it knows. */
function composeAnchors({ config, readFile, log }: Base): TlsAnchors | undefined {
  const { tls, cell, baseUrlCertificate: front } = config;
  if (tls === undefined && front === undefined) return undefined;
  return new TlsAnchors({ ...tls, ...optional('front', front) }, cell !== undefined, readFile, log);
}

/** What works without a request: controllers, and the sessions with agents, which meet in `runtime` and in the store. */
export function composeBackground(base: Base) {
  const { config, log, cluster, store, access, journal, secrets, credentials, measurements } = base;
  const leases =
    cluster.repeatsLeases && config.volumesEnabled
      ? new LeaseRepeater(base.view, { host: config.host, port: config.volumeLeasePort }, base.clock, log)
      : undefined;
  // Each needs the other: a controller asks agents once both have started.
  const controllers = composeControllers(base, leases, {
    get dispatch() {
      return dispatch;
    },
  });
  const anchors = composeAnchors(base);
  const baseUrl = (headers: IncomingHttpHeaders): string =>
    baseUrlOfHeaders(headers, config.baseUrl, config.tls !== undefined);
  const dispatch: Dispatch = new Dispatch({
    store,
    access,
    journal,
    material: { secrets: secrets.store, ...base.material },
    credentials,
    liveness: controllers.liveness,
    volumeSigns: controllers.volumeSigns,
    measurements,
    ...cluster.forDispatch,
    ...(leases && { leases }),
    lineage: () => cluster.storeLineage(),
    regions: config.regions,
    containerDefaults: config.containerDefaults,
    keptImages: config.keptImages,
    acme: acmeOf(config, base.readFile),
    network: config.network,
    timers: config.timers,
    acceptsPerSecond: config.sessionsPerSecond,
    credentialMs: config.credentialMs,
    ...(anchors && { anchors: () => anchors.keys }),
    baseUrl: (request) => baseUrl(request.headers),
    log,
  });
  return { leases, controllers, dispatch, anchors, baseUrl };
}

export type Background = ReturnType<typeof composeBackground>;
