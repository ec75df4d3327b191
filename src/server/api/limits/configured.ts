import type { Logger } from 'pino';
import type { TenantId } from '../../../core/model/ids.ts';
import type { Metrics } from '../metrics.ts';
import { Connections } from './connections.ts';
import { StreamCounts } from './streams.ts';
import { UnreadAnswers } from './unread.ts';

export interface ConfiguredLimits {
  readonly connections: Connections;
  readonly streams: StreamCounts;
  readonly unread: UnreadAnswers;
}

/** As in the configuration. */
interface LimitSettings {
  readonly streamsPerToken: number;
  readonly streamsPerTenant: number;
  readonly connectionsPerAddress: number;
  readonly reservedDescriptors: number;
  readonly unreadBytesPerToken: number;
  readonly unreadBytesPerTenant: number;
  readonly sendTimeoutMs: number;
  /** Of a tenant whose quota says it. */
  readonly streamsOf?: (tenantId: TenantId) => number | undefined;
}

/** What anybody may take of this process. */
export function configuredLimits(
  limits: LimitSettings,
  isExempt: (address: string) => boolean,
  peerPaths: readonly string[],
  log: Logger,
): ConfiguredLimits {
  const connections = new Connections(
    { perAddress: limits.connectionsPerAddress, isExempt, reserved: limits.reservedDescriptors },
    log,
    peerPaths,
  );
  const streams = new StreamCounts({
    perToken: limits.streamsPerToken,
    perTenant: (tenantId) =>
      Math.min(
        limits.streamsOf?.(tenantId) ?? limits.streamsPerTenant,
        Math.floor(connections.descriptors.forRequests / 2),
      ),
  });
  const unread = new UnreadAnswers({
    bytesPerToken: limits.unreadBytesPerToken,
    bytesPerTenant: limits.unreadBytesPerTenant,
    sendTimeoutMs: limits.sendTimeoutMs,
  });
  return { connections, streams, unread };
}

/** How near each limit is, and what it refused. */
export function gaugeLimits(metrics: Metrics, { connections, streams, unread }: ConfiguredLimits): void {
  const { descriptors } = connections;
  metrics.gauge('berth_connections', 'Connections to this process.', () => connections.count);
  metrics.counter(
    'berth_connections_refused_total',
    'Connections and requests refused for the number of connections.',
    () => connections.refused,
  );
  metrics.gauge('berth_descriptors_used', 'Descriptors in use, as estimated.', () => descriptors.used);
  metrics.gauge(
    'berth_descriptors_for_requests',
    'Descriptors that requests may take; the rest is reserved or used otherwise.',
    () => descriptors.forRequests,
  );
  metrics.gauge('berth_streams', 'Event streams, logs and commands under way.', () => streams.open);
  metrics.counter('berth_streams_refused_total', 'Streams refused for their number.', () => streams.refused);
  metrics.gauge('berth_unread_bytes', 'Bytes of answers that readers have not taken.', () => unread.bytes);
  metrics.counter(
    'berth_unread_refused_total',
    'Requests refused for answers that were not read.',
    () => unread.refused,
  );
  metrics.counter(
    'berth_unread_ended_total',
    'Connections closed because their answer was not read.',
    () => unread.ended,
  );
}
