import { useMemo } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useAddress, useParam } from '../../app/address.ts';
import { shortId } from '../../../core/model/instance-name.ts';
import { meshStanding } from '../../../core/contract/mesh-standing.ts';
import { portRangesText } from '../../../core/model/port-ranges.ts';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { EventList } from '../../components/event-list.tsx';
import { Facts, Labels } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Meter } from '../../components/meter.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { bytes, cores } from '../../lib/format.ts';
import type { Deployment, Node } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { InstanceBadge } from '../deployments/instance-badge.tsx';
import { HistoryCharts } from '../history/history-charts.tsx';
import { NodeActions } from './node-actions.tsx';
import { type Container, useContainers, useNode, useNodeEvents } from './node-queries.ts';
import { NodeBadge } from './node-status.tsx';

type Placed = Deployment['status']['instances'][number] & { readonly deployment: string };

const PLACED_COLUMNS: readonly Column<Placed>[] = [
  {
    title: 'Instance',
    width: '40%',
    sortBy: ({ deployment }) => deployment,
    cell: ({ deployment, id }) => (
      <>
        <RowLink to={`/deployments/${deployment}/instances/${id}`}>{deployment}</RowLink>{' '}
        <span className="font-mono text-xs text-muted">{shortId(id)}</span>
      </>
    ),
  },
  {
    title: 'State',
    width: '8.5rem',
    sortBy: ({ state }) => state,
    cell: (instance) => <InstanceBadge instance={instance} />,
  },
  { title: 'Message', wide: true, cell: ({ message }) => <span className="text-muted">{message}</span> },
];

function Instances({ node }: { readonly node: string }) {
  const { data, error } = useDeployments();
  const placed = useMemo(
    () =>
      data?.flatMap(({ name, status }) =>
        status.instances
          .filter(({ nodeId }) => nodeId === node)
          .map((instance): Placed => ({ ...instance, deployment: name })),
      ),
    [data, node],
  );
  return (
    <div className="flex flex-col gap-3">
      <RecordTable
        label="Instances"
        one="instance"
        rows={placed}
        error={error}
        columns={PLACED_COLUMNS}
        rowKey={({ id }) => id}
        textOf={({ deployment, id }) => `${deployment} ${id}`}
        empty={
          <EmptyState title="No instance is placed here" icon="box">
            <p>Runs of jobs are on the page of their job.</p>
          </EmptyState>
        }
      />
    </div>
  );
}

const CONTAINER_COLUMNS: readonly Column<Container>[] = [
  {
    title: 'Name',
    width: '28%',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <span className="font-mono text-xs">{name}</span>,
  },
  {
    title: 'Status',
    width: '8.5rem',
    sortBy: ({ status }) => status,
    cell: ({ status }) => <Badge tone={status === 'running' ? 'ok' : 'none'}>{status}</Badge>,
  },
  {
    title: 'Whose',
    width: '11rem',
    wide: true,
    cell: ({ labels }) =>
      labels.some((label) => label.startsWith('berth.io/')) ? (
        <Badge tone="info">Berth</Badge>
      ) : (
        <span className="text-muted">not Berth's: left alone</span>
      ),
  },
  {
    title: 'Image',
    wide: true,
    sortBy: ({ image }) => image,
    cell: ({ image }) => (
      <span className="font-mono text-xs text-muted" title={image}>
        {image}
      </span>
    ),
  },
  {
    title: 'Created',
    width: '7rem',
    wide: true,
    cell: ({ createdAt }) => <TimeAgo time={createdAt} />,
  },
];

function Containers({ node }: { readonly node: Node }) {
  const isReady = node.status === 'ready';
  const { data, error } = useContainers(node.name, isReady);
  if (!isReady)
    return (
      <Panel>
        <EmptyState title="The agent cannot be asked" icon="warning">
          <p>{node.reason ?? 'Its machine is silent.'} What runs there goes on running.</p>
        </EmptyState>
      </Panel>
    );
  return (
    <RecordTable
      label="Containers"
      one="container"
      rows={data}
      error={error}
      columns={CONTAINER_COLUMNS}
      rowKey={({ id }) => id}
      textOf={({ name, image }) => `${name} ${image}`}
      empty={<EmptyState title="No container on this machine" icon="box" />}
    />
  );
}

