import { type ItemOf } from '../../../sdk/index.ts';
import { useMemo, useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecords, useReread } from '../../app/use-records.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, MESSAGE_COLUMN } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Labels } from '../../components/facts.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { CreateNetwork } from './create-network.tsx';

type Network = ItemOf<'GET /api/v1/networks'>;

const TONES: Readonly<Record<Network['status']['phase'], Tone>> = {
  Pending: 'warn',
  Ready: 'ok',
  Failed: 'bad',
};

const COLUMNS: readonly Column<Network>[] = [
  {
    title: 'Name',
    width: '18%',
    sortBy: ({ name }) => name,
    cell: ({ name, internal }) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium">{name}</span>
        {internal ? <Badge>internal</Badge> : null}
      </span>
    ),
  },
  {
    title: 'Status',
    width: '7.5rem',
    sortBy: ({ status }) => status.phase,
    cell: ({ status }) => <Badge tone={TONES[status.phase]}>{status.phase}</Badge>,
  },
  MESSAGE_COLUMN,
  {
    title: 'Node',
    width: '14%',
    wide: true,
    sortBy: ({ nodeId }) => nodeId,
    cell: ({ nodeId }) => <RowLink to={`/nodes/${nodeId}`}>{nodeId}</RowLink>,
  },
  { title: 'Labels', width: '18%', wide: true, cell: ({ labels }) => <Labels labels={labels} /> },
  {
    title: 'Created',
    width: '10%',
    wide: true,
    sortBy: ({ createdAt }) => -Date.parse(createdAt),
    cell: ({ createdAt }) => <TimeAgo time={createdAt} />,
  },
];

/** Networks that a tenant makes on one node, beside the one of all its nodes. */
export function NamedNetworks() {
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const { done } = useToast();
  const { data, error } = useRecords('networks', 'GET /api/v1/networks');
  const [isCreating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<string>();
  const mayDeploy = can('deploy');
  const columns = useMemo<readonly Column<Network>[]>(
    () =>
      mayDeploy
        ? [
            ...COLUMNS,
            {
              title: 'Delete',
              width: '5rem',
              cell: ({ name }) => (
                <IconButton icon="trash" label={`Delete ${name}`} onClick={() => setLeaving(name)} />
              ),
            },
          ]
        : COLUMNS,
    [mayDeploy],
  );
  const remove = async () => {
    await api.call('DELETE /api/v1/networks/{name}', { params: { name: leaving ?? '' } });
    done(`Network ${leaving ?? ''} is deleted.`);
    await reread('networks');
  };
  const create = mayDeploy ? (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      New network
    </Button>
  ) : null;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">Each exists on one node and does not span machines.</p>
        {data !== undefined && data.length > 0 ? create : null}
      </div>
      <RecordTable
        label="Networks"
        one="network"
        rows={data}
        error={error}
        columns={columns}
        rowKey={({ name }) => name}
        textOf={({ name, nodeId }) => `${name} ${nodeId}`}
        empty={
          <EmptyState title="No networks" icon="network">
            <p>Deployments reach one another by name without any, on the network of the tenant's nodes.</p>
            {create}
          </EmptyState>
        }
      />
      {isCreating ? <CreateNetwork onClose={() => setCreating(false)} /> : null}
      <Confirm
        danger
        title={`Delete ${leaving ?? ''}?`}
        action="Delete"
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={remove}
      >
        <p>Refused while containers are attached to it.</p>
      </Confirm>
    </div>
  );
}
