import type { Volume } from '../../lib/records.ts';
import { useState } from 'react';
import { useSession } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { bytes } from '../../lib/format.ts';
import { reasonFirst } from '../../lib/reason-first.ts';
import { CreateVolume } from './create-volume.tsx';
import { Fill, VolumePhaseBadge } from './volume-parts.tsx';
import { useVolumes } from './volume-queries.ts';

function liveCopies({ replicas }: Volume): number {
  return replicas.filter(({ state }) => state === 'live').length;
}

function consumersText({ consumers }: Volume): string {
  return consumers.map(({ deployment, job }) => deployment ?? `job ${job ?? ''}`).join(', ') || 'nothing';
}

const COLUMNS: readonly Column<Volume>[] = [
  {
    title: 'Name',
    width: '15%',
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => <RowLink to={`/volumes/${id}`}>{name}</RowLink>,
  },
  {
    title: 'Phase',
    width: '8.5rem',
    sortBy: ({ phase }) => phase,
    cell: ({ phase }) => <VolumePhaseBadge phase={phase} />,
  },
  {
    title: 'Use',
    width: '19%',
    wide: true,
    sortBy: ({ usedBytes, sizeBytes }) => (usedBytes ?? 0) / sizeBytes,
    cell: (volume) => <Fill volume={volume} />,
  },
  {
    title: 'Primary',
    width: '10%',
    wide: true,
    sortBy: ({ primaryNodeId }) => primaryNodeId ?? '',
    cell: ({ primaryNodeId }) => primaryNodeId ?? <span className="text-muted">none yet</span>,
  },
  {
    title: 'Live copies',
    width: '9%',
    wide: true,
    sortBy: liveCopies,
    cell: (volume) =>
      volume.class === 'replicated' ? (
        <span className={liveCopies(volume) < volume.wantedReplicas ? 'text-warn' : ''}>
          {liveCopies(volume)} of {volume.wantedReplicas}
        </span>
      ) : (
        <span className="text-muted">no copies</span>
      ),
  },
  {
    title: 'Mounted by',
    width: '12%',
    wide: true,
    cell: (volume) => <span className="text-muted">{consumersText(volume)}</span>,
  },
  {
    title: 'Message',
    wide: true,
    cell: ({ message }) => (
      <span className="line-clamp-2 text-xs whitespace-normal text-muted" title={message}>
        {message === undefined ? null : reasonFirst(message)}
      </span>
    ),
  },
];

function detailOf(volume: Volume): string {
  const { usedBytes, sizeBytes, primaryNodeId, message } = volume;
  const copies =
    volume.class === 'replicated' ? ` · ${liveCopies(volume)} of ${volume.wantedReplicas} copies live` : '';
  const use =
    usedBytes === null
      ? `${bytes(sizeBytes)}, use not measured yet`
      : `${bytes(usedBytes)} of ${bytes(sizeBytes)}`;
  const why = message === undefined ? '' : `${reasonFirst(message)} · `;
  return `${why}${use} · ${primaryNodeId ?? 'on no node yet'}${copies} · mounted by ${consumersText(volume)}`;
}

export function VolumesPage() {
  const { can } = useSession();
  const { data, error } = useVolumes();
  const [isCreating, setCreating] = useState(false);
  const create = can('volumes.manage') ? (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      New volume
    </Button>
  ) : null;
  return (
    <Page title="Volumes" actions={create}>
      <RecordTable
        label="Volumes"
        one="volume"
        rows={data}
        error={error}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        rowHeight={58}
        detail={detailOf}
        textOf={({ name, id, primaryNodeId }) => `${name} ${id} ${primaryNodeId ?? ''}`}
        empty={
          <EmptyState title="No volumes yet" icon="disk">
            <p>A volume keeps what a workload writes, and may have live copies on other nodes.</p>
            {create}
          </EmptyState>
        }
      />
      {isCreating ? <CreateVolume onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}
