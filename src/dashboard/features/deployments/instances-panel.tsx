import { Link } from '@tanstack/react-router';
import { Badge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { bytes, count } from '../../lib/format.ts';
import type { Deployment, Instance } from '../../lib/records.ts';
import { InstanceBadge } from './instance-badge.tsx';

function byNode(instances: readonly Instance[]): readonly (readonly [string, readonly Instance[]])[] {
  const nodes = new Map<string, Instance[]>();
  for (const instance of instances)
    nodes.set(instance.nodeId, [...(nodes.get(instance.nodeId) ?? []), instance]);
  return [...nodes].sort(([a], [b]) => (a < b ? -1 : 1));
}

function InstanceRow({ instance, specHash }: { readonly instance: Instance; readonly specHash: string }) {
  const {
    id,
    containerName,
    usage,
    restarts,
    reason,
    message,
    startedAt,
    ports = [],
    exitCode,
    address,
  } = instance;
  return (
    <li className="border-t px-4 py-2.5 first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="w-24 sm:w-28">
          <InstanceBadge instance={instance} />
        </span>
        <Link
          to={`/deployments/${instance.deployment}/instances/${id}`}
          className="min-w-0 flex-[1_1_8rem] truncate font-mono text-xs hover:underline"
          title={id}
        >
          {containerName ?? id}
          <span className="text-muted"> {containerName === undefined ? '' : id.slice(-8)}</span>
        </Link>
        {instance.canary ? <Badge tone="info">canary</Badge> : null}
        {instance.specHash === specHash ? null : <Badge>earlier version</Badge>}
        {address === undefined ? null : <span className="font-mono text-xs text-muted">{address}</span>}
        {ports.map(({ container, host }) => (
          <span key={container} className="font-mono text-xs text-muted">
            {host}→{container}
          </span>
        ))}
        {usage === undefined ? null : (
          <span className="text-xs text-muted tabular-nums">
            {usage.cpuPercent.toFixed(0)} % CPU · {bytes(usage.memoryBytes)}
          </span>
        )}
        {restarts === undefined || restarts === 0 ? null : (
          <span className="text-xs text-warn">{count(restarts, 'restart')}</span>
        )}
        <span className="text-right text-xs text-muted sm:w-20">
          {startedAt === undefined ? null : <TimeAgo time={startedAt} />}
        </span>
      </div>
      {message === undefined && reason === undefined ? null : (
        <p className="mt-1 text-xs text-muted">
          {reason === undefined ? null : <code className="mr-2 font-mono text-bad">{reason}</code>}
          {message}
          {exitCode === undefined ? null : ` (exit ${exitCode})`}
        </p>
      )}
    </li>
  );
}

/** Instances, node by node. */
export function InstancesPanel({
  deployment,
  instances,
}: {
  readonly deployment: Deployment;
  readonly instances: readonly Instance[];
}) {
  if (instances.length === 0)
    return (
      <Panel title="Instances">
        <EmptyState title="No instances" icon="box">
          <p>{deployment.replicas === 0 ? 'The deployment is stopped.' : deployment.status.message}</p>
        </EmptyState>
      </Panel>
    );
  const nodes = byNode(instances);
  return (
    <Panel
      flush
      title="Instances"
      note={`${count(instances.length, 'instance')} on ${count(nodes.length, 'node')}`}
    >
      {nodes.map(([node, placed]) => (
        <div key={node} className="border-b last:border-b-0">
          <h3 className="flex items-center gap-2 bg-sunken px-4 py-1.5 text-xs font-medium text-muted">
            <Icon name="server" className="size-3.5" />
            <Link to={`/nodes/${node}`} className="hover:text-ink hover:underline">
              {node}
            </Link>
            <span className="font-normal">{count(placed.length, 'instance')}</span>
          </h3>
          <ul>
            {placed.map((instance) => (
              <InstanceRow key={instance.id} instance={instance} specHash={deployment.specHash} />
            ))}
          </ul>
        </div>
      ))}
    </Panel>
  );
}