function Events({ name }: { readonly name: string }) {
  const { data, error } = useNodeEvents(name);
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  return (
    <Panel flush title="Events" note="Newest first">
      {data.length === 0 ? (
        <EmptyState title="Nothing has happened yet" icon="pulse" />
      ) : (
        <EventList events={data.toReversed()} />
      )}
    </Panel>
  );
}

/** Its part in the tenant's network, or why it has none. */
function networkText(node: Node): string {
  const { state, why, fix } = meshStanding(node);
  return [node.mesh?.subnet ?? state, why, fix].filter((text) => text !== undefined).join('; ');
}

function Summary({ node }: { readonly node: Node }) {
  const { capacity, requested, disk, labels, engine, platform, agentVersion, lastSeenAt, claims, hostPorts } =
    node;
  return (
    <div className="grid gap-5 lg:grid-cols-2">
      <Panel title="Capacity" note="What the instances placed here request">
        <div className="flex flex-col gap-4">
          <Meter
            label="CPU"
            value={requested.cpu}
            max={capacity.cpu}
            text={`${Number(requested.cpu.toFixed(2))} of ${cores(capacity.cpu)}`}
          />
          <Meter
            label="Memory"
            value={requested.memoryBytes}
            max={capacity.memoryBytes}
            text={`${bytes(requested.memoryBytes)} of ${bytes(capacity.memoryBytes)}`}
          />
          {disk && (
            <Meter
              label="Disk"
              value={requested.diskBytes}
              max={disk.roomBytes}
              text={`${bytes(requested.diskBytes)} of ${bytes(disk.roomBytes)} that may be asked for, ${bytes(disk.totalBytes)} in all`}
            />
          )}
        </div>
      </Panel>
      <Panel title="Machine">
        <Facts
          facts={[
            ['Engine', `${engine.kind} ${engine.version}`],
            ['Platform', platform],
            ['Agent', agentVersion],
            ['Not ready', node.problems.includes(node.reason ?? '') ? undefined : node.reason],
            ['Network', networkText(node)],
            ['Host ports', hostPorts && portRangesText(hostPorts)],
            ['Problems', node.problems?.join('; ') || undefined],
            ['Last seen', <TimeAgo key="seen" time={lastSeenAt} />],
            ['Labels', <Labels key="labels" labels={labels} />],
            ['Claims', claims.length > 1 ? `${claims.length} tenants: a hand-over is under way` : undefined],
          ]}
        />
      </Panel>
    </div>
  );
}

export function NodePage() {
  const name = useParam('name');
  const tab = useAddress().text('tab') ?? 'instances';
  const navigate = useNavigate();
  const { data: node, error } = useNode(name);
  const back = { to: '/nodes', title: 'Nodes' };
  if (node === undefined) return <PendingPage title={name} back={back} error={error} />;
  return (
    <Page
      title={name}
      back={back}
      beside={
        <>
          <NodeBadge node={node} />
          {node.controlPlane ? <Badge>control plane</Badge> : null}
        </>
      }
      actions={<NodeActions node={node} />}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <Summary node={node} />
      <Tabs
        label={`Parts of ${name}`}
        value={tab}
        onChange={(next) => void navigate({ to: `/nodes/${name}`, search: { tab: next }, replace: true })}
        tabs={[
          { value: 'instances', title: 'Instances', content: () => <Instances node={name} /> },
          {
            value: 'usage',
            title: 'CPU and memory',
            content: () => <HistoryCharts of="nodes" name={name} />,
          },
          { value: 'containers', title: 'Containers', content: () => <Containers node={node} /> },
          { value: 'events', title: 'Events', content: () => <Events name={name} /> },
        ]}
      />
    </Page>
  );
}
