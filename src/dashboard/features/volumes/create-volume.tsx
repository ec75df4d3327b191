import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { SelectField, TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { numberOrText } from '../../lib/draft.ts';
import { sizeOrText } from './size.ts';
import { useNodeNames } from './volume-queries.ts';

const CLASSES = [
  ['replicated', 'replicated: with copies on other nodes'],
  ['ephemeral', 'ephemeral: on one node only'],
  ['object', 'object: recorded, cannot be mounted yet'],
] as const;
const TYPES = [
  ['volume', 'volume'],
  ['bind', 'bind: a directory of the host'],
  ['tmpfs', 'tmpfs: in memory'],
] as const;

export function CreateVolume({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useReread();
  const navigate = useNavigate();
  const { done } = useToast();
  const nodes = useNodeNames();
  const [draft, setDraft] = useState({
    name: '',
    class: 'replicated',
    type: 'volume',
    size: '1Gi',
    replicas: '1',
    nodeId: '',
    hostPath: '',
  });
  const set = (field: keyof typeof draft) => (value: string) => setDraft({ ...draft, [field]: value });
  const isReplicated = draft.class === 'replicated';
  const create = async () => {
    const body = {
      name: draft.name,
      class: draft.class,
      type: isReplicated ? 'volume' : draft.type,
      sizeBytes: sizeOrText(draft.size),
      ...(isReplicated ? { replicas: numberOrText(draft.replicas) } : {}),
      ...(draft.nodeId === '' ? {} : { nodeId: draft.nodeId }),
      ...(!isReplicated && draft.type === 'bind' ? { hostPath: draft.hostPath } : {}),
    };
    const made = await api.call('POST /api/v1/dvm/volumes', { body: unjudged(body) });
    done(`Volume ${made.name} is created.`);
    await reread('volumes');
    await navigate({ to: `/volumes/${made.id}` });
  };
  return (
    <FormDialog
      title="New volume"
      note="It outlives the containers that mount it."
      action="Create"
      paths={['name', 'class', 'type', 'sizeBytes', 'replicas', 'nodeId', 'hostPath']}
      onClose={onClose}
      onSubmit={create}
    >
      <TextField path="name" label="Name" placeholder="pg-data" value={draft.name} onChange={set('name')} />
      <SelectField
        path="class"
        label="Class"
        hint="What happens to the bytes when a node is lost."
        value={draft.class}
        options={CLASSES}
        onChange={set('class')}
      />
      {isReplicated ? (
        <TextField
          path="replicas"
          label="Copies beside the primary"
          inputMode="numeric"
          value={draft.replicas}
          onChange={set('replicas')}
        />
      ) : (
        <SelectField
          path="type"
          label="Type"
          value={draft.type}
          options={draft.class === 'object' ? TYPES.slice(0, 1) : TYPES}
          onChange={set('type')}
        />
      )}
      <TextField
        path="sizeBytes"
        label="Size"
        hint="As 10Gi or in bytes; a replicated volume has at least 128Mi."
        value={draft.size}
        onChange={set('size')}
      />
      {!isReplicated && draft.type === 'bind' ? (
        <TextField
          mono
          path="hostPath"
          label="Directory of the host"
          value={draft.hostPath}
          onChange={set('hostPath')}
        />
      ) : null}
      <SelectField
        path="nodeId"
        label="Node"
        value={draft.nodeId}
        options={[['', 'the least loaded one'], ...nodes.map((name) => [name, name] as const)]}
        onChange={set('nodeId')}
      />
    </FormDialog>
  );
}
