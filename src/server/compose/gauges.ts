import { family, type Sample } from '../figures/family.ts';
import { quotaFamilies } from '../figures/quota-figures.ts';
import { TenantFigures } from '../figures/tenant-figures.ts';
import { usageFamilies } from '../figures/usage-figures.ts';
import { VERSION } from '../version.ts';
import { certificateEnd } from '../own-certificate.ts';
import type { StorageQuota } from '../writes/storage-quota.ts';
import type { TenantEraser } from '../writes/tenants/erase-tenants.ts';
import type { Background } from './background.ts';
import type { Base } from './base.ts';
import { quotaSources } from './quota-sources.ts';

interface Others {
  readonly eraser: TenantEraser;
  readonly storageQuota: StorageQuota;
  readonly ready: () => boolean;
}

/** Figures that are read on each scrape: of this process, and of the tenants that it decides for. */
export function addGauges(base: Base, background: Background, others: Others): void {
  addProcessGauges(base, background, others);
  addStoreGauges(base);
  addTrafficGauges(base, background);
  addMeshGauges(base.metrics, background.dispatch);
  const { metrics, store, tallies, cluster, clusters, measurements } = base;
  const { owns } = cluster.forControllers;
  const { dispatch } = background;
  const tenants = new TenantFigures({
    store,
    tallies,
    owns,
    runsControlPlane: (node) => clusters.runsControlPlane(node),
    seen: (tenantId, volumeId, node) => dispatch.volumeSeen(tenantId, volumeId, node),
  });
  const quotas = quotaFamilies(quotaSources(base, others.storageQuota), owns);
  const families = [...tenants.families(), ...quotas, ...usageFamilies(store, () => measurements.usage())];
  for (const one of families) metrics.family(one);
}

function addProcessGauges(
  { config, metrics, cluster, brake, readFile }: Base,
  { controllers, dispatch }: Background,
  { eraser, ready }: Others,
): void {
  metrics.family(
    family({
      name: 'berth_build_info',
      help: '1, with the version of this control plane.',
      labels: ['version', 'node_version', 'store'],
      read: () => [[{ version: VERSION, node_version: process.version, store: config.store.kind }, 1]],
    }),
  );
  metrics.gauge('berth_ready', '1 once the store was read and requests are answered.', () =>
    ready() ? 1 : 0,
  );
  metrics.family(
    family({
      name: 'berth_controller_queue_depth',
      help: 'Records queued for reconciliation, by controller.',
      labels: ['controller'],
      read: () =>
        controllers.depths().map(([controller, depth]): Sample<'controller'> => [{ controller }, depth]),
    }),
  );
  for (const { name, help, type, read } of cluster.gauges)
    if (type === 'counter') metrics.counter(name, help, read);
    else metrics.gauge(name, help, read);
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
  metrics.counter(
    'berth_node_streams_refused_total',
    'Streams refused because a budget of their node was used up.',
    () => dispatch.streamsRefused,
  );
  const { tls } = config;
  if (tls !== undefined)
    metrics.gauge(
      'berth_tls_certificate_expiry_timestamp_seconds',
      'When the certificate ends that this control plane serves.',
      // Not a number while the file cannot be read: no rule compares with that.
      () => (certificateEnd(() => readFile(tls.cert))?.getTime() ?? Number.NaN) / 1000,
    );
}

function addStoreGauges({ config, metrics, kv, tallies, log }: Base): void {
  for (const [measure, help] of [
    ['records', 'Records that the view holds in memory, by kind.'],
    ['bytes', 'Bytes of those records, by kind.'],
  ] as const)
    metrics.family(
      family({
        name: `berth_store_${measure}`,
        help,
        labels: ['kind'],
        read: () => [...tallies.sizes()].map(([kind, size]): Sample<'kind'> => [{ kind }, size[measure]]),
      }),
    );
  // Asked for and not waited for: a store that does not answer must not keep the other figures back.
  let known: number | undefined;
  let isAsked = false;
  const ask = async (): Promise<void> => {
    if (isAsked) return;
    isAsked = true;
    known = await kv.fileBytes?.().catch((error: unknown) => {
      log.debug({ err: error }, 'the size of the store could not be read');
      return undefined;
    });
    isAsked = false;
  };
  metrics.family(
    family({
      name: 'berth_store_file_bytes',
      help: 'What the store takes on disk, as of the scrape before; of etcd, its largest member.',
      labels: ['store'],
      read: () => {
        void ask();
        return known === undefined ? [] : [[{ store: config.store.kind }, known]];
      },
    }),
  );
  void ask();
}

function addTrafficGauges({ metrics }: Base, { dispatch: { ingressTraffic } }: Background): void {
  metrics.family(
    family({
      name: 'berth_ingress_requests_total',
      help: 'Requests through the ingress since this process began, of nodes connected to it, by deployment and hundred of the answer.',
      type: 'counter',
      labels: ['tenant', 'deployment', 'code'],
      read: () => ingressTraffic.answers(),
    }),
  );
  metrics.family(
    family({
      name: 'berth_ingress_request_seconds_total',
      help: 'Time that these requests took, in all.',
      type: 'counter',
      labels: ['tenant', 'deployment'],
      read: () => ingressTraffic.seconds(),
    }),
  );
}

function addMeshGauges(metrics: Base['metrics'], dispatch: Background['dispatch']): void {
  const { meshRelay } = dispatch;
  type Row = readonly [name: string, help: string, read: () => number];
  const gauges: readonly Row[] = [
    ['relay_connections', 'Nodes connected to the relay of this process.', () => meshRelay.connections],
    [
      'paths_direct',
      'Ways between nodes that are direct, as agents connected here see them.',
      () => dispatch.meshPaths.direct,
    ],
    ['paths_relayed', 'Ways that go through the relay.', () => dispatch.meshPaths.relay],
    ['paths_silent', 'Ways that carry nothing.', () => dispatch.meshPaths.silent],
  ];
  const counters: readonly Row[] = [
    ['relay_packets', 'Packets that the relay passed on.', () => meshRelay.counters.packets],
    ['relay_bytes', 'Bytes of those packets.', () => meshRelay.counters.bytes],
    [
      'relay_dropped',
      'Packets for a node that does not take them fast enough.',
      () => meshRelay.counters.dropped,
    ],
    [
      'relay_paused',
      'Times a node was not read from, because its tenant had sent network.relayBytesPerSecond.',
      () => meshRelay.counters.paused,
    ],
  ];
  for (const [name, help, read] of gauges) metrics.gauge(`berth_mesh_${name}`, help, read);
  for (const [name, help, read] of counters) metrics.counter(`berth_mesh_${name}_total`, help, read);
}
