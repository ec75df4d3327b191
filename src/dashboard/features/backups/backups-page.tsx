import { useMemo, useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecords, useReread } from '../../app/use-records.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { bytes, count } from '../../lib/format.ts';
import type { BackupSummary } from '../../../core/model/backup.ts';
import { saveExport } from './export-file.ts';
import { ImportBackup } from './import-backup.tsx';
import { RestoreBackup } from './restore-backup.tsx';
import { TakeBackup } from './take-backup.tsx';

const COLUMNS: readonly Column<BackupSummary>[] = [
  {
    title: 'Deployment',
    width: '18%',
    sortBy: ({ deploymentName }) => deploymentName,
    cell: ({ deploymentName }) => <span className="font-medium">{deploymentName}</span>,
  },
  {
    title: 'Made',
    width: '11%',
    wide: true,
    sortBy: ({ createdAt }) => -Date.parse(createdAt),
    cell: ({ createdAt }) => <TimeAgo time={createdAt} />,
  },
  {
    title: 'Image',
    wide: true,
    sortBy: ({ image }) => image,
    cell: ({ image, imported }) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-mono text-xs text-muted" title={image}>
          {image.slice(image.lastIndexOf('/') + 1)}
        </span>
        {imported === undefined ? null : <Badge tone="info">imported</Badge>}
      </span>
    ),
  },
  {
    title: 'Version',
    width: '9%',
    wide: true,
    sortBy: ({ version }) => version,
    cell: ({ version }) => `v${version}`,
  },
  {
    title: 'History',
    width: '11%',
    wide: true,
    cell: ({ revisions }) => <span className="text-muted">{count(revisions, 'version')}</span>,
  },
  {
    title: 'Size',
    width: '9%',
    wide: true,
    sortBy: ({ sizeBytes }) => sizeBytes,
    cell: ({ sizeBytes }) => bytes(sizeBytes),
  },
];

type Open = { readonly kind: 'restore' | 'delete'; readonly backup: BackupSummary };

export function BackupsPage() {
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const { done, failed } = useToast();
  const { data, error } = useRecords('backups', 'GET /api/v1/backups');
  const [open, setOpen] = useState<Open>();
  const [making, setMaking] = useState<'take' | 'import'>();
  const mayDeploy = can('deploy');
  const rows = useMemo(() => data?.toReversed(), [data]);
  const columns = useMemo<readonly Column<BackupSummary>[]>(
    () => [
      ...COLUMNS,
      {
        title: 'Actions',
        width: mayDeploy ? '12rem' : '5rem',
        cell: (backup) => (
          <span className="flex items-center gap-1">
            {mayDeploy ? (
              <Button
                small
                icon="undo"
                aria-label={`Restore ${backup.deploymentName} from ${backup.id}`}
                onClick={() => setOpen({ kind: 'restore', backup })}
              >
                Restore
              </Button>
            ) : null}
            <IconButton
              icon="external"
              label={`Export ${backup.id}`}
              onClick={() => void saveExport(api, backup).catch(failed)}
            />
            {mayDeploy ? (
              <IconButton
                icon="trash"
                label={`Delete ${backup.id}`}
                onClick={() => setOpen({ kind: 'delete', backup })}
              />
            ) : null}
          </span>
        ),
      },
    ],
    [api, failed, mayDeploy],
  );
  const remove = async () => {
    await api.call('DELETE /api/v1/backups/{id}', { params: { id: open?.backup.id ?? '' } });
    done('The backup is deleted.');
    await reread('backups');
  };
  const close = () => setOpen(undefined);
  const actions = mayDeploy ? (
    <>
      <Button icon="box" onClick={() => setMaking('import')}>
        Import
      </Button>
      <Button tone="primary" icon="plus" onClick={() => setMaking('take')}>
        Take a backup
      </Button>
    </>
  ) : null;
  return (
    <Page
      title="Backups"
      note="Copies of a deployment's configuration. They hold no credential and no bytes of volumes."
      actions={actions}
    >
      <RecordTable
        label="Backups"
        one="backup"
        rows={rows}
        error={error}
        columns={columns}
        rowKey={({ id }) => id}
        detail={({ createdAt, version, image }) => (
          <>
            <TimeAgo time={createdAt} /> · v{version} · {image.slice(image.lastIndexOf('/') + 1)}
          </>
        )}
        textOf={({ id, deploymentName, image }) => `${id} ${deploymentName} ${image}`}
        empty={
          <EmptyState title="No backups yet" icon="box">
            <p>A backup outlives its deployment, and can be carried to another control plane.</p>
          </EmptyState>
        }
      />
      {making === 'take' ? <TakeBackup onClose={() => setMaking(undefined)} /> : null}
      {making === 'import' ? <ImportBackup onClose={() => setMaking(undefined)} /> : null}
      {open?.kind === 'restore' ? <RestoreBackup backup={open.backup} onClose={close} /> : null}
      <Confirm
        danger
        title={`Delete this backup of ${open?.backup.deploymentName ?? ''}?`}
        action="Delete"
        isOpen={open?.kind === 'delete'}
        onClose={close}
        onConfirm={remove}
      >
        <p>The deployment is left alone.</p>
      </Confirm>
    </Page>
  );
}
