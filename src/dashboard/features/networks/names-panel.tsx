import { namesOf } from '../../../core/contract/mesh-standing.ts';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import type { Deployment } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';

function addressesOf({ status }: Deployment): string {
  return status.instances.flatMap(({ address }) => address ?? []).join(', ');
}

const COLUMNS: readonly Column<Deployment>[] = [
  {
    title: 'Deployment',
    width: '18%',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <RowLink to={`/deployments/${name}`}>{name}</RowLink>,
  },
  {
    title: 'Address',
    width: '9rem',
    sortBy: ({ status }) => status.virtualAddress ?? '',
    cell: ({ status }) =>
      status.virtualAddress === undefined ? (
        <span className="text-muted">none yet</span>
      ) : (
        <span className="font-mono text-xs">{status.virtualAddress}</span>
      ),
  },
  {
    title: 'Name',
    width: '24%',
    wide: true,
    cell: ({ name }) => <span className="font-mono text-xs">{namesOf(name).own}</span>,
  },
  {
    title: 'Addresses of its instances',
    wide: true,
    cell: (deployment) => (
      <span className="font-mono text-xs text-muted" title={addressesOf(deployment)}>
        {addressesOf(deployment)}
      </span>
    ),
  },
];

/** What containers of the tenant connect to. */
export function NamesPanel() {
  const { data, error } = useDeployments();
  return (
    <div className="flex flex-col gap-3">
      <p className="max-w-3xl text-muted">
        On every node of the network a deployment's name answers its address, which stays and leads to the
        instances that are healthy. <span className="font-mono text-xs">instances.NAME.berth.internal</span>{' '}
        answers all of them.
      </p>
      <RecordTable
        label="Names"
        one="name"
        rows={data}
        error={error}
        columns={COLUMNS}
        rowKey={({ name }) => name}
        textOf={(deployment) =>
          `${deployment.name} ${deployment.status.virtualAddress ?? ''} ${addressesOf(deployment)}`
        }
        detail={({ name }) => namesOf(name).own}
        empty={
          <EmptyState title="No deployments" icon="layers">
            <p>Each gets a name and an address that stays.</p>
          </EmptyState>
        }
      />
    </div>
  );
}
