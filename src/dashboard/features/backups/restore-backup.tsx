import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import type { BackupSummary } from '../../../core/model/backup.ts';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { dateTime } from '../../lib/format.ts';
import type { DeploymentWritten } from '../../lib/records.ts';
import { PlanView } from '../../components/plan-view.tsx';

/** A restore is planned first: what changes, what is lost, where instances would go. */
export function RestoreBackup({
  backup,
  onClose,
}: {
  readonly backup: BackupSummary;
  readonly onClose: () => void;
}) {
  const { id, deploymentName, createdAt } = backup;
  const api = useApi();
  const reread = useReread();
  const navigate = useNavigate();
  const { done } = useToast();
  const [planned, setPlanned] = useState<DeploymentWritten>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (dryRun: boolean) => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await api.call('POST /api/v1/backups/{id}/restore', {
        params: { id },
        query: { dryRun: dryRun || undefined },
      });
      if (dryRun) setPlanned(answer);
      else {
        done(`${answer.name} is restored.`);
        await reread('deployments', 'deployment', 'instances', 'archives');
        await navigate({ to: `/deployments/${answer.name}` });
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      wide
      title={`Restore ${deploymentName}`}
      note={`As it was ${dateTime(createdAt)}. All rules are re-checked.`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {planned === undefined ? (
            <Button tone="primary" busy={isBusy} onClick={() => void send(true)}>
              Show what would change
            </Button>
          ) : (
            <Button tone="primary" busy={isBusy} onClick={() => void send(false)}>
              Restore
            </Button>
          )}
        </>
      }
    >
      {planned === undefined ? (
        <p className="text-muted">
          The deployment is created when it is gone, else its spec is replaced whole. First see what would
          change.
        </p>
      ) : (
        <PlanView written={planned} />
      )}
      {error === undefined ? null : <ErrorNotice error={error} />}
    </Dialog>
  );
}
