import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import type { TenantEraser } from '../writes/tenants/erase-tenants.ts';
import type { Background } from './background.ts';
import type { Base } from './base.ts';

/** Hosts are tenants' own words: their number is bounded. */
const MAX_CERTIFICATES = 1_000;

function certificates(store: Store, clock: Clock) {
  const nowMs = clock.now().getTime();
  const seconds = new Map<string, readonly [{ readonly tenant: string; readonly host: string }, number]>();
  for (const tenantId of store.view.tenantIds()) {
    const tenant = store.getGlobal('tenants', tenantId)?.record.slug ?? tenantId;
    for (const { record } of store.forTenant(tenantId).list('ingress-reports'))
      for (const { host = '', certificate } of record.routes) {
        const left = Math.round((Date.parse(certificate?.notAfter ?? '') - nowMs) / 1000);
        const key = `${tenantId} ${host}`;
        if (Number.isFinite(left) && left < (seconds.get(key)?.[1] ?? Infinity))
          seconds.set(key, [{ tenant, host }, left]);
      }
  }
  return [...seconds.values()].sort((a, b) => a[1] - b[1]).slice(0, MAX_CERTIFICATES);
}

/** Figures of the process, read on each scrape. */
export function addGauges(
  { metrics, cluster, brake, store, clock }: Base,
  { controllers, dispatch }: Background,
  eraser: TenantEraser,
): void {
  metrics.gauge('berth_controller_queue_depth', 'Deployments queued for reconciliation.', () =>
    controllers.depth(),
  );
  for (const { name, help, read } of cluster.gauges) metrics.gauge(name, help, read);
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
  metrics.series(
    'berth_ingress_certificate_seconds',
    `How long certificates of ingress hosts are still good for; of at most ${MAX_CERTIFICATES}, those that end first.`,
    ['tenant', 'host'],
    () => certificates(store, clock),
  );
  const { ingressTraffic } = dispatch;
  metrics.series(
    'berth_ingress_requests',
    'Requests through the ingress since this process began, of nodes connected to it, by deployment and hundred of the answer.',
    ['tenant', 'deployment', 'code'],
    () => ingressTraffic.answers(),
  );
  metrics.series(
    'berth_ingress_request_seconds',
    'Time that these requests took, in all.',
    ['tenant', 'deployment'],
    () => ingressTraffic.seconds(),
  );
  metrics.gauge('berth_agent_sessions', 'Agents connected to this process.', () => dispatch.sessions);
  metrics.gauge('berth_node_streams', 'Streams that agents serve for this process.', () => dispatch.streams);
  metrics.gauge(
    'berth_node_streams_refused',
    'Streams refused because a budget of their node was used up.',
    () => dispatch.streamsRefused,
  );
  addMeshGauges(metrics, dispatch);
}

function addMeshGauges(metrics: Base['metrics'], dispatch: Background['dispatch']): void {
  const { meshRelay } = dispatch;
  const rows: readonly (readonly [name: string, help: string, read: () => number])[] = [
    ['relay_connections', 'Nodes connected to the relay of this process.', () => meshRelay.connections],
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
    [
      'paths_direct',
      'Ways between nodes that are direct, as agents connected here see them.',
      () => dispatch.meshPaths.direct,
    ],
    ['paths_relayed', 'Ways that go through the relay.', () => dispatch.meshPaths.relay],
    ['paths_silent', 'Ways that carry nothing.', () => dispatch.meshPaths.silent],
  ];
  for (const [name, help, read] of rows) metrics.gauge(`berth_mesh_${name}`, help, read);
}
