import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { SelectField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { useDeployments } from '../deployments/deployment-queries.ts';

export function TakeBackup({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  const { data: deployments = [] } = useDeployments();
  const [chosen, setChosen] = useState<string>();
  const name = chosen ?? deployments[0]?.name ?? '';
  const take = async () => {
    await api.call('POST /api/v1/backups', { body: { deploymentName: name } });
    done(`A backup of ${name} is made.`);
    await reread('backups');
  };
  return (
    <FormDialog
      title="Take a backup"
      note="Spec, scaling policy, canary and history, all of one point in time."
      action="Take"
      paths={['deploymentName']}
      onClose={onClose}
      onSubmit={take}
    >
      <SelectField
        path="deploymentName"
        label="Deployment"
        value={name}
        options={deployments.map((one) => [one.name, one.name] as const)}
        onChange={setChosen}
      />
    </FormDialog>
  );
}
