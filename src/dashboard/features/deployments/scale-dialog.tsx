import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FormRejection, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { useToast } from '../../components/toast.tsx';
import { count } from '../../lib/format.ts';
import type { Deployment, DeploymentWritten } from '../../lib/records.ts';
import { type RejectionBody, rejectionOf } from '../../lib/rejection.ts';
import { deploymentPath, useDeploymentWritten } from './deployment-queries.ts';
import { numberOrText } from './draft.ts';

export function ScaleDialog({
  deployment,
  onClose,
}: {
  readonly deployment: Deployment;
  readonly onClose: () => void;
}) {
  const { name } = deployment;
  const api = useApi();
  const written = useDeploymentWritten();
  const { done, failed } = useToast();
  const [replicas, setReplicas] = useState(String(deployment.replicas));
  const [rejection, setRejection] = useState<RejectionBody>();
  const [isBusy, setBusy] = useState(false);
  const step = (by: number) => setReplicas(String(Math.max(0, (Number.parseInt(replicas, 10) || 0) + by)));
  const save = async () => {
    setBusy(true);
    setRejection(undefined);
    try {
      const answer = await api.call<DeploymentWritten>('PUT', deploymentPath(name), {
        body: { replicas: numberOrText(replicas) },
      });
      done(
        answer.replicas === 0 ? `${name} stops.` : `${name} goes to ${count(answer.replicas, 'instance')}.`,
      );
      await written(name);
      onClose();
    } catch (problem) {
      const refused = rejectionOf(problem);
      if (refused === undefined) failed(problem);
      else setRejection(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Scale ${name}`}
      note="0 stops the deployment without deleting it."
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" busy={isBusy} onClick={() => void save()}>
            Scale
          </Button>
        </>
      }
    >
      <FormRejection rejection={rejection}>
        <div className="flex items-end gap-2">
          <div className="w-32">
            <TextField
              path="replicas"
              label="Replicas"
              inputMode="numeric"
              value={replicas}
              onChange={setReplicas}
            />
          </div>
          <IconButton icon="minus" label="One less" onClick={() => step(-1)} />
          <IconButton icon="plus" label="One more" onClick={() => step(1)} />
        </div>
        <UnclaimedRejection paths={['replicas']} />
      </FormRejection>
    </Dialog>
  );
}
