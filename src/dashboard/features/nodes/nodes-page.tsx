import { lazy, Suspense, useMemo } from 'react';
import { useWindow } from '../../app/address.ts';
import { useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Labels } from '../../components/facts.tsx';
import { Meter } from '../../components/meter.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { bytes } from '../../lib/format.ts';
import type { Node } from '../../lib/records.ts';
import { type NodeUsage, useNodes, useNodeUsage } from './node-queries.ts';
import { NodeBadge, urgency } from './node-status.tsx';

/** What is wrong with its machine. */
const LACKS = {
  disk: 'disk short',
  memory: 'memory short',
  pids: 'processes short',
  clock: 'clock wrong',
  engine: 'engine troubled',
} as const;

const EnrolDialog = lazy(async () => ({ default: (await import('./enrol-dialog.tsx')).EnrolDialog }));

function used(value: string | undefined): string {
  return value === undefined ? '' : `, ${value} used`;
}

const columnsOf = (usage: ReadonlyMap<string, NodeUsage>): readonly Column<Node>[] => [
  {
    title: 'Name',
    width: '15%',
    sortBy: ({ name }) => name,
    cell: ({ name, controlPlane }) => (
      <span className="flex items-center gap-2">
        <RowLink to={`/nodes/${name}`}>{name}</RowLink>
        {controlPlane ? <Badge>control plane</Badge> : null}
      </span>
    ),
  },
  {
    title: 'Status',
    width: '8.5rem',
    sortBy: urgency,
    cell: (node) => (
      <span className="flex flex-col items-start gap-1">
        <NodeBadge node={node} />
        {node.conditions.map(({ kind, message }) => (
          <span key={kind} title={message}>
            <Badge tone="warn">{LACKS[kind]}</Badge>
          </span>
        ))}
      </span>
    ),
  },
  {
    title: 'Requested and used',
    width: '28%',
    wide: true,
    sortBy: ({ requested, capacity }) => requested.cpu / capacity.cpu,
    cell: ({ name, requested, capacity }) => (
      <div className="flex flex-col gap-1.5">
        <Meter
          label="CPU"
          value={requested.cpu}
          max={capacity.cpu}
          text={`${Number(requested.cpu.toFixed(2))} of ${capacity.cpu}${used(usage.get(name)?.cpuCores.toFixed(2))}`}
        />
        <Meter
          label="Memory"
          value={requested.memoryBytes}
          max={capacity.memoryBytes}
          text={`${bytes(requested.memoryBytes)} of ${bytes(capacity.memoryBytes)}${used(usedMemory(usage.get(name)))}`}
        />
      </div>
    ),
  },
  { title: 'Labels', wide: true, cell: ({ labels }) => <Labels labels={labels} /> },
  {
    title: 'Engine',
    width: '16%',
    wide: true,
    sortBy: ({ engine }) => `${engine.kind} ${engine.version}`,
    cell: ({ engine }) => (
      <span className="text-muted">
        {engine.kind} {engine.version}
      </span>
    ),
  },
  {
    title: 'Seen',
    width: '11%',
    wide: true,
    sortBy: ({ lastSeenAt }) => -Date.parse(lastSeenAt ?? ''),
    cell: ({ lastSeenAt }) => <TimeAgo time={lastSeenAt} />,
  },
];

function usedMemory(usage: NodeUsage | undefined): string | undefined {
  return usage && bytes(usage.memoryBytes);
}

function textOf({ name, labels, engine }: Node): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [name, engine.kind, ...pairs].join(' ');
}

export function NodesPage() {
  const { can } = useSession();
  const { data, error } = useNodes();
  const names = useMemo(() => data?.map(({ name }) => name) ?? [], [data]);
  const usage = useNodeUsage(names);
  const columns = useMemo(() => columnsOf(usage), [usage]);
  const [isEnrolling, setEnrolling] = useWindow('enrol');
  const enrol = can('nodes.manage') ? (
    <Button tone="primary" icon="plus" onClick={() => setEnrolling(true)}>
      Enrol a node
    </Button>
  ) : null;
  return (
    <Page title="Nodes" note="Machines of the tenant that take instances." actions={enrol}>
      <RecordTable
        label="Nodes"
        one="node"
        rows={data}
        error={error}
        columns={columns}
        rowKey={({ name }) => name}
        rowHeight={80}
        detail={({ requested, capacity, engine }) =>
          `CPU ${Number(requested.cpu.toFixed(2))} of ${capacity.cpu} · memory ${bytes(requested.memoryBytes)} of ${bytes(capacity.memoryBytes)} · ${engine.kind}`
        }
        textOf={textOf}
        empty={
          <EmptyState title="No nodes yet" icon="server">
            <p>A node is a machine with Docker or Podman. One line, pasted there, enrols it.</p>
            {enrol}
          </EmptyState>
        }
      />
      {isEnrolling && enrol !== null ? (
        <Suspense>
          <EnrolDialog onClose={() => setEnrolling(false)} />
        </Suspense>
      ) : null}
    </Page>
  );
}
