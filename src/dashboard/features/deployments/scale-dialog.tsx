import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FormRejection, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { useToast } from '../../components/toast.tsx';
import { useWrite } from '../../components/use-write.ts';
import { count } from '../../lib/format.ts';
import type { Deployment } from '../../lib/records.ts';
import { useDeploymentWritten } from './deployment-queries.ts';
import { numberOrText } from '../../lib/draft.ts';

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
  const { done } = useToast();
  const [replicas, setReplicas] = useState(String(deployment.replicas));
  const { isBusy, rejection, write } = useWrite();
  const step = (by: number) => setReplicas(String(Math.max(0, (Number.parseInt(replicas, 10) || 0) + by)));
  const save = () =>
    write(async () => {
      const answer = await api.call('PUT /api/v1/deployments/{name}', {
        params: { name },
        body: unjudged({ replicas: numberOrText(replicas) }),
      });
      done(
        answer.replicas === 0 ? `${name} stops.` : `${name} goes to ${count(answer.replicas, 'instance')}.`,
      );
      await written(name);
      onClose();
    });
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
